#define WALD_ISA wald_baseline
#include "kernels.inl"

namespace wald {
extern const Kernels<float> baseline_f32;
extern const Kernels<double> baseline_f64;
const Kernels<float> baseline_f32 = WALD_ISA::table<float>;
const Kernels<double> baseline_f64 = WALD_ISA::table<double>;
}  // namespace wald
