// The largest sizes that the engine accepts. Python reads these numbers from the extension instead of repeating them.
#pragma once

#include <cstdint>

namespace wald {

inline constexpr int kMaxClasses = 10000, kMaxDegree = 1000;
inline constexpr std::int64_t kMaxFeatures = (std::int64_t{1} << 31) - 1;  // column numbers are int32
// The engine allocates memory for every feature of a kernel machine, even when the support vectors are sparse.
inline constexpr std::int64_t kMaxKernelFeatures = (std::int64_t{1} << 25) - 1;
inline constexpr std::int64_t kMaxStates = std::int64_t{1} << 30;  // of a column; their numbers are int32
// Once fewer than one row in kSparseShare is still active, columns are gathered row by row instead of scanned.
inline constexpr int kSparseShare = 8;

}  // namespace wald
