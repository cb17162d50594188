#pragma once
// The inner loops of pointwise kernels, as the shared code sees them: function pointers, one table per family and instruction set.

#include <cstdint>

#include "kernels/kernels.h"

namespace tailor::kernels {

/// Widest vector of any instruction set; every splat buffer has this size and alignment.
inline constexpr int64_t kMaxVectorBytes = 64;

/// Computes n elements in order. pointers[0] is the output, the operands follow. Each is contiguous, or (not moves[k]) a buffer of
/// kMaxVectorBytes filled with one value. Operands have the compute type; those that the formula takes as truth values are bool.
/// The output has the compute type, or bool where the formula is a comparison. The output may be the memory of an operand.
using InnerLoop = void (*)(char* const* pointers, const bool* moves, int64_t n);

/// The loops of one op by compute type (null where the op is not defined): with all operands, and without the optional ones.
struct InnerRow {
  bool truth;  // the loops give bool
  InnerLoop full[kScalarTypeCount];
  InnerLoop reduced[kScalarTypeCount];
};

/// The rows of a family's ops, in the order of its OpList. Defined in <family>_<isa>.cpp.
template <Isa isa, class List>
const InnerRow* inner_rows();

/// Converts n contiguous elements.
using ConvertLoop = void (*)(const char* from, char* to, int64_t n);
struct ConvertTable {
  ConvertLoop loops[kScalarTypeCount][kScalarTypeCount];  // [from][to]
};
template <Isa isa>
const ConvertTable& convert_table();

}  // namespace tailor::kernels
