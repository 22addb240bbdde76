#include "thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace wald {
namespace {

class Pool {
public:
    void run(std::int64_t n, int n_threads, const std::function<void(std::int64_t, int)>& task) {
        std::unique_lock<std::mutex> busy(busy_, std::try_to_lock);
        if (!busy.owns_lock()) {
            for (std::int64_t i = 0; i < n; ++i) task(i, 0);
            return;
        }
        {
            std::lock_guard<std::mutex> lock(mutex_);
            while (n_workers_ < n_threads - 1) {
                std::thread(&Pool::work, this, n_workers_ + 1).detach();
                ++n_workers_;
            }
            task_ = &task;
            n_ = n;
            active_ = n_threads - 1;
            running_ = n_threads - 1;
            next_.store(0);
            error_ = nullptr;
            ++generation_;
        }
        wake_.notify_all();
        drain(0);
        std::unique_lock<std::mutex> lock(mutex_);
        done_.wait(lock, [&] { return running_ == 0; });
        task_ = nullptr;
        if (error_) std::rethrow_exception(error_);
    }

private:
    void work(int worker) {
        std::uint64_t seen = 0;
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            wake_.wait(lock, [&] { return generation_ != seen; });
            seen = generation_;
            if (worker > active_) continue;
            lock.unlock();
            drain(worker);
            lock.lock();
            if (--running_ == 0) done_.notify_one();
        }
    }

    void drain(int worker) {
        try {
            for (std::int64_t i; (i = next_.fetch_add(1)) < n_;) (*task_)(i, worker);
        } catch (...) {
            std::lock_guard<std::mutex> lock(mutex_);
            if (!error_) error_ = std::current_exception();
            next_.store(n_);
        }
    }

    std::mutex busy_, mutex_;
    std::condition_variable wake_, done_;
    std::atomic<std::int64_t> next_{0};
    const std::function<void(std::int64_t, int)>* task_ = nullptr;
    std::int64_t n_ = 0;
    int n_workers_ = 0, active_ = 0, running_ = 0;
    std::uint64_t generation_ = 0;
    std::exception_ptr error_;
};

// Never destroyed: its threads may still wait on it while the process exits. A forked child has none of the threads, so it
// starts with a new pool.
std::atomic<Pool*> current{nullptr};

Pool& pool() {
    Pool* p = current.load();
    if (p == nullptr) {
        Pool* fresh = new Pool;
        if (current.compare_exchange_strong(p, fresh)) {
            p = fresh;
#if defined(__unix__) || defined(__APPLE__)
            static const int registered = pthread_atfork(nullptr, nullptr, [] { current.store(nullptr); });
            (void)registered;
#endif
        } else {
            delete fresh;
        }
    }
    return *p;
}

std::atomic<int> limit{static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))};

}  // namespace

int thread_limit() { return limit.load(); }
void set_thread_limit(int n) { limit.store(std::max(1, n)); }

void parallel_for(std::int64_t n, int n_threads, const std::function<void(std::int64_t, int)>& task) {
    n_threads = static_cast<int>(std::min<std::int64_t>({n, n_threads, thread_limit()}));
    if (n_threads <= 1) {
        for (std::int64_t i = 0; i < n; ++i) task(i, 0);
        return;
    }
    pool().run(n, n_threads, task);
}

}  // namespace wald
