// A pool of worker threads. The calling thread is always worker 0. If the pool is busy with another call, or n_threads
// is 1, the caller runs all tasks itself. An idle worker spins for about 100 microseconds before it sleeps. A worker
// that shares a processor with its caller is moved to another one; see processors.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

namespace wald {

// Calls task(index, worker) for every index in [0, n), with worker in [0, n_threads), and rethrows the first exception.
// Checks for cancellation between tasks (see interruption.hpp); long tasks must check themselves. No thread still runs
// a task when this returns or throws.
void parallel_for(std::int64_t n, int n_threads, const std::function<void(std::int64_t, int)>& task);

int thread_limit();  // upper limit for n_threads
void set_thread_limit(int n);
// Number of threads for n rows, at least one row each. Evaluated once per call, because another thread may change the
// limit.
inline int threads_for(std::int64_t n, int n_threads) {
    return static_cast<int>(std::clamp<std::int64_t>(n_threads, 1, std::clamp<std::int64_t>(n, 1, thread_limit())));
}

// Calls piece(begin, end, worker) for pieces of `size` of the numbers [0, n).
template <class Piece>
void each_piece(std::int64_t n, std::int64_t size, int n_threads, const Piece& piece) {
    parallel_for((n + size - 1) / size, n_threads,
                 [&](std::int64_t i, int worker) { piece(i * size, std::min(n, (i + 1) * size), worker); });
}

}  // namespace wald
