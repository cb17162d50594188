#include "ir/ops/indexing.h"

#include <algorithm>

#include "ir/ops/movement.h"

namespace tailor::ir {
namespace {

using Specs = std::vector<TensorSpec>;

bool is_index_dtype(ScalarType t) { return t == kInt64 || t == kInt32; }

/// "[2], [3]"
std::string shape_list(std::span<const TensorSpec* const> specs) {
  std::ostringstream text;
  const char* separator = "";
  for (const TensorSpec* s : specs) {
    if (!s) continue;
    text << separator << s->sizes;
    separator = ", ";
  }
  return text.str();
}

}  // namespace

IndexPlan plan_index(const TensorSpec& self, std::span<const TensorSpec* const> indices) {
  check<IndexError>(indices.size() <= self.sizes.size(), "too many indices for tensor of dimension ", self.rank());
  IndexPlan plan;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d]) continue;
    check<IndexError>(is_index_dtype(indices[d]->dtype), "tensors used as indices must be long, int, byte or bool tensors");
    try {
      plan.index_sizes = broadcast_shapes(plan.index_sizes, indices[d]->sizes);
    } catch (const Error&) {
      detail::raise<IndexError>("shape mismatch: indexing tensors could not be broadcast together with shapes ", shape_list(indices));
    }
    plan.indexed.push_back(static_cast<int64_t>(d));
  }
  const bool adjacent = plan.indexed.empty() || plan.indexed.back() - plan.indexed[0] + 1 == static_cast<int64_t>(plan.indexed.size());
  for (int64_t d = 0; d < self.rank(); ++d) {
    if (std::find(plan.indexed.begin(), plan.indexed.end(), d) != plan.indexed.end()) continue;
    (adjacent && !plan.indexed.empty() && d < plan.indexed[0] ? plan.before : plan.after).push_back(d);
  }
  bool empty_dimension = false;
  for (int64_t d : plan.before) plan.result_sizes.push_back(self.sizes[static_cast<size_t>(d)]);
  for (int64_t s : plan.index_sizes) plan.result_sizes.push_back(s);
  for (int64_t d : plan.after) plan.result_sizes.push_back(self.sizes[static_cast<size_t>(d)]);
  for (int64_t d : plan.indexed) empty_dimension |= self.sizes[static_cast<size_t>(d)] == 0;
  check<IndexError>(!empty_dimension || product(plan.result_sizes) == 0, "index is out of bounds for dimension with size 0");
  return plan;
}

namespace {

std::vector<const TensorSpec*> index_specs(const SpecCall& call, size_t first) {
  std::vector<const TensorSpec*> specs;
  for (size_t i = first; i < call.operands.size(); ++i) {
    check<IndexError>(!call.operands[i].is_scalar(), "tensors used as indices must be long, int, byte or bool tensors");
    specs.push_back(call.has_tensor(i) ? &call.tensor(i) : nullptr);
  }
  return specs;
}

Specs infer_index(const OpDef&, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  return {TensorSpec(self.dtype, plan_index(self, index_specs(call, 1)).result_sizes, self.device)};
}

/// The functional forms of writing ops give a copy of self; in place they give self.
Specs like_self(const TensorSpec& self) { return {TensorSpec(self.dtype, self.sizes, preserved_strides(self), self.device)}; }

Specs infer_index_put(const OpDef&, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  const IndexPlan plan = plan_index(self, index_specs(call, 2));
  if (call.has_tensor(1)) {
    const TensorSpec& values = call.tensor(1);
    check(values.dtype == self.dtype, "Index put requires the source and destination dtypes match, got ", self.dtype,
          " for the destination and ", values.dtype, " for the source.");
    bool fits = false;
    try {
      // Leading dimensions of size 1 may be more than the result has.
      Dims sizes = values.sizes;
      while (sizes.size() > plan.result_sizes.size() && sizes[0] == 1) sizes.erase(0);
      fits = broadcast_shapes(plan.result_sizes, sizes) == plan.result_sizes;
    } catch (const Error&) {}
    check(fits, "shape mismatch: value tensor of shape ", values.sizes, " cannot be broadcast to indexing result of shape ",
          plan.result_sizes);
  }
  return like_self(self);
}

void check_vector_index(std::string_view op, const TensorSpec& index) {
  check<IndexError>(index.rank() <= 1, op, "(): Index is supposed to be a vector");
  check<IndexError>(is_index_dtype(index.dtype), op, "(): Expected dtype int32/int64 for index, but got ", index.dtype);
}

Specs infer_index_select(const OpDef& op, const SpecCall& call) {
  const TensorSpec &self = call.tensor(0), &index = call.tensor(1);
  check_vector_index(op.name, index);
  const auto dim = static_cast<size_t>(wrap_dim(call.attrs[0].as_int(), self.rank()));
  Dims sizes = self.sizes;
  if (!sizes.empty())
    sizes[dim] = index.numel();
  else
    check<IndexError>(index.numel() == 1, "index_select(): Index to scalar can have only 1 value, got ", index.numel(), " value(s)");
  return {TensorSpec(self.dtype, sizes, self.device)};
}

/// index_add, index_copy: source has the sizes of self but for `dim`, where it has as many as index.
Specs infer_index_write(const OpDef& op, const SpecCall& call) {
  const TensorSpec &self = call.tensor(0), &index = call.tensor(1), &source = call.tensor(2);
  check_vector_index(op.name, index);
  const auto dim = static_cast<size_t>(wrap_dim(call.attrs[0].as_int(), self.rank()));
  check(source.dtype == self.dtype, op.name, "(): self (", self.dtype, ") and source (", source.dtype, ") must have the same dtype");
  Dims expected = self.sizes;
  if (expected.empty()) expected.push_back(1);
  Dims given = source.sizes;
  if (given.empty()) given.push_back(1);
  expected[dim] = index.numel();
  check(given == expected, op.name, "(): source tensor shape must match self tensor shape, excluding the specified dimension (", dim,
        "), where it must match the length of index. Got self.shape = ", self.sizes, " source.shape = ", source.sizes,
        " and index.shape = ", index.sizes);
  return like_self(self);
}

Specs infer_index_fill(const OpDef& op, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  check_vector_index(op.name, call.tensor(1));
  wrap_dim(call.attrs[0].as_int(), self.rank());
  if (call.has_tensor(2))
    check(call.tensor(2).rank() == 0, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ", call.tensor(2).rank(),
          " dimension(s).");
  return like_self(self);
}

void check_index_within(std::string_view what, const TensorSpec& index, const TensorSpec& bound, std::string_view name, size_t dim,
                        bool at_dim) {
  for (size_t d = 0; d < index.sizes.size(); ++d) {
    if (d == dim && !at_dim) continue;
    check(index.sizes[d] <= bound.sizes[d], "Size does not match at dimension ", d, " expected index ", index.sizes, " to be ", what,
          " than ", name, " ", bound.sizes, at_dim ? "" : " apart from dimension ", at_dim ? "" : std::to_string(dim));
  }
}

/// A tensor without dimensions counts as one with a single element.
int64_t index_rank(const TensorSpec& t) { return std::max<int64_t>(t.rank(), 1); }

Specs infer_gather(const OpDef&, const SpecCall& call) {
  const TensorSpec &self = call.tensor(0), &index = call.tensor(1);
  const auto dim = static_cast<size_t>(wrap_dim(call.attrs[0].as_int(), self.rank()));
  if (index.numel() != 0) {
    check(is_index_dtype(index.dtype), "gather(): Expected dtype int32/int64 for index");
    check(index_rank(self) == index_rank(index), "Index tensor must have the same number of dimensions as input tensor");
    if (self.rank() > 0) check_index_within("no larger", index, self, "self", dim, false);
  }
  return {TensorSpec(self.dtype, index.sizes, self.device)};
}

Specs infer_scatter(const OpDef& op, const SpecCall& call) {
  const TensorSpec &self = call.tensor(0), &index = call.tensor(1);
  const auto dim = static_cast<size_t>(wrap_dim(call.attrs[0].as_int(), self.rank()));
  if (call.has_tensor(2)) check(call.tensor(2).dtype == self.dtype, op.name, "(): Expected self.dtype to be equal to src.dtype");
  if (op.name == "scatter_reduce") {
    const auto reduce = static_cast<ScatterReduce>(call.attrs[1].as_int());
    check(reduce >= ScatterReduce::Sum && reduce <= ScatterReduce::Amin, "reduce argument must be either sum, prod, mean, amax or amin");
  }
  if (index.numel() != 0) {
    check(is_index_dtype(index.dtype), op.name, "(): Expected dtype int32/int64 for index");
    check(index_rank(self) == index_rank(index), "Index tensor must have the same number of dimensions as self tensor");
    if (self.rank() > 0) check_index_within("no larger", index, self, "self", dim, false);
    if (call.has_tensor(2)) {
      const TensorSpec& src = call.tensor(2);
      check(index_rank(src) == index_rank(index), "Index tensor must have the same number of dimensions as src tensor");
      if (src.rank() > 0 && index.rank() > 0) check_index_within("no larger", index, src, "src", dim, true);
    }
  }
  return like_self(self);
}

Specs infer_take(const OpDef&, const SpecCall& call) {
  const TensorSpec &self = call.tensor(0), &index = call.tensor(1);
  check(index.dtype == kInt64 || index.dtype == kInt32, "take(): Expected a long tensor for index, but got ", index.dtype);
  check<IndexError>(self.numel() != 0 || index.numel() == 0, "take(): tried to take from an empty tensor");
  return {TensorSpec(self.dtype, index.sizes, self.device)};
}

Specs infer_embedding(const OpDef&, const SpecCall& call) {
  const TensorSpec &weight = call.tensor(0), &indices = call.tensor(1);
  check(weight.rank() == 2, "'weight' must be 2-D");
  check(is_index_dtype(indices.dtype),
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got ", indices.dtype,
        " instead (while checking arguments for embedding)");
  Dims sizes = indices.sizes;
  sizes.push_back(weight.sizes[1]);
  return {TensorSpec(weight.dtype, sizes, weight.device)};
}

Specs infer_nonzero(const OpDef&, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  const int64_t count = call.attrs[0].as_int();
  check(count >= 0 && count <= self.numel(), "nonzero: count ", count, " of ", self.numel(), " elements");
  // torch writes the coordinates of one dimension after the other.
  return {TensorSpec(kInt64, Dims{count, self.rank()}, Dims{1, std::max<int64_t>(count, 1)}, self.device)};
}

Specs infer_masked_select(const OpDef&, const SpecCall& call) {
  const TensorSpec &self = call.tensor(0), &mask = call.tensor(1);
  check(mask.dtype == kBool, "masked_select: expected BoolTensor for mask");
  const int64_t numel = product(broadcast_shapes(self.sizes, mask.sizes)), count = call.attrs[0].as_int();
  check(count >= 0 && count <= numel, "masked_select: count ", count, " of ", numel, " elements");
  return {TensorSpec(self.dtype, {count}, self.device)};
}

Specs infer_one_hot(const OpDef&, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  check(self.dtype == kInt64, "one_hot is only applicable to index tensor of type LongTensor.");
  const int64_t classes = call.attrs[0].as_int();
  check(classes > 0, "num_classes should be positive");
  Dims sizes = self.sizes;
  sizes.push_back(classes);
  return {TensorSpec(kInt64, sizes, self.device)};
}

using Names = std::vector<std::string_view>;

[[maybe_unused]] const bool registered = [] {
  const auto add = [](std::string_view name, Names operands, Names attrs, decltype(OpDef::infer) infer) {
    OpDef def;
    def.name = name;
    def.kind = OpKind::Movement;
    def.operand_names = std::move(operands);
    def.attr_names = std::move(attrs);
    def.infer = infer;
    def.can_fail_on_data = true;
    register_op(std::move(def));
  };
  add("index", {"self", "indices..."}, {}, infer_index);
  add("index_put", {"self", "values", "indices..."}, {"accumulate"}, infer_index_put);
  add("index_select", {"self", "index"}, {"dim"}, infer_index_select);
  add("index_add", {"self", "index", "source", "alpha"}, {"dim"}, infer_index_write);
  add("index_copy", {"self", "index", "source"}, {"dim"}, infer_index_write);
  add("index_fill", {"self", "index", "value"}, {"dim"}, infer_index_fill);
  add("gather", {"self", "index"}, {"dim"}, infer_gather);
  add("scatter", {"self", "index", "src"}, {"dim"}, infer_scatter);
  add("scatter_add", {"self", "index", "src"}, {"dim"}, infer_scatter);
  add("scatter_reduce", {"self", "index", "src"}, {"dim", "reduce", "include_self"}, infer_scatter);
  add("take", {"self", "index"}, {}, infer_take);
  add("embedding", {"weight", "indices"}, {}, infer_embedding);
  add("nonzero", {"self"}, {"count"}, infer_nonzero);
  add("masked_select", {"self", "mask"}, {"count"}, infer_masked_select);
  add("one_hot", {"self"}, {"num_classes"}, infer_one_hot);
  return true;
}();

}  // namespace
}  // namespace tailor::ir
