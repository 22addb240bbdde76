// All kernels, compiled for AVX-512.
#define WALD_ISA wald_avx512
#include "isa/tables.inl"

const wald::KernelTables wald::avx512_tables = WALD_ISA::tables;
