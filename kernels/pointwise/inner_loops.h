#pragma once
// Builds the inner loops of a family of ops for the instruction set at hand. Only for the per-level files, each of which is one
// line per family: TAILOR_INNER_ROWS(ArithmeticBinaryOps)

#include "ir/ops/pointwise_base.h"
#include "kernels/pointwise/simd.h"

namespace tailor::kernels {
namespace {

/// What operand `index` of the op is in memory: a bool for a truth value, else the compute type.
template <class Op, class T, int Index>
using OperandVector = std::conditional_t<ir::takes_mask<Op>(Index), Bytes<typename Lanes<T>::Element>, typename Lanes<T>::Value>;

template <class Op, class T, int Count>
void inner_loop(char* const* pointers, const bool* moves, int64_t n) {
  using A = Lanes<T>;
  using Element = typename A::Element;
  static constexpr int64_t kCount = kLanes<Element>;
  [&]<size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    char* out = pointers[0];
    const char* in[] = {pointers[I + 1]...};
    // A splat operand stays where it is: one loop serves every mixture of arrays and scalars.
    const int64_t step[] = {(moves[I + 1] ? static_cast<int64_t>(sizeof(OperandVector<Op, T, static_cast<int>(I)>)) : 0)...};
    A a;
    const auto apply = [&](const auto&... loaded) __attribute__((always_inline)) {
      const auto operand = [&]<int Index>(const auto& vector) __attribute__((always_inline)) {
        if constexpr (ir::takes_mask<Op>(Index))
          return mask_from_bytes<Element>(vector);
        else
          return vector;
      };
      const auto value = Op::eval(a, operand.template operator()<static_cast<int>(I)>(loaded)...);
      if constexpr (ir::gives_mask<Op>())
        return mask_to_bytes<Element>(value);
      else if constexpr (std::is_same_v<T, bool>)
        return mask_to_bytes<Element>(A::ne(value, typename A::Value{}));
      else
        return value;
    };
    // Whole vectors and the rest pass through one copy of the formula: the formula is inlined in full (see CMakeLists.txt), so that
    // its constants stay in registers.
    for (; n > 0; n -= kCount) {
      const bool whole = n >= kCount;
      const auto load = [&]<int Index>() __attribute__((always_inline)) {
        using V = OperandVector<Op, T, Index>;
        if (whole || step[Index] == 0) [[likely]]
          return load_vector<V>(in[Index]);
        return load_part<V>(in[Index], n * (static_cast<int64_t>(sizeof(V)) / kCount));
      };
      const auto result = apply(load.template operator()<static_cast<int>(I)>()...);
      if (whole) [[likely]]
        store_vector(out, result);
      else
        store_part(out, result, n * (static_cast<int64_t>(sizeof(result)) / kCount));
      out += sizeof(result);
      ((in[I] += step[I]), ...);
    }
  }
  (std::make_index_sequence<static_cast<size_t>(Count)>());
}

/// Whether the op is ever computed in T.
template <class Op, class T>
constexpr bool computes_in() {
  constexpr ScalarType type = scalar_type_of<T>;
  constexpr ir::DtypeSet wanted =
      type == kFloat32 ? ir::DtypeSet(ir::dtype_bit(kFloat32) | ir::dtype_bit(kFloat16) | ir::dtype_bit(kBFloat16)) : ir::dtype_bit(type);
  if constexpr (Op::rule == ir::DTypeRule::Logical) return type == kBool;
  if constexpr (Op::rule == ir::DTypeRule::Float) return is_floating_point(type);
  if constexpr (Op::rule == ir::DTypeRule::Integral)
    if (is_floating_point(type)) return false;
  if (Op::bool_as_int && type == kBool) return false;
  return (Op::dtypes & wanted) != 0;
}

template <class Op, class T>
constexpr void fill_row(InnerRow& row) {
  if constexpr (computes_in<Op, T>()) {
    row.full[static_cast<int>(scalar_type_of<T>)] = inner_loop<Op, T, Op::arity>;
    if constexpr (Op::min_arity < Op::arity) row.reduced[static_cast<int>(scalar_type_of<T>)] = inner_loop<Op, T, Op::min_arity>;
  }
}

template <class List>
struct InnerRows;
template <class... Ops>
struct InnerRows<ir::OpList<Ops...>> {
  template <class Op>
  static constexpr InnerRow row() {
    InnerRow row{};
    row.truth = ir::gives_mask<Op>();
    fill_row<Op, float>(row);
    fill_row<Op, double>(row);
    fill_row<Op, int8_t>(row);
    fill_row<Op, uint8_t>(row);
    fill_row<Op, int16_t>(row);
    fill_row<Op, int32_t>(row);
    fill_row<Op, int64_t>(row);
    fill_row<Op, bool>(row);
    return row;
  }
  static constexpr InnerRow rows[] = {row<Ops>()...};
};

}  // namespace
}  // namespace tailor::kernels

/// Defines the rows of a family for this level.
#define TAILOR_INNER_ROWS(List)                  \
  template <>                                    \
  const InnerRow* inner_rows<kIsa, ir::List>() { \
    return InnerRows<ir::List>::rows;            \
  }
