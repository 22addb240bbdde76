#define WALD_ISA wald_baseline
#include "kernels.inl"
#include "parser.inl"

namespace wald {
extern const Kernels<float> baseline_f32;
extern const Kernels<double> baseline_f64;
const Kernels<float> baseline_f32 = WALD_ISA::table<float>;
const Kernels<double> baseline_f64 = WALD_ISA::table<double>;
namespace parser {
extern const ParserKernels baseline;
const ParserKernels baseline = WALD_ISA::parser_table;
}  // namespace parser
}  // namespace wald
