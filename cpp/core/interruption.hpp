// Long work gives way now and then: whoever called may want something else by now, and another thread's part of the
// same work may have failed.
#pragma once

#include <atomic>
#include <chrono>

namespace wald {

// Leaves work that is not wanted any more. Whoever is asked knows why.
struct Interrupted {};

// What a thread asks while it works, and whom.
struct Interruption {
    bool (*go_on)(void*) = nullptr;  // asks the caller, who may do anything before he answers; null: nobody is asked
    void* caller = nullptr;
    const std::atomic<bool>* failed = nullptr;  // whether the work that this thread has a part in is lost
    std::chrono::steady_clock::time_point next{};
};

Interruption& interruption();  // of this thread

// How long a thread works before it asks its caller for the first time: shorter calls never ask.
inline constexpr std::chrono::milliseconds kAskAfter{30}, kAskWithin{70};

// To be called between pieces of work that take some milliseconds at most, wherever everything may be left as it is.
// Throws Interrupted. What the caller does meanwhile may use the core, and this thread's scratch memory.
void give_way();

// How often this process is a fork of the one that loaded the core.
int forks();

}  // namespace wald
