#pragma once
// Small formulas that several ops share.

#include "ir/ops/pointwise_base.h"

namespace tailor::ir::formula {

/// PyTorch's maximum: NaN wins; +0 is greater than -0, whatever the order of the operands.
template <class A>
auto maximum(A& a, typename A::Value x, typename A::Value y) {
  auto larger = a.select(a.gt(x, y), x, y);
  if (!is_floating_point(a.type())) return larger;
  larger = a.select(a.eq(x, y), a.from_bits(a.bit_and(a.bits(x), a.bits(y))), larger);
  return a.select(a.ne(x, x), x, larger);
}

template <class A>
auto minimum(A& a, typename A::Value x, typename A::Value y) {
  auto smaller = a.select(a.lt(x, y), x, y);
  if (!is_floating_point(a.type())) return smaller;
  smaller = a.select(a.eq(x, y), a.from_bits(a.bit_or(a.bits(x), a.bits(y))), smaller);
  return a.select(a.ne(x, x), x, smaller);
}

/// max(x, low), where a NaN on either side wins.
template <class A>
auto at_least(A& a, typename A::Value x, typename A::Value low) {
  if (!is_floating_point(a.type())) return a.select(a.lt(x, low), low, x);
  return a.select(a.mask_or(a.lt(x, low), a.ne(low, low)), low, x);
}

template <class A>
auto at_most(A& a, typename A::Value x, typename A::Value high) {
  if (!is_floating_point(a.type())) return a.select(a.gt(x, high), high, x);
  return a.select(a.mask_or(a.gt(x, high), a.ne(high, high)), high, x);
}

/// The same for a bound that is a number of the formula: only x can be NaN.
template <class A>
auto clamp_to(A& a, typename A::Value x, typename A::Value low, typename A::Value high) {
  const auto bounded = a.select(a.lt(x, low), low, x);
  return a.select(a.gt(bounded, high), high, bounded);
}

}  // namespace tailor::ir::formula
