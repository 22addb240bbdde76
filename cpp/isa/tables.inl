// All kernels and their tables. Included by one translation unit per instruction set, each with its own WALD_ISA and
// compiler flags. The namespace WALD_ISA keeps their symbols apart.
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "isa/tables.hpp"
#include "isa/vector.hpp"
#include "parser/chart.hpp"

// clang-format off: the order matters
#include "isa/rows.inl"
#include "isa/dot_products.inl"
#include "isa/readouts.inl"
#include "isa/row_products.inl"
#include "isa/kernel_values.inl"
#include "isa/column_terms.inl"
#include "isa/sparse_first_stage.inl"
#include "isa/decide.inl"
#include "isa/margins.inl"
#include "isa/categories.inl"
#include "isa/bins.inl"
#include "isa/row_blocks.inl"
#include "isa/tree_steps.inl"
#include "isa/trees.inl"
#include "isa/online.inl"
#include "isa/chain.inl"
#include "isa/parser.inl"
#include "isa/text.inl"
// clang-format on

namespace WALD_ISA {

template <class T, class S>
inline constexpr wald::RowKernels<T, S> row_table{.list = &list_row<T, S>,
                                                  .sparse_first_stage = &sparse_first_stage<T, S>,
                                                  .widen = &widen<T, S>,
                                                  .score_rows = &score_rows<T, S>};

template <class T, class S>
inline constexpr wald::ColumnKernels<T, S> column_table{.scores = &column_scores<T, S>,
                                                        .gather = &gather_columns<T, S>};

template <class T>
inline constexpr wald::Kernels<T> cascade_table{
    .scan = &scan<T>,
    .largest = &largest<T>,
    .any_outside = &any_outside<T>,
    .any_outside_one = &any_outside_one<T>,
    .rows_f32 = row_table<T, float>,
    .rows_f64 = row_table<T, double>,
    .rows_u8 = row_table<T, std::uint8_t>,
    .dots_dense = &dots_dense<T>,
    .dots_sparse = &dots_sparse<T>,
    .activate = &activate<T>,
    .add_values = &add_values<T>,
    .chains_sum = &chains_sum<T>,
    .readout = &readout<T>,
    .absolute = &absolute<T>,
    .accumulate = &accumulate<T>,
    .columns_f32 = column_table<T, float>,
    .columns_f64 = column_table<T, double>,
    .add_columns = &add_columns<T>,
    .decide = &decide<T>,
    .margins = &margins<T>,
    .bands = &bands<T>,
    .decide_signs = &decide_signs<T>,
    .products = &products<T>,
    .readouts = &readouts<T>,
    .accumulate_rows = &accumulate_rows<T>,
    .fused = kFused,
};

inline constexpr wald::KernelTables tables{
    .cascade_f32 = cascade_table<float>,
    .cascade_f64 = cascade_table<double>,
    .columns_f32 = column_term_table<float>,
    .columns_f64 = column_term_table<double>,
    .columns_u8 = column_term_table<std::uint8_t>,
    .column_errors = &column_errors,
    .online_f32 = online_table<float>,
    .online_f64 = online_table<double>,
    .bins_f32 = bin_table<float>,
    .bins_f64 = bin_table<double>,
    .trees = tree_table,
    .estimates = estimate_table,
    .chain = chain_table,
    .parser = parser_table,
    .text = text_table,
};

}  // namespace WALD_ISA
