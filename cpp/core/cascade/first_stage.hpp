// Fast path for kernel machines with a short first stage: each row is evaluated while it is in the cache, by the
// sparse-row path. Most rows are decided there.
#pragma once

#include "core/cascade/cascade.hpp"
#include "core/models/kernel_machine.hpp"

namespace wald {

// A kernel machine with one output and a short first stage.
template <class T>
class FirstStageCascade final : public Cascade<KernelMachine<T>, TermValues<KernelMachine<T>>, KernelMachine<double>> {
    using Base = Cascade<KernelMachine<T>, TermValues<KernelMachine<T>>, KernelMachine<double>>;
    using typename Base::Call;

public:
    using Base::Base;

    // True if rows of this machine may take the path when the first stage has `terms` terms.
    static bool suits(const KernelMachine<T>& machine, std::int64_t terms) {
        return machine.n_outputs() == 1 && machine.has_sparse_row_path() && terms > 0 && terms <= kMaxTerms;
    }

private:
    static constexpr std::int64_t kMaxTerms = 32;
    static constexpr int kBlockRows = KernelMachine<T>::kBlockRows;

    class FirstStage {
    public:
        // Allocates scratch memory for groups of up to n rows.
        FirstStage(const FirstStageCascade& cascade, std::int64_t n) : c_(cascade) {
            const std::int64_t terms = c_.source_->slot_width(c_.stages_.terms[0]);
            group_rows_ = c_.tile_rows(terms, std::min<std::int64_t>(kBlockRows, n));
            Arena& arena = thread_arena();
            arena.reset(static_cast<std::size_t>(group_rows_) * c_.source_->row_bytes() + Arena::bytes<T>(terms));
            scratch_ = c_.source_->scratch(arena, group_rows_);
            slot_ = arena.take<T>(terms);
        }

        // Answers the rows at positions [begin, end) that the first stage decides, and returns the positions of the
        // others. Once it decides no more than half of a group, the groups that follow are returned unevaluated.
        std::vector<std::int64_t> run(const Call& call, std::int64_t begin, std::int64_t end) {
            std::vector<std::int64_t> undecided;
            bool worthwhile = true;
            for (std::int64_t at = begin; at < end; at += group_rows_) {
                const int n = static_cast<int>(std::min(group_rows_, end - at));
                if (worthwhile) worthwhile = 2 * decide(call, at, n, undecided) > n;
                else
                    for (int i = 0; i < n; ++i) undecided.push_back(at + i);
            }
            return undecided;
        }

    private:
        // Answers the rows that the stage decides, and returns their number.
        int decide(const Call& call, std::int64_t first, int n, std::vector<std::int64_t>& undecided) {
            std::int64_t rows[kBlockRows];
            T z[kBlockRows];
            for (int i = 0; i < n; ++i) rows[i] = call.row(first + i);
            const auto block = c_.source_->block(call.rows, rows, n, scratch_);
            c_.source_->first_estimates(block, n, c_.stages_.terms[0], c_.accumulator_->weights(0),
                                        c_.accumulator_->bias(0), scratch_, slot_, z);
            const std::ptrdiff_t before = std::ssize(undecided);
            for (int i = 0; i < n; ++i) {
                const Answer answer = c_.decided(z[i], 0);  // NaN marks rows unfit for this path: never decided
                if (answer.status == Status::pending) undecided.push_back(first + i);
                else call.ledger.write(first + i, answer, 0);
            }
            return n - static_cast<int>(std::ssize(undecided) - before);
        }

        const FirstStageCascade& c_;
        std::int64_t group_rows_;
        typename KernelMachine<T>::Scratch scratch_;
        T* slot_;
    };

    void answer_rows(const Call& call, std::int64_t begin, std::int64_t end, int n_threads) const override {
        if (call.n_stages == 0 || call.rows.layout == Rows::Layout::csr)
            return Base::answer_rows(call, begin, end, n_threads);
        const std::vector<std::int64_t> undecided = first_stage(call, begin, end, n_threads);
        this->run_rows(call, std::ssize(undecided), [&](std::int64_t i) { return undecided[i]; }, n_threads);
    }
    std::vector<std::int64_t> first_stage(const Call& call, std::int64_t begin, std::int64_t end, int n_threads) const {
        std::vector<std::vector<std::int64_t>> found(n_threads);
        this->each_piece(end - begin, Base::kHeadRows, n_threads, [&](std::int64_t from, std::int64_t to, int worker) {
            const std::vector<std::int64_t> some = FirstStage(*this, to - from).run(call, begin + from, begin + to);
            found[worker].insert(found[worker].end(), some.begin(), some.end());
        });
        // Interleaves the rows of the threads: neighbouring rows are similar, and the work is balanced if every thread
        // gets rows of each kind.
        std::vector<std::int64_t> undecided;
        std::size_t longest = 0;
        for (const auto& f : found) longest = std::max(longest, f.size());
        for (std::size_t i = 0; i < longest; ++i)
            for (const auto& f : found)
                if (i < f.size()) undecided.push_back(f[i]);
        return undecided;
    }
};

}  // namespace wald
