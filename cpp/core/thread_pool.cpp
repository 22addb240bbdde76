#include "core/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/interruption.hpp"
#include "core/processors.hpp"

namespace wald {
namespace {

// Looks for a while whether a condition holds before its thread goes to sleep: to be woken takes longer than most
// tasks.
template <class Condition>
bool soon(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
    do {
        for (int i = 0; i < 16; ++i) {
            if (condition()) return true;
            std::this_thread::yield();
        }
    } while (std::chrono::steady_clock::now() < until);
    return condition();
}

// Whether this thread has a part in some work: what it starts itself then, it does itself.
thread_local bool at_work = false;

// A thread's part in work that can fail elsewhere.
class Part {
public:
    explicit Part(const std::atomic<bool>& failed) : before_(interruption().failed) {
        at_work = true;
        interruption().failed = &failed;
    }
    ~Part() {
        interruption().failed = before_;
        at_work = false;
    }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

private:
    const std::atomic<bool>* before_;
};

void do_alone(std::int64_t n, const std::function<void(std::int64_t, int)>& task) {
    for (std::int64_t i = 0; i < n; ++i) {
        if (i > 0) give_way();
        task(i, 0);
    }
}

class Pool {
public:
    explicit Pool(int forks) : forks_(forks) {}
    bool of_this_process() const { return forks_ == forks(); }

    void run(std::int64_t n, int n_threads, const std::function<void(std::int64_t, int)>& task) {
        std::unique_lock<std::mutex> busy(busy_, std::try_to_lock);
        if (!busy.owns_lock()) return do_alone(n, task);
        const Part part(
            failed_);  // until all have come back: what the caller does while it waits must not wait for the pool
        {
            std::lock_guard<std::mutex> lock(mutex_);
            workers_.reserve(static_cast<std::size_t>(n_threads));
            while (std::ssize(workers_) < n_threads - 1) {
                std::thread worker(&Pool::work, this, static_cast<int>(workers_.size()) + 1);
                workers_.push_back({worker.native_handle()});
                worker.detach();
            }
            share_out(n, n_threads);
            task_ = &task;
            active_ = n_threads - 1;
            for (Worker& w : workers_) w.came = false;
            missing_.store(active_);
            processor_ = this_processor();
            since_ = std::chrono::steady_clock::now();
            error_ = nullptr;
            failed_.store(false);
            generation_.fetch_add(1);
        }
        wake_.notify_all();
        drain(task, 0);
        {
            std::lock_guard<std::mutex> lock(mutex_);
            task_ = nullptr;  // a worker that wakes up now comes too late, and nobody waits for it
        }
        const auto at_rest = [&] { return running_.load() == 0; };
        if (!soon(at_rest)) {
            std::unique_lock<std::mutex> lock(mutex_);
            while (!failed_.load() && !done_.wait_for(lock, kAskAfter, at_rest)) {
                lock.unlock();
                attempt([] { give_way(); });
                lock.lock();
            }
            done_.wait(lock, at_rest);
        }
        std::lock_guard<std::mutex> lock(mutex_);
        if (error_) std::rethrow_exception(error_);
    }

private:
    void work(int worker) {
        std::uint64_t seen = 0;
        for (bool needed = true;;) {
            if (needed) soon([&] { return generation_.load() != seen; });
            std::unique_lock<std::mutex> lock(mutex_);
            wake_.wait(lock, [&] { return generation_.load() != seen; });
            seen = generation_.load();
            needed = worker <= active_;
            if (task_ == nullptr || !needed) continue;
            const auto& task = *task_;
            const int callers = processor_;
            running_.fetch_add(1);
            workers_[worker - 1].came = true;
            if (missing_.load() > 0) missing_.fetch_sub(1);
            lock.unlock();
            if (this_processor() == callers) move_off(callers, own_handle());  // or the caller would have to wait
            {
                const Part part(failed_);
                drain(task, worker);
            }
            lock.lock();
            if (running_.fetch_sub(1) == 1) done_.notify_one();
        }
    }

    void share_out(std::int64_t n, int n_threads) {
        if (n_threads > most_shares_) {
            shares_ = std::make_unique<Share[]>(static_cast<std::size_t>(n_threads));
            most_shares_ = n_threads;
        }
        n_shares_ = n_threads;
        for (int s = 0; s < n_shares_; ++s) {
            shares_[s].next.store(n * s / n_shares_);
            shares_[s].end = n * (s + 1) / n_shares_;
        }
    }

    // A worker's own share first: the same one at every call, so that what it reads may still be near. Then what others
    // have left.
    void drain(const std::function<void(std::int64_t, int)>& task, int worker) {
        attempt([&] {
            for (int s = 0; s < n_shares_; ++s) {
                Share& share = shares_[(worker + s) % n_shares_];
                for (std::int64_t i; (i = share.next.fetch_add(1)) < share.end;) {
                    give_way();
                    task(i, worker);
                    if (worker == 0) move_missing();
                }
            }
        });
    }
    // The first error is what the call ends with; nobody starts anything after it.
    template <class Work>
    void attempt(const Work& work) {
        try {
            work();
        } catch (...) {
            if (!of_this_process())
                throw;  // a child that was forked while the caller was asked has none of the workers
            std::lock_guard<std::mutex> lock(mutex_);
            if (!error_) error_ = std::current_exception();
            for (int s = 0; s < n_shares_; ++s) shares_[s].next.store(shares_[s].end);
            failed_.store(true);
        }
    }

    static constexpr std::chrono::microseconds kPatience{100};
    // Workers that have not come by now may wait for the caller's processor. Those that have move themselves: no two
    // threads ever move the same one.
    void move_missing() {
        if (missing_.load(std::memory_order_relaxed) == 0 || std::chrono::steady_clock::now() - since_ < kPatience)
            return;
        std::lock_guard<std::mutex> lock(mutex_);
        missing_.store(0);  // once is enough
        for (int w = 0; w < active_; ++w)
            if (!workers_[w].came) move_off(this_processor(), workers_[w].thread);
    }

    // Neighbouring tasks; a cache line each, as every worker counts on its own.
    struct alignas(64) Share {
        std::atomic<std::int64_t> next{0};
        std::int64_t end = 0;
    };

    std::mutex busy_, mutex_;
    std::condition_variable wake_, done_;
    std::unique_ptr<Share[]> shares_;
    const std::function<void(std::int64_t, int)>* task_ = nullptr;
    int n_shares_ = 0, most_shares_ = 0, active_ = 0;
    int processor_ = -1;  // the caller's, when it called
    std::chrono::steady_clock::time_point since_;
    struct Worker {
        std::thread::native_handle_type thread;
        bool came = false;  // to the task of now
    };
    std::vector<Worker> workers_;
    std::atomic<int> running_{0}, missing_{0};
    std::atomic<std::uint64_t> generation_{0};
    std::exception_ptr error_;
    std::atomic<bool> failed_{false};  // there is an error
    const int forks_;
};

// Never destroyed: its threads may still wait on it, or work, while the process exits. A forked child has none of the
// threads, so it starts with a new pool.
std::atomic<Pool*> current{nullptr};

Pool& pool() {
    Pool* p = current.load();
    while (p == nullptr || !p->of_this_process()) {
        Pool* fresh = new Pool(forks());
        if (current.compare_exchange_strong(p, fresh)) return *fresh;
        delete fresh;
    }
    return *p;
}

std::atomic<int> limit{static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))};

}  // namespace

int thread_limit() { return limit.load(); }
void set_thread_limit(int n) { limit.store(std::max(1, n)); }

void parallel_for(std::int64_t n, int n_threads, const std::function<void(std::int64_t, int)>& task) {
    n_threads = static_cast<int>(std::min<std::int64_t>({n, n_threads, thread_limit()}));
    if (n_threads <= 1 || at_work) return do_alone(n, task);
    pool().run(n, n_threads, task);
}

}  // namespace wald
