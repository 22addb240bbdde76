// Scores of pairs of arcs, and the search for a tree that is good by its arcs and their pairs.
//
// An arc from h to m makes two pairs: one with the arc to h from the grandparent g, and one with the arc from h to the
// nearest sibling s between h and m; where there is none, h stands in its place. R. McDonald and F. Pereira, "Online
// learning of approximate dependency parsing algorithms", EACL 2006. The search begins with the best tree by arcs alone
// and moves one word at a time to the head that gains most, until none gains: Y. Zhang, T. Lei, R. Barzilay and
// T. Jaakkola, "Greed is good if randomized", EMNLP 2014, without the random restarts.
#pragma once

#include "parser/choice.hpp"

namespace wald::parser {

struct ArcPairs {
    int grandparent, head, sibling, modifier;  // -1: the root has no grandparent
    friend bool operator==(const ArcPairs&, const ArcPairs&) = default;
};

class SecondOrder {
public:
    // The arguments must outlive the scores.
    void begin(const Atoms& atoms, const Weights& weights) {
        atoms_ = &atoms;
        weights_ = &weights;
        n_ = atoms.n();
        has_keys_ = false;
    }

    // Moves words of a tree, heads[1..n), to other heads of the chosen arcs, which have these scores. Pairs count only
    // where bought(head, modifier) is true. A word stays on the root, and the root's word stays, if there is a single
    // one.
    template <class Bought>
    void climb(const Arcs& arcs, const float* scores, bool projective, bool single_root, Bought&& bought,
               std::int32_t* heads) {
        link(heads);
        bool moved = true;
        for (int pass = 0; moved && pass < kPasses; ++pass) {
            moved = false;
            arcs.each_word([&](int m, int first, int last) {
                const int from = heads_[m];
                if (single_root && from == 0) return;
                const auto own = std::find_if(arcs.heads(first), arcs.heads(last), [&](int h) { return h == from; });
                if (own == arcs.heads(last)) return;  // an arc that is used because there is no tree without it
                const float own_score = scores[own - arcs.heads(0)];
                int best = from;
                float most = kUnknown;
                for (int i = first; i < last; ++i) {
                    const int to = arcs.head(i);
                    if (to == from || own_score - scores[i] > kNear || (single_root && to == 0) || hangs_on(to, m) ||
                        (projective && crosses(to, m)))
                        continue;
                    find_keys();
                    if (most == kUnknown) most = own_score + around(from, m, bought) + kLeastGain;
                    if (const float score = scores[i] + around(to, m, bought); score > most) most = score, best = to;
                }
                if (best == from) return;
                heads[m] = best;
                link(heads);
                moved = true;
            });
        }
    }

    // The pairs of every word's arc, [modifier].
    void list(const std::int32_t* heads, std::vector<ArcPairs>& out) {
        find_keys();
        link(heads);
        out.assign(1, {-1, -1, -1, 0});
        for (int m = 1; m < n_; ++m) out.push_back(pairs(heads[m], m, siblings(heads[m], m).inner));
    }
    float score(const ArcPairs& p) const {
        float sum = 0;
        features(p, [&](std::uint32_t i) { sum += weights_->values[i]; });
        return sum;
    }
    // Calls visit(index) for every weight of two pairs. Those of the root's arcs have none.
    template <class Visit>
    void features(const ArcPairs& p, Visit&& visit) const {
        if (p.head <= 0) return;
        each(kGrandparent, p.grandparent, p.head, p.modifier, visit);
        each(kSibling, p.sibling, p.head, p.modifier, visit);
    }

private:
    static constexpr float kNear = 1.0f;        // on EWT, two moves in a hundred would give up more than this for pairs
    static constexpr float kLeastGain = 1e-4f;  // beyond rounding, so that no two moves undo each other
    static constexpr float kUnknown = -std::numeric_limits<float>::infinity();
    static constexpr int kPasses = 8;  // three are enough for all but a few sentences
    static constexpr int kSides = 3;   // head, modifier, and grandparent or sibling
    enum Kind { kGrandparent, kSibling };
    struct Siblings {
        int inner, outer;  // the nearest towards the head, or the head; the nearest beyond, or -1
    };

    // Finds the keys of the sentence's words, once. A sentence needs none if no word has two heads that are near.
    void find_keys() {
        if (has_keys_) return;
        has_keys_ = true;
        for (int side = 0; side < kSides; ++side)
            second_order_plan().find_keys(side, atoms_->arrays(), n_, keys_[side]);
    }
    template <class Visit>
    void each(Kind kind, int x, int h, int m, Visit&& visit) const {
        const std::uint32_t *head = key(0, h, kind), *modifier = key(1, m, kind), *third = key(2, x, kind);
        const auto slot = static_cast<std::uint32_t>((x == h ? 8 : x > h ? 4 : 0) + (h < m ? 0 : 2) + (x < m));
        const int shift = weights_->shift();
        for (int l = 0; l < KeyPlan::kLanes; ++l) {
            const std::uint32_t sum = head[l] + modifier[l] + third[l];
            visit((sum >> shift << 4 | (sum & 15)) ^ slot);
        }
    }
    const std::uint32_t* key(int side, int position, Kind kind) const {
        return keys_[side].data() + (static_cast<std::size_t>(position) * kSecondOrderVectors + kind) * KeyPlan::kLanes;
    }

    // Lists the children of every word from left to right.
    void link(const std::int32_t* heads) {
        heads_ = heads;
        first_.assign(static_cast<std::size_t>(n_), -1), last_.assign(static_cast<std::size_t>(n_), -1);
        next_.resize(static_cast<std::size_t>(n_));
        for (int k = n_ - 1; k > 0; --k) {
            const int h = heads[k];
            next_[k] = first_[h];
            first_[h] = k;
            if (last_[h] < 0) last_[h] = k;
        }
    }
    // The siblings that m has, or would have, under h.
    Siblings siblings(int h, int m) const {
        int left = -1, right = -1;  // the nearest children of h on both sides of m
        for (int k = first_[h]; k >= 0 && right < 0; k = next_[k])
            if (k < m) left = k;
            else if (k > m) right = k;
        if (h < m) return {left > h ? left : h, right};
        return {right >= 0 && right < h ? right : h, left};
    }
    ArcPairs pairs(int h, int m, int sibling) const { return {h > 0 ? heads_[h] : -1, h, sibling, m}; }

    // Score of all pairs in which the arc from h to m takes part, less that of the pair that it keeps apart.
    template <class Bought>
    float around(int h, int m, Bought&& bought) const {
        const Siblings at = siblings(h, m);
        float sum = bought(h, m) ? score(pairs(h, m, at.inner)) : 0;
        if (h > 0 && at.outer >= 0 && bought(h, at.outer))
            sum += one(kSibling, m, h, at.outer) - one(kSibling, at.inner, h, at.outer);
        for (int c = first_[m]; c >= 0; c = next_[c])
            if (bought(m, c)) sum += one(kGrandparent, h, m, c);
        return sum;
    }
    float one(Kind kind, int x, int h, int m) const {
        float sum = 0;
        each(kind, x, h, m, [&](std::uint32_t i) { sum += weights_->values[i]; });
        return sum;
    }
    bool hangs_on(int word, int m) const {
        for (; word > 0; word = heads_[word])
            if (word == m) return true;
        return false;
    }
    // Whether an arc would cross one of the tree's others.
    bool crosses(int h, int m) const {
        const int low = std::min(h, m), high = std::max(h, m);
        const auto outside = [&](int k) { return k >= 0 && (k < low || k > high); };
        for (int k = low + 1; k < high; ++k)
            if (outside(heads_[k]) || outside(first_[k]) || outside(last_[k])) return true;
        return false;
    }

    const Atoms* atoms_ = nullptr;
    const Weights* weights_ = nullptr;
    bool has_keys_ = false;
    const std::int32_t* heads_ = nullptr;
    int n_ = 0;
    std::vector<std::uint32_t> keys_[kSides];  // [position][kind][lane]
    std::vector<int> first_, last_, next_;     // [position] the first and the last child; the next sibling
};

}  // namespace wald::parser
