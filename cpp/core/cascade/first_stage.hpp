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

public:
    using Base::Base;

    // True if rows of this machine may take the path when the first stage has `terms` terms.
    static bool suits(const KernelMachine<T>& machine, std::int64_t terms) {
        return machine.n_outputs() == 1 && machine.has_sparse_row_path() && terms > 0 && terms <= kMaxTerms;
    }

private:
    static constexpr std::int64_t kMaxTerms = 32;
    static constexpr int kBlockRows = KernelMachine<T>::kBlockRows;

    void answer_rows(const Call& call, const Answering<T>& sink, std::int64_t begin, std::int64_t end) const override {
        if (call.n_stages == 0 || call.rows.layout == Rows::Layout::csr)
            return Base::answer_rows(call, sink, begin, end);
        std::vector<std::vector<std::int64_t>> found(static_cast<std::size_t>(call.n_threads));
        each_piece(end - begin, Base::kHeadRows, call.n_threads, [&](std::int64_t from, std::int64_t to, int worker) {
            first_stage(call, sink, begin + from, begin + to, found[worker]);
        });
        // Interleaves the rows of the threads: neighbouring rows are similar, and the work is balanced if every thread
        // gets rows of each kind.
        std::vector<std::int64_t> undecided;
        std::size_t longest = 0;
        for (const auto& f : found) longest = std::max(longest, f.size());
        for (std::size_t i = 0; i < longest; ++i)
            for (const auto& f : found)
                if (i < f.size()) undecided.push_back(f[i]);
        this->run_rows(call, sink, std::ssize(undecided), [&](std::int64_t i) { return undecided[i]; });
    }
    // Answers the rows at positions [begin, end) that the first stage decides, and appends the positions of the others.
    // Once it decides no more than half of a group, the groups that follow are appended unevaluated.
    void first_stage(const Call& call, const Answering<T>& sink, std::int64_t begin, std::int64_t end,
                     std::vector<std::int64_t>& undecided) const {
        const KernelMachine<T>& machine = *this->source_;
        const std::int64_t terms = this->terms_[0], width = machine.slot_width(terms);
        const std::int64_t group =
            Batch<KernelMachine<T>>::fitting(machine, width, std::min<std::int64_t>(kBlockRows, end - begin));
        Arena& arena = thread_arena();
        arena.reset(static_cast<std::size_t>(group) * machine.row_bytes() + Arena::bytes<T>(width));
        const auto scratch = machine.scratch(arena, group);
        T* const slot = arena.take<T>(width);
        bool worthwhile = true;
        for (std::int64_t at = begin; at < end; at += group) {
            std::int64_t rows[kBlockRows];
            T z[kBlockRows];
            const int n = static_cast<int>(std::min(group, end - at));
            for (int i = 0; i < n; ++i) rows[i] = call.row(at + i);
            if (worthwhile)
                machine.first_estimates(machine.block(call.rows, rows, n, scratch), n, terms,
                                        this->accumulator_->weights(0), this->accumulator_->bias(0), scratch, slot, z);
            const bool by_margin = worthwhile && !this->decision().two_sided();
            std::int32_t codes[kBlockRows];
            T confidence[kBlockRows];
            if (by_margin) this->exits_.judge(z, nullptr, T(1), n, codes, confidence);
            int decided = 0;
            for (int i = 0; i < n; ++i) {
                Answer answer = kPending;
                if (by_margin) answer = this->exits_.answer(Judgement<T>{codes[i], confidence[i], z[i]}, 0);
                else if (worthwhile) answer = this->exits_.answer(z[i], 0);
                if (answer.status == Status::early) {  // NaN marks rows unfit for this path
                    sink.ledger.write(at + i, answer, 0);
                    ++decided;
                } else {
                    undecided.push_back(at + i);
                }
            }
            worthwhile = worthwhile && 2 * decided > n;
        }
    }
};

}  // namespace wald
