#pragma once
// Values of expressions in the forms that code needs them in, and PyTorch's conversions between dtypes. Private to jit/llvm.
//
// Conversions are those of Scalar::to (and so of the eager cast): floats go to integers through int64, which is its minimum for NaN
// and what is out of range, and then wrap; f64 goes to the half types through float, i64 through double and float.

#include "jit/llvm/algebra.h"

namespace tailor::jit {

/// The value of an expression: `value` in the compute type (float for half types, rounded to the type; i8 0/1 for bool), or
/// `mask` for a bool, or both; `bits` the stored form of a half type where known.
struct Datum {
  llvm::Value* value = nullptr;
  llvm::Value* mask = nullptr;
  llvm::Value* bits = nullptr;
  unsigned lanes = 1;
};

/// The type of one element in memory: i16 for half types, i8 for bool.
llvm::Type* memory_llvm_type(llvm::LLVMContext& context, ScalarType type);

class Converter {
 public:
  Converter(Builder& builder, const Target& target) : b_(builder), target_(target) {}

  Datum from_memory(llvm::Value* raw, ScalarType type, unsigned lanes);
  llvm::Value* to_memory(Datum& datum, ScalarType type);
  Datum cast(Datum& datum, ScalarType from, ScalarType to);
  /// A float computed in full precision, rounded to a half type.
  Datum round(llvm::Value* value, ScalarType half, unsigned lanes);
  llvm::Value* as_value(Datum& datum);
  llvm::Value* as_mask(Datum& datum, ScalarType type);
  Datum splat(const Datum& datum, unsigned lanes);
  /// A constant of a dtype, in its compute form.
  Datum literal(const Scalar& scalar, ScalarType type, unsigned lanes);
  /// The same in its form in memory.
  llvm::Constant* memory_literal(const Scalar& scalar, ScalarType type);

 private:
  llvm::Value* half_bits_of(llvm::Value* value, ScalarType half, unsigned lanes);
  llvm::Value* round_to_bfloat16(llvm::Value* value, unsigned lanes);
  llvm::Value* to_half_bits(llvm::Value* value, unsigned lanes);  // f16
  llvm::Value* from_half_bits(llvm::Value* bits, ScalarType half, unsigned lanes);
  llvm::Value* float_to_int(llvm::Value* value, ScalarType to, unsigned lanes);

  Builder& b_;
  const Target& target_;
};

}  // namespace tailor::jit
