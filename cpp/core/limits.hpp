// What the engine takes at most. Python asks for these numbers, and keeps no copies.
#pragma once

#include <cstdint>

namespace wald {

inline constexpr int kMostClasses = 10000, kMostDegree = 1000;
inline constexpr std::int64_t kMostFeatures = (std::int64_t{1} << 31) - 1;  // column numbers are int32
// The engine makes room for every feature of a kernel machine, also where sparse support vectors name few of them.
inline constexpr std::int64_t kMostKernelFeatures = (std::int64_t{1} << 25) - 1;
// Rows in columns are picked out one by one when fewer than one in so many is left.
inline constexpr int kSparseShare = 8;

}  // namespace wald
