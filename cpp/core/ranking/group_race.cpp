// Rankings by tree ensembles: threads rank chunks of groups.
#include "core/ranking/group_race.hpp"

#include <vector>

#include "core/ranking/limited_run.hpp"

namespace wald {

namespace {

class TreeRace final : public GroupRace {
public:
    TreeRace(const PackedTrees& trees, const StagesSpec& spec, std::span<const double> usual)
        : stages_(trees.ensemble(), trees.order(), spec, usual) {}

    int n_stages() const override { return stages_.size(); }

    void rank(const RowSet& set, const Groups& groups, const RankCall& call,
              const RankAnswers& answers) const override {
        each_chunk<RankingRun>(set, groups, call, [&](RankingRun& run, std::int64_t first, std::int64_t last) {
            run.rank(groups, first, last, call, answers);
        });
    }
    void rank_within(const RowSet& set, const Groups& groups, const RankCall& call, const Limits& limits,
                     const RankAnswers& answers) const override {
        each_chunk<LimitedRun>(set, groups, call, [&](LimitedRun& run, std::int64_t first, std::int64_t last) {
            const std::int64_t step = limits.seconds < HUGE_VAL ? 1 : last - first;
            for (std::int64_t g = first; g < last; g += step) run.rank(groups, g, g + step, call, limits, answers);
        });
    }
    void trace(const RowSet& set, float* estimates, float* errors) const override {
        if (n_stages() == 0) return;
        each_piece(set.n, kChunkRows, set.n_threads, [&](std::int64_t begin, std::int64_t end, int) {
            RankingRun(stages_, set, end - begin).trace(begin, end, estimates, errors);
        });
    }

private:
    // Groups of a chunk have at least so many rows together, where there are so many: late stages need full tiles.
    static constexpr std::int64_t kChunkRows = 8192;

    // Calls rank(run, first group, last group) for chunks of groups, on several threads.
    template <class Run, class Rank>
    void each_chunk(const RowSet& set, const Groups& groups, const RankCall& call, const Rank& rank) const {
        if (groups.size() == 0) return;
        std::vector<std::int64_t> chunks{0};  // first group of each, and the number of groups
        for (std::int64_t g = 1; g < groups.size(); ++g)
            if (groups.begin(g) - groups.begin(chunks.back()) >= kChunkRows) chunks.push_back(g);
        chunks.push_back(groups.size());
        parallel_for(std::ssize(chunks) - 1, call.n_threads, [&](std::int64_t c, int) {
            const std::int64_t first = chunks[c], last = chunks[c + 1];
            Run run(stages_, set, groups.end(last - 1) - groups.begin(first));
            rank(run, first, last);
        });
    }

    RankingStages stages_;
};

}  // namespace

std::shared_ptr<const GroupRace> group_race(const PackedTrees& trees, const StagesSpec& stages,
                                            std::span<const double> usual) {
    return std::make_shared<const TreeRace>(trees, stages, usual);
}

}  // namespace wald
