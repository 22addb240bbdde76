// Which instruction set the kernels use: the best one of this machine, or the one that the environment variable
// WALD_SIMD names.
#pragma once

#include <string>
#include <vector>

namespace wald {

std::vector<std::string> simd_levels();  // available in this build on this machine, baseline first
std::string simd_level();                // in use

}  // namespace wald
