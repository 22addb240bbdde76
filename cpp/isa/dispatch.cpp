// Chooses the kernel tables when they are first used.
#include "isa/dispatch.hpp"

#include <cstdlib>
#include <stdexcept>

#include "isa/tables.hpp"

namespace wald {

namespace {

struct Level {
    const char* name;
    const KernelTables* tables;
};

std::vector<Level> available() {
    std::vector<Level> levels{{"baseline", &baseline_tables}};
#ifdef WALD_HAVE_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) levels.push_back({"avx2", &avx2_tables});
#endif
#ifdef WALD_HAVE_AVX512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        levels.push_back({"avx512", &avx512_tables});
#endif
    return levels;
}

Level choose() {
    const std::vector<Level> levels = available();
    const char* requested = std::getenv("WALD_SIMD");
    if (requested == nullptr || *requested == '\0') return levels.back();
    std::string names;
    for (const Level& level : levels) {
        if (std::string(requested) == level.name) return level;
        names += (names.empty() ? "" : ", ") + std::string(level.name);
    }
    throw std::runtime_error("WALD_SIMD=" + std::string(requested) + " is not available here; choose one of: " + names);
}

const Level& chosen() {
    static const Level level = choose();
    return level;
}

}  // namespace

std::vector<std::string> simd_levels() {
    std::vector<std::string> names;
    for (const Level& level : available()) names.emplace_back(level.name);
    return names;
}

std::string simd_level() { return chosen().name; }

template <>
const Kernels<float>& kernels<float>() {
    return chosen().tables->cascade_f32;
}
template <>
const Kernels<double>& kernels<double>() {
    return chosen().tables->cascade_f64;
}
template <>
const ColumnTermKernels<float>& column_term_kernels<float>() {
    return chosen().tables->columns_f32;
}
template <>
const ColumnTermKernels<double>& column_term_kernels<double>() {
    return chosen().tables->columns_f64;
}
template <>
const ColumnTermKernels<std::uint8_t>& column_term_kernels<std::uint8_t>() {
    return chosen().tables->columns_u8;
}
ColumnErrorsKernel column_errors_kernel() { return chosen().tables->column_errors; }
template <>
const OnlineKernels<float>& online_kernels<float>() {
    return chosen().tables->online_f32;
}
template <>
const OnlineKernels<double>& online_kernels<double>() {
    return chosen().tables->online_f64;
}
template <>
const BinKernels<float>& bin_kernels<float>() {
    return chosen().tables->bins_f32;
}
template <>
const BinKernels<double>& bin_kernels<double>() {
    return chosen().tables->bins_f64;
}
const TreeKernels& tree_kernels() { return chosen().tables->trees; }
const EstimateKernels& estimate_kernels() { return chosen().tables->estimates; }
const ChainKernels& chain_kernels() { return chosen().tables->chain; }
const TextKernels& text_kernels() { return chosen().tables->text; }
namespace parser {
const ParserKernels& parser_kernels() { return chosen().tables->parser; }
}  // namespace parser

}  // namespace wald
