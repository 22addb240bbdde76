// All kernels, compiled for AVX2 and FMA.
#define WALD_ISA wald_avx2
#include "isa/tables.inl"

const wald::KernelTables wald::avx2_tables = WALD_ISA::tables;
