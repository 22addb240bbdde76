// Work on many examples in parallel, with memory that is used again from one to the next.
#pragma once

#include <vector>

#include "core/interruption.hpp"
#include "core/thread_pool.hpp"

namespace wald {

// Calls work(i, worker) for i in [0, n), `size` of them in a row, on as many threads as there are workers.
template <class Worker, class Work>
void share_out(std::int64_t n, std::int64_t size, std::vector<Worker>& workers, const Work& work) {
    each_piece(n, size, static_cast<int>(workers.size()), [&](std::int64_t begin, std::int64_t end, int worker) {
        for (std::int64_t i = begin; i < end; ++i) {
            give_way();
            work(i, workers[static_cast<std::size_t>(worker)]);
        }
    });
}

}  // namespace wald
