// Implements the cancellation checks of interruption.hpp, and counts forks.
#include "core/interruption.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

#include "core/arena.hpp"

namespace wald {
namespace {

std::atomic<int> n_forks{0};
#if defined(__unix__) || defined(__APPLE__)
// Registered at load time, while no other thread of the core runs.
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { n_forks.fetch_add(1); });
#endif

}  // namespace

int forks() { return n_forks.load(); }

Interruption& interruption() {
    static thread_local Interruption here;
    return here;
}

void give_way() {
    Interruption& here = interruption();
    if (here.failed != nullptr && here.failed->load(std::memory_order_relaxed)) throw Interrupted{};
    if (here.go_on == nullptr) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < here.next) return;
    const Interruption before = std::exchange(here, {});
    const int forks_before = forks();
    Arena scratch = std::exchange(thread_arena(), Arena{});
    const bool keep_going = before.go_on(before.caller);
    thread_arena() = std::move(scratch);
    here = before;
    if (!keep_going) {
        here.go_on = nullptr;  // do not check again
        throw Interrupted{};
    }
    if (here.failed != nullptr && forks() != forks_before)
        throw std::runtime_error(
            "a signal handler forked the process in the middle of this call, which only the parent can go on with");
    // If the callback was slow because other threads hold the lock, it is called less often.
    const auto after = std::chrono::steady_clock::now();
    here.next = after + std::clamp<std::chrono::steady_clock::duration>(20 * (after - now), kCheckAfter, kCheckWithin);
}

}  // namespace wald
