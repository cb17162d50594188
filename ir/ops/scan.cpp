#include "ir/ops/scan.h"

#include "ir/ops/reduction.h"

namespace tailor::ir {

Runs runs_along(IntArrayRef sizes, int64_t dim) {
  if (sizes.empty()) return {};
  const auto d = static_cast<size_t>(wrap_dim(dim, static_cast<int64_t>(sizes.size())));
  Runs runs{1, sizes[d], 1};
  for (size_t i = 0; i < sizes.size(); ++i) (i < d ? runs.outer : runs.inner) *= i == d ? 1 : sizes[i];
  return runs;
}

namespace {

using Specs = std::vector<TensorSpec>;

TensorSpec like(const TensorSpec& self, ScalarType type) { return TensorSpec(type, self.sizes, self.device); }

Specs infer_cumulative(const OpDef&, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  wrap_dim(call.attrs[0].as_int(), self.rank());
  return {like(self, sum_dtype(self.dtype, call.attrs[1]))};
}

Specs infer_running_extremum(const OpDef&, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  wrap_dim(call.attrs[0].as_int(), self.rank());
  return {like(self, self.dtype), like(self, kInt64)};
}

Specs infer_logcumsumexp(const OpDef&, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  wrap_dim(call.attrs[0].as_int(), self.rank());
  check<NotImplementedError>(is_floating_point(self.dtype), "\"logcumsumexp_out_cpu\" not implemented for '", self.dtype, "'");
  return {like(self, self.dtype)};
}

Specs infer_sort(const OpDef& op, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  wrap_dim(call.attrs[0].as_int(), self.rank());
  if (op.name == "argsort") return {like(self, kInt64)};
  return {like(self, self.dtype), like(self, kInt64)};
}

Specs infer_topk(const OpDef&, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  const int64_t k = call.attrs[0].as_int(), dim = wrap_dim(call.attrs[1].as_int(), self.rank());
  check(k >= 0 && k <= (self.rank() == 0 ? 1 : self.sizes[static_cast<size_t>(dim)]), "topk: selected index k out of range: k is ", k,
        ", dimension ", dim, " has size ", self.rank() == 0 ? 1 : self.sizes[static_cast<size_t>(dim)]);
  TensorSpec result = self;
  if (self.rank() > 0) result.sizes[static_cast<size_t>(dim)] = k;
  return {TensorSpec(self.dtype, result.sizes, self.device), TensorSpec(kInt64, result.sizes, self.device)};
}

void scan(std::string_view name, std::vector<std::string_view> attrs, decltype(OpDef::infer) infer) {
  OpDef def;
  def.name = name;
  def.kind = OpKind::Scan;
  def.operand_names = {"self"};
  def.attr_names = std::move(attrs);
  def.infer = infer;
  register_op(std::move(def));
}

[[maybe_unused]] const bool registered = [] {
  scan("cumsum", {"dim", "dtype"}, infer_cumulative);
  scan("cumprod", {"dim", "dtype"}, infer_cumulative);
  scan("cummax", {"dim"}, infer_running_extremum);
  scan("cummin", {"dim"}, infer_running_extremum);
  scan("logcumsumexp", {"dim"}, infer_logcumsumexp);
  scan("sort", {"dim", "descending", "stable"}, infer_sort);
  scan("argsort", {"dim", "descending", "stable"}, infer_sort);
  scan("topk", {"k", "dim", "largest", "sorted"}, infer_topk);
  return true;
}();

}  // namespace
}  // namespace tailor::ir
