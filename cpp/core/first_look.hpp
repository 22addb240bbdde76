// The first look at rows one by one, for terms that can glance at a block of them: most rows need no more. Included by cascade.hpp,
// whose part it is.
#pragma once

namespace wald {

template <class Terms, class Reference>
class Cascade<Terms, Reference>::FirstLook {
public:
    // For up to n rows, of which the scratch memory holds some at a time.
    FirstLook(const Cascade& cascade, std::int64_t n) : c_(cascade) {
        const std::int64_t terms = c_.terms_->slot_width(c_.stages_.terms[0]);
        together_ = c_.tile_rows(terms, std::min<std::int64_t>(Terms::kTogether, n));
        Arena& arena = thread_arena();
        arena.reset(static_cast<std::size_t>(together_) * c_.terms_->row_bytes() + Arena::bytes<T>(terms));
        scratch_ = c_.terms_->scratch(arena, together_);
        slot_ = arena.take<T>(terms);
    }

    // Answers the rows at positions [begin, end) that are settled, and says which others there are: without a look, once most looks
    // settle nothing.
    std::vector<std::int64_t> run(const Call& call, std::int64_t begin, std::int64_t end) {
        std::vector<std::int64_t> unsettled;
        bool worthwhile = true;
        for (std::int64_t at = begin; at < end; at += together_) {
            const int n = static_cast<int>(std::min(together_, end - at));
            if (worthwhile) worthwhile = 2 * look(call, at, n, unsettled) > n;
            else for (int i = 0; i < n; ++i) unsettled.push_back(at + i);
        }
        return unsettled;
    }

private:
    // How many of n rows are answered.
    int look(const Call& call, std::int64_t first, int n, std::vector<std::int64_t>& unsettled) {
        const Stages<T>& stages = c_.stages_;
        std::int64_t rows[Terms::kTogether];
        T z[Terms::kTogether];
        for (int i = 0; i < n; ++i) rows[i] = call.row(first + i);
        const auto block = c_.terms_->block(call.rows, rows, n, scratch_);
        c_.terms_->glance(block, n, stages.terms[0], stages.weights[0].data(), stages.bias[0][0], scratch_, slot_, z);
        const std::ptrdiff_t before = std::ssize(unsettled);
        for (int i = 0; i < n; ++i) {
            const std::int32_t code = c_.settled(z[i], 0);  // NaN, of a row that is not to be glanced at, settles nothing
            if (code == kPending) unsettled.push_back(first + i);
            else answer(call, first + i, code, 0);
        }
        return n - static_cast<int>(std::ssize(unsettled) - before);
    }

    const Cascade& c_;
    std::int64_t together_;
    typename Terms::Scratch scratch_;
    T* slot_;
};

}  // namespace wald
