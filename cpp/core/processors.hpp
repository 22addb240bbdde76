// On which processor a thread runs. A system that is, or was a moment ago, busy may put two threads of a call onto one
// processor, one behind the other, and leave them there for milliseconds while another one is idle; a call may not last
// longer.
#pragma once

#include <thread>
#if defined(__linux__) && !defined(__ANDROID__)
#include <pthread.h>
#include <sched.h>
#endif

namespace wald {

#if defined(__linux__) && !defined(__ANDROID__)

inline int this_processor() { return sched_getcpu(); }

// Moves a thread to any other processor that it may use, at once. It may come back later. It is then a thread whose
// processors somebody has chosen, those of now: it will not use any that its process gets later.
inline void move_off(int processor, std::thread::native_handle_type thread) {
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
inline void move_off(int, std::thread::native_handle_type) {}
inline std::thread::native_handle_type own_handle() { return {}; }

#endif

}  // namespace wald
