// The parser's hot loops, as a table of functions that each instruction set fills in. Sums have one fixed order, the
// same for every instruction set, so that a parse does not depend on the machine.
//
// Weights are stored in lines of 16 floats. A feature's key selects a line and a number s: slot b ^ s of the line holds
// the weight of the feature in conjunction with b, which is the arc's direction alone (0 and 1) or its direction and
// length (from 2 on). All weights of a feature thus share one cache line, and frequent lengths spread over its slots.
#pragma once

#include <cstdint>

#include "parser/templates.hpp"

namespace wald::parser {

struct KeyTemplates {
    const std::int32_t* first;          // [vector + 1] into atoms
    const std::int32_t* atoms;          // [entry]
    const std::uint32_t* coefficients;  // [entry][16]
    const std::uint32_t* salts;         // [vector][16]
};

// Arcs of one sentence, one array per property.
struct ArcList {
    const std::uint16_t* head;
    const std::uint16_t* modifier;
    const std::uint8_t* bin;        // direction and length, 2..15
    const std::uint64_t* between;   // a bit for every tag between the two
    const std::uint32_t* contexts;  // [arc][kContexts]: hashes of what lies between
    std::int32_t n;
};

struct PairTask {
    const float* weights;
    int shift;                       // key >> shift is the line
    const std::uint32_t* head_keys;  // [position][vectors][16]
    const std::uint32_t* modifier_keys;
    int vectors;                      // per position
    int first, last;                  // vectors to score
    const std::uint32_t* context;     // [vector][kContexts][16] coefficients
    const std::uint8_t* has_context;  // [vector]: any coefficient is not 0
    const float* rows;                // weights of tags between: [head tag][modifier tag][bin][64], or null
    std::uint64_t always;             // tags that count as lying between any two words
    const std::uint8_t* tags;         // [position]
    int n_tags;
};

struct ParserKernels {
    // out[position][vectors][16] for vectors [first, last) of n positions (null: 0 to n - 1): key = salt + sum c_a x_a.
    // x[a] points to atom a of position 0.
    void (*keys)(const KeyTemplates&, const std::uint32_t* const* x, const std::uint16_t* positions, int n, int first,
                 int last, int vectors, std::uint32_t* out);
    // out[position * 16 + b] = sum over the templates of vectors [first, last) of w(b) + w(b & 1), for n positions
    void (*unigrams)(const float* weights, int shift, const std::uint32_t* keys, const std::uint16_t* positions, int n,
                     int first, int last, int vectors, float* out);
    // out[arc] = sum over the templates of w(bin) + w(bin & 1), and over the tags between
    void (*pairs)(const PairTask&, const ArcList&, float* out);
    // sums[l] = sum over the 16 n places of table[place * width + l] for l < width, a multiple of 16
    void (*sum_rows)(const float* table, int width, const std::uint32_t* places, int n, float* sums);
    // The tables of Eisner's algorithm; see eisner.hpp.
    void (*eisner)(const float* scores, int n, bool single_root, float* chart);
};

const ParserKernels& parser_kernels();  // the table in use; see isa/dispatch.cpp

}  // namespace wald::parser
