#define WALD_ISA wald_avx512
#include "kernels.inl"
#include "parser.inl"

namespace wald {
extern const Kernels<float> avx512_f32;
extern const Kernels<double> avx512_f64;
const Kernels<float> avx512_f32 = WALD_ISA::table<float>;
const Kernels<double> avx512_f64 = WALD_ISA::table<double>;
namespace parser {
extern const ParserKernels avx512;
const ParserKernels avx512 = WALD_ISA::parser_table;
}  // namespace parser
}  // namespace wald
