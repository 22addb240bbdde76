// The thread pool behind parallel_for: work stealing between per-worker ranges of tasks.
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

// Spins until a condition holds, for at most 100 microseconds: waking a sleeping thread takes longer than most tasks.
template <class Condition>
bool spin_until(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
    do {
        for (int i = 0; i < 16; ++i) {
            if (condition()) return true;
            std::this_thread::yield();
        }
    } while (std::chrono::steady_clock::now() < until);
    return condition();
}

// True while this thread runs a task. Nested parallel_for calls then run serially.
thread_local bool inside_task = false;

// Marks this thread as running a task for its lifetime, and makes it check the failure flag of the whole work.
class TaskScope {
public:
    explicit TaskScope(const std::atomic<bool>& failed) : before_(interruption().failed) {
        inside_task = true;
        interruption().failed = &failed;
    }
    ~TaskScope() {
        interruption().failed = before_;
        inside_task = false;
    }
    TaskScope(const TaskScope&) = delete;
    TaskScope& operator=(const TaskScope&) = delete;

private:
    const std::atomic<bool>* before_;
};

void run_serially(std::int64_t n, const std::function<void(std::int64_t, int)>& task) {
    for (std::int64_t i = 0; i < n; ++i) {
        if (i > 0) give_way();
        task(i, 0);
    }
}

class Pool {
public:
    explicit Pool(int forks) : forks_(forks) {}
    bool belongs_to_this_process() const { return forks_ == forks(); }

    void run(std::int64_t n, int n_threads, const std::function<void(std::int64_t, int)>& task) {
        std::unique_lock<std::mutex> busy(busy_, std::try_to_lock);
        if (!busy.owns_lock()) return run_serially(n, task);
        // Until all workers have finished: a callback that runs meanwhile must not wait for this pool.
        const TaskScope scope(failed_);
        {
            std::lock_guard<std::mutex> lock(mutex_);
            workers_.reserve(static_cast<std::size_t>(n_threads));
            while (std::ssize(workers_) < n_threads - 1) {
                std::thread worker(&Pool::work, this, static_cast<int>(workers_.size()) + 1);
                workers_.push_back({worker.native_handle()});
                worker.detach();
            }
            split_shares(n, n_threads);
            task_ = &task;
            active_ = n_threads - 1;
            for (Worker& w : workers_) w.started = false;
            n_missing_.store(active_);
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
            task_ = nullptr;  // a worker that wakes up later finds no task, and the caller does not wait for it
        }
        const auto idle = [&] { return running_.load() == 0; };
        if (!spin_until(idle)) {
            std::unique_lock<std::mutex> lock(mutex_);
            while (!failed_.load() && !done_.wait_for(lock, kCheckAfter, idle)) {
                lock.unlock();
                attempt([] { give_way(); });
                lock.lock();
            }
            done_.wait(lock, idle);
        }
        std::lock_guard<std::mutex> lock(mutex_);
        if (error_) std::rethrow_exception(error_);
    }

private:
    void work(int worker) {
        std::uint64_t seen = 0;
        for (bool needed = true;;) {
            if (needed) spin_until([&] { return generation_.load() != seen; });
            std::unique_lock<std::mutex> lock(mutex_);
            wake_.wait(lock, [&] { return generation_.load() != seen; });
            seen = generation_.load();
            needed = worker <= active_;
            if (task_ == nullptr || !needed) continue;
            const auto& task = *task_;
            const int caller_processor = processor_;
            running_.fetch_add(1);
            workers_[worker - 1].started = true;
            if (n_missing_.load() > 0) n_missing_.fetch_sub(1);
            lock.unlock();
            // A shared processor would delay the caller.
            if (this_processor() == caller_processor) move_away_from(caller_processor, own_handle());
            {
                const TaskScope scope(failed_);
                drain(task, worker);
            }
            lock.lock();
            if (running_.fetch_sub(1) == 1) done_.notify_one();
        }
    }

    void split_shares(std::int64_t n, int n_threads) {
        if (n_threads > max_shares_) {
            shares_ = std::make_unique<Share[]>(static_cast<std::size_t>(n_threads));
            max_shares_ = n_threads;
        }
        n_shares_ = n_threads;
        for (int s = 0; s < n_shares_; ++s) {
            shares_[s].next.store(n * s / n_shares_);
            shares_[s].end = n * (s + 1) / n_shares_;
        }
    }

    // A worker runs its own share first. The share is the same in every call, so that its data may still be in the
    // cache. Then the worker steals what other shares have left.
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
    // Runs work; the first exception is kept for the caller, and no task starts after it.
    template <class Work>
    void attempt(const Work& work) {
        try {
            work();
        } catch (...) {
            if (!belongs_to_this_process()) throw;  // a child forked inside the callback has no workers
            std::lock_guard<std::mutex> lock(mutex_);
            if (!error_) error_ = std::current_exception();
            for (int s = 0; s < n_shares_; ++s) shares_[s].next.store(shares_[s].end);
            failed_.store(true);
        }
    }

    static constexpr std::chrono::microseconds kStartLimit{100};
    // Moves workers that have not started by now, since they may be queued on the caller's processor. Workers that have
    // started move themselves, so two threads never move the same one.
    void move_missing() {
        if (n_missing_.load(std::memory_order_relaxed) == 0 || std::chrono::steady_clock::now() - since_ < kStartLimit)
            return;
        std::lock_guard<std::mutex> lock(mutex_);
        n_missing_.store(0);  // do it once a call
        for (int w = 0; w < active_; ++w)
            if (!workers_[w].started) move_away_from(this_processor(), workers_[w].thread);
    }

    // A range of neighbouring tasks, in a cache line of its own to avoid false sharing of the counters.
    struct alignas(64) Share {
        std::atomic<std::int64_t> next{0};
        std::int64_t end = 0;
    };

    std::mutex busy_, mutex_;
    std::condition_variable wake_, done_;
    std::unique_ptr<Share[]> shares_;
    const std::function<void(std::int64_t, int)>* task_ = nullptr;
    int n_shares_ = 0, max_shares_ = 0, active_ = 0;
    int processor_ = -1;  // where the caller ran at the start of the call
    std::chrono::steady_clock::time_point since_;
    struct Worker {
        std::thread::native_handle_type thread;
        bool started = false;  // on the current task
    };
    std::vector<Worker> workers_;
    std::atomic<int> running_{0}, n_missing_{0};
    std::atomic<std::uint64_t> generation_{0};
    std::exception_ptr error_;
    std::atomic<bool> failed_{false};  // set once a task has thrown
    const int forks_;
};

// Never destroyed, because its threads may still use it while the process exits. A forked child has none of the threads
// and creates a new pool.
std::atomic<Pool*> current{nullptr};

Pool& pool() {
    Pool* p = current.load();
    while (p == nullptr || !p->belongs_to_this_process()) {
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
    if (n_threads <= 1 || inside_task) return run_serially(n, task);
    pool().run(n, n_threads, task);
}

}  // namespace wald
