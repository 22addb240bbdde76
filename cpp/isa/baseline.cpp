// All kernels, compiled for the oldest supported processor of the architecture.
#define WALD_ISA wald_baseline
#include "isa/tables.inl"

const wald::KernelTables wald::baseline_tables = WALD_ISA::tables;
