// The hot loops of texts, as a table of functions that each instruction set fills in.
#pragma once

#include "core/common.hpp"

namespace wald {

// The characters that tokens are made of: letters, digits and underscores, or all but white space.
enum class Token : std::uint8_t { word, not_space };

struct TextKernels {
    // Copies n bytes to `out`, in lower case if wanted. Bit i of `in_token` says that byte i is a character of ASCII
    // that belongs to a token, and bit i of `high` that it is no ASCII. Writes whole blocks of 64 bytes, with zeros
    // after the end. Returns whether any byte is no ASCII.
    bool (*scan)(const std::uint8_t* text, std::size_t n, bool lower, Token token, std::uint8_t* out,
                 std::uint64_t* in_token, std::uint64_t* high);
    // out[k] += values[i] * records[columns[i] * stride + k] for k < n_outputs and i < n: each product is rounded, and
    // added in the order of i. The records are followed by a panel.
    void (*dots)(const double* values, const std::int32_t* columns, std::int64_t n, const double* records,
                 std::int64_t stride, std::int64_t n_outputs, double* out);
};

const TextKernels& text_kernels();  // the table in use; see isa/dispatch.cpp

}  // namespace wald
