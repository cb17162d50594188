#pragma once
// What an op is: one OpDef per op, defined in ir/ops/<family>.h beside its siblings.
//
// A call of an op has operands (tensors, scalars, or nothing where optional) and attributes (integers, lists, flags, dtypes).
// Operands are what may vary between calls of one specialization; attributes are part of its identity.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/spec.h"
#include "runtime/scalar.h"

namespace tailor::ir {

// ---- attributes ---------------------------------------------------------------------------------------------------

/// A non-owning attribute of a call under way.
struct AttrRef {
  enum class Kind : uint8_t { None, Int, Bool, Double, Dtype, Ints };
  Kind kind = Kind::None;
  int64_t word = 0;  // Int, Bool, Dtype by value; Double by bits; Ints: the address of the first
  size_t count = 0;  // Ints: how many

  constexpr AttrRef() = default;
  constexpr AttrRef(std::nullopt_t) {}
  template <std::integral T>
  constexpr AttrRef(T v) : kind(std::same_as<T, bool> ? Kind::Bool : Kind::Int), word(static_cast<int64_t>(v)) {}
  constexpr AttrRef(double v) : kind(Kind::Double), word(std::bit_cast<int64_t>(v)) {}
  constexpr AttrRef(ScalarType v) : kind(Kind::Dtype), word(static_cast<int64_t>(v)) {}
  AttrRef(IntArrayRef v) : kind(Kind::Ints), word(reinterpret_cast<int64_t>(v.data())), count(v.size()) {}
  AttrRef(const Dims& v) : AttrRef(IntArrayRef(v)) {}
  AttrRef(const std::vector<int64_t>& v) : AttrRef(IntArrayRef(v)) {}
  template <class T>
  AttrRef(const std::optional<T>& v) : AttrRef(v ? AttrRef(*v) : AttrRef()) {}

  bool is_none() const { return kind == Kind::None; }
  int64_t as_int() const { return expect(Kind::Int), word; }
  bool as_bool() const { return expect(Kind::Bool), word != 0; }
  double as_double() const { return expect(Kind::Double), std::bit_cast<double>(word); }
  ScalarType as_dtype() const { return expect(Kind::Dtype), static_cast<ScalarType>(word); }
  IntArrayRef as_ints() const { return expect(Kind::Ints), IntArrayRef(reinterpret_cast<const int64_t*>(word), count); }
  std::optional<int64_t> as_optional_int() const { return is_none() ? std::nullopt : std::optional(as_int()); }
  std::optional<ScalarType> as_optional_dtype() const { return is_none() ? std::nullopt : std::optional(as_dtype()); }

  /// Same kind, same value (doubles by bits).
  friend bool operator==(const AttrRef& a, const AttrRef& b) {
    if (a.kind != b.kind) return false;
    return a.kind == Kind::Ints ? a.as_ints() == b.as_ints() : a.word == b.word;
  }

 private:
  void expect(Kind wanted) const { internal_check(kind == wanted, "attribute of kind ", int(kind), " read as kind ", int(wanted)); }
};

/// The owning form that graphs and recorded steps keep.
class Attr {
 public:
  Attr() = default;
  Attr(const AttrRef& ref) : ref_(ref) {
    if (ref.kind == AttrRef::Kind::Ints) ints_ = ref.as_ints().vec();
  }
  operator AttrRef() const { return ref(); }
  AttrRef ref() const { return ref_.kind == AttrRef::Kind::Ints ? AttrRef(ints_) : ref_; }
  /// Its words, to be changed in place: an integer, a double's bits, or a list. None for other kinds.
  std::span<int64_t> words() {
    if (ref_.kind == AttrRef::Kind::Ints) return ints_;
    return {&ref_.word, ref_.kind == AttrRef::Kind::Int || ref_.kind == AttrRef::Kind::Double ? size_t{1} : size_t{0}};
  }
  friend bool operator==(const Attr& a, const Attr& b) { return a.ref() == b.ref(); }

 private:
  AttrRef ref_;
  std::vector<int64_t> ints_;
};

// ---- operands -----------------------------------------------------------------------------------------------------

/// An operand: a tensor (in whatever form `T` the layer uses), a scalar, or none. A scalar may have been lifted to a run-time argument.
template <class T>
struct OperandOf {
  enum class Kind : uint8_t { None, Tensor, Scalar };
  Kind kind = Kind::None;
  T tensor{};
  tailor::Scalar scalar{};

  OperandOf() = default;
  OperandOf(std::nullopt_t) {}
  OperandOf(T t) : kind(Kind::Tensor), tensor(std::move(t)) {}
  OperandOf(tailor::Scalar s) : kind(Kind::Scalar), scalar(s) {}
  bool is_tensor() const { return kind == Kind::Tensor; }
  bool is_scalar() const { return kind == Kind::Scalar; }
  bool is_none() const { return kind == Kind::None; }
  friend bool operator==(const OperandOf&, const OperandOf&) = default;
};

using SpecOperand = OperandOf<const TensorSpec*>;

/// A call seen by the shape rules.
struct SpecCall {
  std::span<const SpecOperand> operands;
  std::span<const AttrRef> attrs;
  const TensorSpec& tensor(size_t i) const {
    internal_check(i < operands.size() && operands[i].is_tensor(), "operand ", i, " is no tensor");
    return *operands[i].tensor;
  }
  bool has_tensor(size_t i) const { return i < operands.size() && operands[i].is_tensor(); }
};

// ---- definitions --------------------------------------------------------------------------------------------------

enum class OpKind : uint8_t {
  Pointwise,    // one formula per element, broadcasting
  Reduction,    // folds dimensions away
  View,         // another description of the same storage
  Movement,     // moves data without arithmetic: cat, pad, flip, gather ...
  Creation,     // makes data from attributes
  Random,       // makes data from the generator
  Contraction,  // matmul, conv, attention
  Scan,         // cumsum, sort ...
  Composite,    // has a decomposition into other ops
  Effect,       // writes its first operand: copy_
};

/// How the compute dtype and the result dtype of a pointwise op follow from its operands.
enum class DTypeRule : uint8_t {
  Promote,       // result = compute = promoted type
  Float,         // integers and bool become the default float dtype
  Compare,       // compute in the promoted type, result bool
  FloatCompare,  // compute in the promoted type (integers are legal), result bool: isnan, isinf ...
  Integral,      // integers and bool only; error for floats
  Logical,       // each operand to bool (nonzero), result bool
  Cast,          // compute in the type of operand 0; the result dtype is attribute 0
};

/// The interval on which an op is tested and differentiated.
struct Domain {
  double low = -4, high = 4;
};

/// Which dtypes an op takes, as a bit set over ScalarType.
using DtypeSet = uint16_t;
constexpr DtypeSet dtype_bit(ScalarType t) { return static_cast<DtypeSet>(1u << static_cast<int>(t)); }
inline constexpr DtypeSet kAllDtypes = (1u << kScalarTypeCount) - 1,
                          kFloatDtypes = dtype_bit(kFloat32) | dtype_bit(kFloat64) | dtype_bit(kFloat16) | dtype_bit(kBFloat16);
inline constexpr DtypeSet kNoBool = kAllDtypes & static_cast<DtypeSet>(~dtype_bit(kBool));
inline constexpr DtypeSet kIntDtypes = kNoBool & static_cast<DtypeSet>(~kFloatDtypes);

/// What the backends need to know of a pointwise op besides its formula (which they find by type, see ir/ops/pointwise.h).
struct PointwiseTraits {
  int arity = 1;
  int min_arity = 1;         // operands past these may be left out, from the end: add(self, other) and add(self, other, alpha)
  uint8_t promotes = 0xff;   // operands that take part in type promotion, a bit each; the others only take the compute type
  bool bool_as_int = false;  // bool promotes to int64
  DTypeRule rule = DTypeRule::Promote;
  bool first_is_mask = false;    // where, masked_fill: operand 0 is a condition, outside of the promotion
  DtypeSet dtypes = kAllDtypes;  // compute dtypes that are legal
  bool can_fail = false;         // integer division: raises on data
};

/// A view: sizes, strides and the distance of its first element from the input's first, in elements.
struct ViewResult {
  Dims sizes, strides;
  int64_t offset = 0;
};

class Builder;  // ir/builder.h: records or runs calls; decompositions are written over it

struct OpDef {
  std::string_view name;
  OpKind kind = OpKind::Composite;
  /// Names for printing and parsing, one per operand and attribute: {"self", "other"}, {"dim", "keepdim"}.
  /// A last operand name that ends in "..." takes any number of operands.
  std::vector<std::string_view> operand_names, attr_names;
  /// Shape and dtype rule; throws Error with the op's name in front. One spec per output.
  std::vector<TensorSpec> (*infer)(const OpDef&, const SpecCall&) = nullptr;
  /// View ops: what the view is. Throws when the view is impossible.
  ViewResult (*view)(const TensorSpec& input, std::span<const AttrRef> attrs) = nullptr;
  /// Composite ops: the same computation in other ops. Returns the value of each output.
  std::vector<int> (*decompose)(Builder&, std::span<const OperandOf<int>> operands, std::span<const AttrRef> attrs) = nullptr;
  PointwiseTraits pointwise{};
  Domain domain{};

  bool can_fail_on_data = false;  // an effect: never removed, ordered with visible writes
};

/// All ops by name, in order of registration. Stable addresses: an op's identity is the address of its OpDef.
std::span<const OpDef* const> all_ops();
/// Null when there is no such op.
const OpDef* find_op(std::string_view name);
/// Adds an op; called by the families in ir/ops. Throws InternalError for a duplicate name.
const OpDef* register_op(OpDef def);

/// Convenience for the usual case of infer with one output.
inline TensorSpec infer_one(const OpDef& op, const SpecCall& call) { return op.infer(op, call).at(0); }

}  // namespace tailor::ir
