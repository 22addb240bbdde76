// The kernel tables of one instruction set, one table a subsystem.
#pragma once

#include "chain/kernels.hpp"
#include "core/cascade/kernels.hpp"
#include "core/models/column_kernels.hpp"
#include "core/text/kernels.hpp"
#include "core/trees/kernels.hpp"
#include "online/kernels.hpp"
#include "parser/kernels.hpp"

namespace wald {

struct KernelTables {
    Kernels<float> cascade_f32;
    Kernels<double> cascade_f64;
    ColumnTermKernels<float> columns_f32;
    ColumnTermKernels<double> columns_f64;
    ColumnTermKernels<std::uint8_t> columns_u8;
    ColumnErrorsKernel column_errors;
    OnlineKernels<float> online_f32;
    OnlineKernels<double> online_f64;
    BinKernels<float> bins_f32;
    BinKernels<double> bins_f64;
    TreeKernels trees;
    EstimateKernels estimates;
    ChainKernels chain;
    parser::ParserKernels parser;
    TextKernels text;
};

extern const KernelTables baseline_tables;
#ifdef WALD_HAVE_AVX2
extern const KernelTables avx2_tables;
#endif
#ifdef WALD_HAVE_AVX512
extern const KernelTables avx512_tables;
#endif

}  // namespace wald
