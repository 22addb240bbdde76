// Which instruction set the kernels use: the best that the machine has, or the one that WALD_SIMD names.
#pragma once

#include <string>
#include <vector>

namespace wald {

std::vector<std::string> simd_levels();  // that this build and this machine both have, baseline first
std::string simd_level();                // in use

}  // namespace wald
