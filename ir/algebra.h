#pragma once
// The algebra over which scalar formulas are written.
//
// A formula is a template `eval(A& a, V x, ...)`: it says once what an op computes for one element. Host values
// (interpreter, constant folding), SIMD vectors (eager kernels), LLVM vectors (compiled kernels) and CUDA text are algebras.
// All of them give the same bits: each function below is one correctly rounded IEEE operation or one integer operation,
// and nothing is contracted or reassociated.
//
// An algebra `A` has a compute type `a.type()`: kFloat32, kFloat64, an integer type or kBool (arithmetic on the half types is
// done in float32 and rounded outside the formula; kBool is computed as uint8 0/1 and normalised by the store).
//   A::Value  a value of the compute type
//   A::Int    a signed integer of the same width as Value (for a float compute type: int32 or int64)
//   A::Mask   a truth value per lane
// `V` below is Value or Int: the same names serve both. In an integer algebra Value and Int may be different types in C++
// (uint8 and int8); arithmetic wraps.
//
//   lit(double) -> Value        lit_int(int64_t) -> Int      (an integer algebra converts lit's argument; exact up to 2^53)
//   add sub mul (V, V) -> V     neg abs (V) -> V             (abs of INT_MIN wraps; float neg flips the sign bit, NaN included)
//   div (Value, Value) -> Value sqrt(Value)  fma(Value, Value, Value)     float only; fma rounds once
//   floor ceil trunc rint (Value) -> Value                   float only; rint is to nearest even; the sign of zero is kept
//   floor_div trunc_div floor_rem trunc_rem (V, V) -> V      integers only; a zero divisor gives 0 and never traps (the caller
//                                                            raises the error); INT_MIN / -1 wraps
//   eq ne lt le gt ge (V, V) -> Mask                         IEEE: comparisons with NaN are false but `ne`, which is true
//   mask_and mask_or mask_xor (Mask, Mask), mask_not(Mask), mask_lit(bool)
//   select(Mask, V, V) -> V
//   bits(Value) -> Int          from_bits(Int) -> Value      reinterpretation
//   to_int(Value) -> Int        from_int(Int) -> Value       conversion; to_int truncates and is only called within range
//   bit_and bit_or bit_xor (V, V) -> V   bit_not(V) -> V     integers only
//   shl shr_arith shr_logic (V, int count) -> V              constant count, 0 <= count < width
//   shl_var shr_var (Value, Value) -> Value                  variable count; count < 0 or >= width: shl gives 0, shr gives 0 or -1
//                                                            (sign fill; 0 for unsigned)
//   lookup<table>(Int index) -> Value                       the entry at the low four bits of the index; float32 only
//   wide() -> the float64 algebra of the same number of lanes;  to_wide(Value) -> its Value;  from_wide(its Value) -> Value
//                                                            float only (identity in the float64 algebra)
//
// An algebra may also have
//   rare(Mask, V usual, F f) -> V   select(mask, f(), usual), skipping f where no lane wants it; formulas reach it through
//                                   math::rare, which selects where the algebra has none
//   at_most(Value x, Value limit), at_least -> select(lt(limit, x), limit, x), so that NaN passes; formulas reach them through
//                                   math::at_most and math::at_least
//   scalef(Value x, Value n) -> x * 2^n rounded once, for integral n, where has_scalef(); math::scale multiplies twice elsewhere
//
// The operations marked "float only" exist in an integer algebra as well, without a meaning, so that every formula compiles.
// A formula may branch on `a.type()` with plain `if`: static algebras fold it.

#include <concepts>

#include "runtime/dtype.h"

namespace tailor::ir {

/// What an algebra looks numbers up in: a constant with a name, so that its entries can lie in a register.
struct Table {
  static constexpr int kEntries = 16;
  double entries[kEntries];
};

template <class A>
concept ScalarAlgebra = requires(A a, typename A::Value v, typename A::Int i, typename A::Mask m) {
  { a.type() } -> std::convertible_to<ScalarType>;
  { a.lit(1.0) } -> std::same_as<typename A::Value>;
  { a.lit_int(1) } -> std::same_as<typename A::Int>;
  { a.add(v, v) } -> std::same_as<typename A::Value>;
  { a.lt(v, v) } -> std::same_as<typename A::Mask>;
  { a.select(m, v, v) } -> std::same_as<typename A::Value>;
  { a.bits(v) } -> std::same_as<typename A::Int>;
};

}  // namespace tailor::ir
