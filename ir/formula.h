#pragma once
// The formula of a pointwise op on one element, computed by the host algebra: what the interpreters evaluate.

#include "ir/op.h"

namespace tailor::ir {

/// A value of any dtype in its own representation, in the low bytes of a word; half types as their 16 bits, bool as 0 or 1.
using Bits = uint64_t;

/// `args`: `count` operands in the compute type (kBool as uint8), truth values as 0 or 1 where the formula takes them. The result is
/// of the compute type, or 0 or 1 where the formula gives a truth value.
using Formula = Bits (*)(const Bits* args, int count);

/// The formula of `op` in a compute type; null when the op is not defined for it.
Formula find_formula(const OpDef& op, ScalarType compute);

/// True when the formula gives a truth value whatever the compute type.
bool gives_truth(const OpDef& op);
/// True when the formula takes operand `index` as a truth value.
bool takes_truth(const OpDef& op, size_t index);

/// PyTorch's conversion between dtypes: floats to integers truncate as Scalar::to does, to bool compare with zero.
Bits convert(Bits value, ScalarType from, ScalarType to);
/// A number as a value of `to`, rounded once.
Bits convert(const tailor::Scalar& value, ScalarType to);
/// The value as a number.
tailor::Scalar to_scalar(Bits value, ScalarType type);

/// One element of memory.
Bits load_bits(const void* element, ScalarType type);
void store_bits(void* element, Bits value, ScalarType type);

}  // namespace tailor::ir
