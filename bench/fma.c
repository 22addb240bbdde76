/* The arithmetic peak of one core: independent chains of fused multiply-adds in registers. */
typedef float lanes __attribute__((vector_size(64)));

float fma_chains(long rounds)
{
    lanes a[12], x, y;
    for (int j = 0; j < 16; ++j) x[j] = 0.999f, y[j] = 1e-3f;
    for (int c = 0; c < 12; ++c) a[c] = x + (float)c;
    for (long i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
        for (int c = 0; c < 12; ++c) a[c] = a[c] * x + y;
        __asm__ volatile("" : "+x"(x), "+x"(y)); /* keeps the compiler from folding rounds into a closed form */
    }
    lanes sum = a[0];
    for (int c = 1; c < 12; ++c) sum += a[c];
    return sum[0];
}

const long flops_per_round = 12 * 16 * 2;
