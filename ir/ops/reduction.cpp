#include "ir/ops/reduction.h"

#include <limits>

namespace tailor::ir {

DimMask reduced_dims(const AttrRef& dim, int64_t rank, EmptyDims empty) {
  const DimMask all = (DimMask{1} << rank) - 1;
  if (dim.is_none()) return all;
  const int64_t one = dim.kind == AttrRef::Kind::Int ? dim.as_int() : 0;
  const IntArrayRef list = dim.kind == AttrRef::Kind::Int ? IntArrayRef(one) : dim.as_ints();
  if (list.empty()) return empty == EmptyDims::All ? all : 0;
  DimMask mask = 0;
  for (int64_t d : list) {
    const int64_t wrapped = wrap_dim(d, rank);
    check((mask >> wrapped & 1) == 0, "dim ", wrapped, " appears multiple times in the list of dims");
    mask |= DimMask{1} << wrapped;
  }
  return mask & all;
}

DimMask reduced_dims_of(const OpDef& op, const AttrRef& dim, int64_t rank) {
  const bool any_or_all = op.name == "any" || op.name == "all";
  return reduced_dims(dim, rank, any_or_all ? EmptyDims::None : EmptyDims::All);
}

Dims reduced_sizes(IntArrayRef sizes, DimMask mask, bool keepdim) {
  Dims result;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (!(mask >> d & 1))
      result.push_back(sizes[d]);
    else if (keepdim)
      result.push_back(1);
  }
  return result;
}

int64_t reduced_count(IntArrayRef sizes, DimMask mask) {
  int64_t count = 1;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (mask >> d & 1) count *= sizes[d];
  return count;
}

ScalarType sum_dtype(ScalarType operand, const AttrRef& dtype) {
  if (!dtype.is_none()) return dtype.as_dtype();
  return is_integral(operand, true) ? kInt64 : operand;
}

tailor::Scalar empty_median(ScalarType type) {
  if (is_floating_point(type)) return std::numeric_limits<double>::quiet_NaN();
  return type == kInt64 ? INT64_MIN : type == kInt32 ? int64_t{INT32_MIN} : int64_t{0};
}

void check_has_elements(std::string_view op, const TensorSpec& self, const AttrRef& dim, DimMask mask) {
  if (self.numel() != 0) return;
  const bool named = dim.kind == AttrRef::Kind::Int || (dim.kind == AttrRef::Kind::Ints && !dim.as_ints().empty());
  if (!named) {
    if (op == "argmax" || op == "argmin")
      detail::raise<IndexError>(op, "(): Expected reduction dim to be specified for input.numel() == 0.");
    detail::raise<Error>(
        op, "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.");
  }
  for (size_t d = 0; d < self.sizes.size(); ++d)
    check<IndexError>(!(mask >> d & 1) || self.sizes[d] != 0, op, "(): Expected reduction dim ", d, " to have non-zero size.");
}

namespace {

using Specs = std::vector<TensorSpec>;

Specs infer_sum(const OpDef& op, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  const DimMask mask = reduced_dims_of(op, call.attrs[0], self.rank());
  return {TensorSpec(sum_dtype(self.dtype, call.attrs[2]), reduced_sizes(self.sizes, mask, call.attrs[1].as_bool()), self.device)};
}

Specs infer_extremum(const OpDef& op, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  const DimMask mask = reduced_dims_of(op, call.attrs[0], self.rank());
  check_has_elements(op.name, self, call.attrs[0], mask);
  return {TensorSpec(self.dtype, reduced_sizes(self.sizes, mask, call.attrs[1].as_bool()), self.device)};
}

Specs infer_truth(const OpDef& op, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  const DimMask mask = reduced_dims_of(op, call.attrs[0], self.rank());
  const ScalarType type = self.dtype == kUInt8 ? kUInt8 : kBool;  // torch keeps uint8, for the times before bool
  return {TensorSpec(type, reduced_sizes(self.sizes, mask, call.attrs[1].as_bool()), self.device)};
}

Specs infer_arg(const OpDef& op, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  const DimMask mask = reduced_dims_of(op, call.attrs[0], self.rank());
  check_has_elements(op.name, self, call.attrs[0], mask);
  return {TensorSpec(kInt64, reduced_sizes(self.sizes, mask, call.attrs[1].as_bool()), self.device)};
}

Specs infer_with_indices(const OpDef& op, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  const DimMask mask = reduced_dims_of(op, call.attrs[0], self.rank());
  check_has_elements(op.name.substr(0, op.name.find('_')), self, call.attrs[0], mask);
  const Dims sizes = reduced_sizes(self.sizes, mask, call.attrs[1].as_bool());
  return {TensorSpec(self.dtype, sizes, self.device), TensorSpec(kInt64, sizes, self.device)};
}

Specs infer_median(const OpDef&, const SpecCall& call) { return {TensorSpec(call.tensor(0).dtype, {}, call.tensor(0).device)}; }

OpDef reduction(std::string_view name, std::vector<std::string_view> attrs, decltype(OpDef::infer) infer) {
  OpDef def;
  def.name = name;
  def.kind = OpKind::Reduction;
  def.operand_names = {"self"};
  def.attr_names = std::move(attrs);
  def.infer = infer;
  return def;
}

[[maybe_unused]] const bool registered = [] {
  for (std::string_view name : {"sum", "prod"}) register_op(reduction(name, {"dim", "keepdim", "dtype"}, infer_sum));
  for (std::string_view name : {"amax", "amin"}) register_op(reduction(name, {"dim", "keepdim"}, infer_extremum));
  for (std::string_view name : {"any", "all"}) register_op(reduction(name, {"dim", "keepdim"}, infer_truth));
  for (std::string_view name : {"argmax", "argmin"}) register_op(reduction(name, {"dim", "keepdim"}, infer_arg));
  for (std::string_view name : {"max_dim", "min_dim"}) register_op(reduction(name, {"dim", "keepdim"}, infer_with_indices));
  // Selection, not folding: no backend fuses it.
  OpDef median = reduction("median", {}, infer_median), median_dim = reduction("median_dim", {"dim", "keepdim"}, infer_with_indices);
  median.kind = median_dim.kind = OpKind::Scan;
  register_op(median);
  register_op(median_dim);
  return true;
}();

}  // namespace
}  // namespace tailor::ir
