#include "dispatch.hpp"

#include <cstdlib>
#include <stdexcept>

#include "kernels.hpp"
#include "parser/kernels.hpp"

namespace wald {

extern const Kernels<float> baseline_f32;
extern const Kernels<double> baseline_f64;
namespace parser {
extern const ParserKernels baseline;
}
#ifdef WALD_HAVE_AVX2
extern const Kernels<float> avx2_f32;
extern const Kernels<double> avx2_f64;
namespace parser {
extern const ParserKernels avx2;
}
#endif
#ifdef WALD_HAVE_AVX512
extern const Kernels<float> avx512_f32;
extern const Kernels<double> avx512_f64;
namespace parser {
extern const ParserKernels avx512;
}
#endif

namespace {

struct Level {
    const char* name;
    const Kernels<float>* single;
    const Kernels<double>* twice;
    const parser::ParserKernels* parser;
};

std::vector<Level> available() {
    std::vector<Level> levels{{"baseline", &baseline_f32, &baseline_f64, &parser::baseline}};
#ifdef WALD_HAVE_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) levels.push_back({"avx2", &avx2_f32, &avx2_f64, &parser::avx2});
#endif
#ifdef WALD_HAVE_AVX512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        levels.push_back({"avx512", &avx512_f32, &avx512_f64, &parser::avx512});
#endif
    return levels;
}

Level choose() {
    const std::vector<Level> levels = available();
    const char* wanted = std::getenv("WALD_SIMD");
    if (wanted == nullptr || *wanted == '\0') return levels.back();
    std::string names;
    for (const Level& level : levels) {
        if (std::string(wanted) == level.name) return level;
        names += (names.empty() ? "" : ", ") + std::string(level.name);
    }
    throw std::runtime_error("WALD_SIMD=" + std::string(wanted) + " is not available here; choose one of: " + names);
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
const Kernels<float>& kernels<float>() { return *chosen().single; }
template <>
const Kernels<double>& kernels<double>() { return *chosen().twice; }

namespace parser {
const ParserKernels& parser_kernels() { return *chosen().parser; }
}  // namespace parser

}  // namespace wald
