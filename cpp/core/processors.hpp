// Processor affinity of threads. A busy operating system may put two threads of one call on the same processor and
// leave them there for milliseconds, longer than the call itself, while another processor is idle.
#pragma once

#include <thread>
#if defined(__linux__) && !defined(__ANDROID__)
#include <pthread.h>
#include <sched.h>
#endif

namespace wald {

#if defined(__linux__) && !defined(__ANDROID__)

inline int this_processor() { return sched_getcpu(); }

// Moves a thread to another processor of its affinity mask at once; the system may move it back later. Side effect: the
// affinity becomes explicit, so the thread does not follow later changes of the process's CPU set.
inline void move_away_from(int processor, std::thread::native_handle_type thread) {
    cpu_set_t allowed;
    if (processor < 0 || processor >= CPU_SETSIZE || pthread_getaffinity_np(thread, sizeof allowed, &allowed) != 0)
        return;
    cpu_set_t others = allowed;
    CPU_CLR(processor, &others);
    if (CPU_COUNT(&others) == 0 || pthread_setaffinity_np(thread, sizeof others, &others) != 0) return;
    pthread_setaffinity_np(thread, sizeof allowed, &allowed);
}
inline std::thread::native_handle_type own_handle() { return pthread_self(); }

#else

inline int this_processor() { return -1; }
inline void move_away_from(int, std::thread::native_handle_type) {}
inline std::thread::native_handle_type own_handle() { return {}; }

#endif

}  // namespace wald
