// Worker threads that wait for work. The caller is always one of the workers; a pool that is busy (another thread is
// predicting) or forbidden (n_threads = 1) makes the caller do everything itself. A thread that waits looks for some
// 100 microseconds whether there is work before it sleeps. A worker and its caller that share a processor are parted,
// where there is another: see processors.hpp.
#pragma once

#include <cstdint>
#include <functional>

namespace wald {

// Calls task(index, worker) for every index in [0, n), worker in [0, n_threads). Rethrows the first exception. Gives
// way between tasks, see interruption.hpp; tasks that take long give way themselves. No thread is at work on a task
// when this returns or throws.
void parallel_for(std::int64_t n, int n_threads, const std::function<void(std::int64_t, int)>& task);

int thread_limit();  // at most this many threads, whatever n_jobs says
void set_thread_limit(int n);

}  // namespace wald
