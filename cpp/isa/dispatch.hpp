// Choice of the instruction set of the kernels: the best one of this machine, or the one that the environment variable
// WALD_SIMD names.
#pragma once

#include <string>
#include <vector>

namespace wald {

std::vector<std::string> simd_levels();  // available in this build on this machine, baseline first
std::string simd_level();                // the one in use

}  // namespace wald
