// Cancellation of long work: a thread checks regularly whether its caller has been interrupted, or another thread of
// the same work has failed.
#pragma once

#include <atomic>
#include <chrono>

namespace wald {

// Thrown to abandon work. The code that requested the cancellation knows the reason.
struct Interrupted {};

// How a thread checks for cancellation.
struct Interruption {
    bool (*go_on)(void*) = nullptr;  // calls back; false cancels. Null: the caller is not checked
    void* caller = nullptr;
    const std::atomic<bool>* failed = nullptr;  // true once another thread of the same work has failed
    std::chrono::steady_clock::time_point next{};
};

Interruption& interruption();  // this thread's

// Shortest and longest time between two checks of the caller. Calls shorter than kCheckAfter never check.
inline constexpr std::chrono::milliseconds kCheckAfter{30}, kCheckWithin{70};

// Checks for cancellation, and throws Interrupted. Call it between pieces of work of a few milliseconds, where all data
// is consistent. The callback may call into the core; this thread's scratch memory is saved and restored around it.
void give_way();

// Number of forks between the process that loaded the core and this one.
int forks();

}  // namespace wald
