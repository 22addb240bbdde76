// Chunks of rows for the stages of a tree ensemble, on several threads.
#include "core/cascade/tree_run.hpp"

namespace wald {

template <class Use>
void TreeCascade::each_run(const Call& call, const Use& use) const {
    const std::int64_t carried = std::int64_t{trees_->n_outputs()} * (n_sums_ + (racing() ? 1 : 0)) * 4 + 16;
    const std::int64_t most_read =
        call.rows.in_columns() ? TreeEnsemble::kChunkRows : kRowsBytes / call.rows.bytes_per_row();
    const std::int64_t most =
        std::clamp(std::min(kCarriedBytes / carried, most_read), kLeastChunkRows, TreeEnsemble::kChunkRows);
    TreeEnsemble::each_chunk(call, most, [&](std::int64_t begin, std::int64_t end) {
        Run run(*this, call, end - begin);
        use(run, begin, end);
    });
}

void TreeCascade::predict(const Call& call, const Ledger& ledger) const {
    if (call.n == 1) return Run(*this, call, 1).answer(0, 1, ledger);
    if (call.n_stages > 0 || call.at_end != AtEnd::full)
        return each_run(call, [&](Run& run, std::int64_t begin, std::int64_t end) { run.answer(begin, end, ledger); });
    trees_->each_full(call, [&](std::int64_t at, int m, const double* scores) {
        std::vector<double> work(static_cast<std::size_t>(decision().n_classes));
        for (int i = 0; i < m; ++i)
            ledger.write(at + i, full_answer(scores + i * trees_->n_outputs(), work.data()), n_stages(),
                         scores + i * trees_->n_outputs());
    });
}

void TreeCascade::trace(const RowSet& set, const Trace& trace) const {
    if (n_stages() == 0) return;
    const Call call{set, n_stages(), AtEnd::pending};
    const Tracing<float> sink{trace, n_stages()};
    each_run(call, [&](Run& run, std::int64_t begin, std::int64_t end) { run.trace(begin, end, sink); });
}

}  // namespace wald
