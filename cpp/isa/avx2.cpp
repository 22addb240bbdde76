#define WALD_ISA wald_avx2
#include "kernels.inl"
#include "parser.inl"

namespace wald {
extern const Kernels<float> avx2_f32;
extern const Kernels<double> avx2_f64;
const Kernels<float> avx2_f32 = WALD_ISA::table<float>;
const Kernels<double> avx2_f64 = WALD_ISA::table<double>;
namespace parser {
extern const ParserKernels avx2;
const ParserKernels avx2 = WALD_ISA::parser_table;
}  // namespace parser
}  // namespace wald
