// The first look of a kernel machine at rows of few non-zeros, each from its place in memory to its estimate while it
// is in the nearest cache: the steps that rows of a batch take together, one after the other. Included by tables.inl,
// once per instruction set.

namespace WALD_ISA {

template <class T, class S>
void glance(const wald::Glance<T>& g, const void* const* rows, int n, T* z) {
    constexpr bool in_place = std::is_same_v<T, S>;  // else a value is converted once, not for every panel
    PreparedRow<T> row;
    row.values = g.values;
    row.features = g.features;
    for (int r = 0; r < n; ++r) {
        const S* x = static_cast<const S*>(rows[r]);
        std::int32_t listed = 0;
        if constexpr (in_place) row.dense = x;
        row.norm2 = list_nonzeros<T, S, !in_place>(x, g.n_features, a_page_ahead(x), g.values, g.features, &listed);
        if (listed > g.most_listed || row.norm2 - row.norm2 != T(0)) {  // infinite or NaN
            z[r] = static_cast<T>(__builtin_nan(""));
            continue;
        }
        wald::cut_evenly(listed, row.chain_ends);
        for (int p = 0; p < g.n_panels; ++p) row_chains<T, T, 1, kChains, in_place>(*g.panels, p, 0, row, g.slot);
        activate<T>(*g.params, *g.panels, 0, g.n_panels, row.norm2, g.slot);
        z[r] = readout<T>(g.slot, g.weights, g.n_panels) + g.bias;
    }
}

}  // namespace WALD_ISA
