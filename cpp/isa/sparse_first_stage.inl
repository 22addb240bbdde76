// Sparse-row path of the first stage of a kernel machine: takes one row from memory to its estimate while it is in the
// nearest cache, instead of moving a batch through preparation, dot products and readout. Included by tables.inl, once
// per instruction set.

namespace WALD_ISA {

template <class T, class S>
void sparse_first_stage(const wald::SparseFirstStage<T>& task, const void* const* rows, int n, T* z) {
    constexpr bool in_place = std::is_same_v<T, S>;  // otherwise each value is converted once, not once a panel
    PreparedRow<T> row;
    row.values = task.values;
    row.features = task.features;
    const auto begin = [rows](int r) { return static_cast<const S*>(rows[r]); };
    const bool contiguous = n > 1 && begin(1) == begin(0) + task.n_features;
    for (int r = 0; r < n; ++r) {
        const S *const x = begin(r), *const far = contiguous ? four_pages_ahead(x) : x;
        std::int32_t listed = 0;
        if constexpr (in_place) row.dense = x;
        row.norm2 = list_nonzeros<T, S, !in_place, true>(x, task.n_features, a_page_ahead(x), task.values,
                                                         task.features, &listed, far);
        if (listed > task.max_listed || row.norm2 - row.norm2 != T(0)) {  // infinite or NaN
            z[r] = static_cast<T>(__builtin_nan(""));
            continue;
        }
        wald::cut_evenly(listed, row.chain_ends);
        for (int p = 0; p < task.n_panels; ++p)
            row_chains<T, T, 1, kChains, in_place>(*task.panels, p, 0, row, task.slot);
        activate<T>(*task.params, *task.panels, 0, task.n_panels, row.norm2, task.slot);
        z[r] = readout<T>(task.slot, task.weights, task.n_panels) + task.bias;
    }
}

}  // namespace WALD_ISA
