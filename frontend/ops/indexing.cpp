// Indexing with lists, and ops over index tensors. Operands and attributes as listed in ir/ops/indexing.h.

#include "tailor/indexing.h"

#include "frontend/call.h"
#include "ir/ops/indexing.h"
#include "tailor/ops/creation.h"
#include "tailor/ops/indexing.h"
#include "tailor/ops/pointwise.h"
#include "tailor/ops/reduction.h"
#include "tailor/ops/view.h"

namespace tailor {
namespace {

using indexing::TensorIndex;
using Kind = TensorIndex::Kind;

/// What integers, slices, None and Ellipsis make of a tensor: a view of it, and for each dimension of the view the index tensor, if any.
struct Indexed {
  Tensor view;
  std::vector<Tensor> indices;  // one per dimension; undefined: all of it
  bool has_indices = false;
};

bool is_mask(const Tensor& t) { return t.scalar_type() == kBool || t.scalar_type() == kUInt8; }

int64_t dims_taken(ArrayRef<TensorIndex> list) {
  int64_t taken = 0;
  for (const TensorIndex& i : list) {
    if (i.kind() == Kind::Integer || i.kind() == Kind::Slice) ++taken;
    if (i.kind() == Kind::Tensor) taken += is_mask(i.tensor()) ? i.tensor().dim() : 1;
  }
  return taken;
}

/// A mask is the list of places where it holds, one index tensor per dimension of the mask.
void add_mask(Indexed& result, const Tensor& mask, Where where) {
  const auto dim = static_cast<int64_t>(result.indices.size());
  for (int64_t d = 0; d < mask.dim(); ++d)
    check_at<IndexError>(where, dim + d < result.view.dim() && mask.size(d) == result.view.size(dim + d), "index: The shape of the mask ",
                         mask.sizes(), " at index ", d, " does not match the shape of the indexed tensor ", result.view.sizes(),
                         " at index ", dim + d);
  if (mask.dim() == 0) {
    result.view = unsqueeze(result.view, dim, where);
    const bool on = mask.item<bool>(where);
    result.indices.push_back(zeros({on ? 1 : 0}, kInt64, where));
    return;
  }
  for (Tensor& places : unbind(nonzero(mask, where), 1, where)) result.indices.push_back(std::move(places));
}

Indexed apply(const Tensor& self, ArrayRef<TensorIndex> list, Where where) {
  const int64_t taken = dims_taken(list);
  check_at<IndexError>(where, taken <= self.dim(), "index: too many indices for tensor of dimension ", self.dim());
  Indexed result{self, {}, false};
  bool seen_ellipsis = false;
  const auto dim = [&] { return static_cast<int64_t>(result.indices.size()); };
  for (const TensorIndex& i : list) {
    switch (i.kind()) {
      case Kind::None:
        result.view = unsqueeze(result.view, dim(), where);
        result.indices.emplace_back();
        break;
      case Kind::Ellipsis:
        check_at<IndexError>(where, !seen_ellipsis, "index: an index can only have a single ellipsis ('...')");
        seen_ellipsis = true;
        result.indices.resize(result.indices.size() + static_cast<size_t>(self.dim() - taken));
        break;
      case Kind::Integer: {
        check_at<IndexError>(where, self.dim() > 0,
                             "index: invalid index of a 0-dim tensor. Use `tensor.item()` to convert it to a number");
        result.view = select(result.view, dim(), i.integer(), where);
        break;
      }
      case Kind::Boolean:
        result.view = unsqueeze(result.view, dim(), where);
        result.indices.push_back(zeros({i.integer().unguarded() != 0 ? 1 : 0}, kInt64, where));
        result.has_indices = true;
        break;
      case Kind::Slice: {
        const indexing::Slice& s = i.slice();
        check_at(where, s.step() > 0, "index: slice step must be positive");
        if (s.start() || s.stop() || s.step() != 1) result.view = slice(result.view, dim(), s.start(), s.stop(), s.step(), where);
        result.indices.emplace_back();
        break;
      }
      case Kind::Tensor:
        // One integer selects, as a number does: the result is a view.
        if (i.tensor().dim() == 0 && !is_mask(i.tensor()) && is_integral(i.tensor().scalar_type())) {
          check_at<IndexError>(where, self.dim() > 0,
                               "index: invalid index of a 0-dim tensor. Use `tensor.item()` to convert it to a number");
          result.view = select(result.view, dim(), i.tensor().item<int64_t>(where), where);
          break;
        }
        result.has_indices = true;
        if (is_mask(i.tensor())) {
          add_mask(result, i.tensor(), where);
        } else {
          check_at<IndexError>(where, i.tensor().scalar_type() == kInt64 || i.tensor().scalar_type() == kInt32,
                               "index: tensors used as indices must be long, int, byte or bool tensors");
          result.indices.push_back(i.tensor());
        }
        break;
    }
  }
  return result;
}

std::vector<Operand> index_operands(const Indexed& indexed, std::initializer_list<Operand> first) {
  std::vector<Operand> list(first);
  for (const Tensor& t : indexed.indices) list.push_back(optional_operand(t));
  while (list.back().is_none()) list.pop_back();
  return list;
}

/// Torch lets a value have leading dimensions of size 1 that the place has not.
Tensor strip_leading_ones(const Tensor& value, int64_t place, Where where) {
  int64_t extra = 0;
  while (value.dim() - extra > place && value.sym_size(extra) == 1) ++extra;
  if (extra == 0) return value;
  const SymSizes sizes = value.sym_sizes();
  return value.view(SymIntArrayRef(sizes.data() + extra, sizes.size() - static_cast<size_t>(extra)), where);
}

void assign(const Tensor& self, ArrayRef<TensorIndex> list, const TensorOrScalar& value, bool accumulate, Where where) {
  const Indexed place = apply(self, list, where);
  if (!place.has_indices) {
    if (accumulate)
      place.view.add_(value, 1, where);
    else if (value.tensor() == nullptr)
      place.view.fill_(value, where);
    else
      place.view.copy_(strip_leading_ones(*value.tensor(), place.view.dim(), where), false, where);
    return;
  }
  Tensor values = value.tensor() != nullptr ? *value.tensor() : full({}, value.scalar(), self.scalar_type(), where);
  if (values.scalar_type() != self.scalar_type() && (value.tensor() == nullptr || values.dim() == 0))
    values = values.to(self.scalar_type(), false, false, where);
  const std::vector<Operand> operands = index_operands(place, {operand(where, place.view), operand(where, values)});
  const ir::AttrRef attrs[] = {accumulate};
  dispatch(OpCall{op<"index_put">(), operands, attrs, true, where});
}

int64_t scatter_reduction(std::string_view reduce, Where where) {
  constexpr std::string_view names[] = {"sum", "prod", "mean", "amax", "amin"};
  const auto* found = std::find(std::begin(names), std::end(names), reduce);
  check_at(where, found != std::end(names), "scatter_reduce: reduce argument must be either sum, prod, mean, amax or amin, got ", reduce);
  return found - std::begin(names);
}

/// The older form of reducing, scatter(..., reduce): "add" or "multiply".
int64_t scatter_operation(std::string_view reduce, Where where) {
  check_at(where, reduce == "add" || reduce == "multiply", "scatter: reduce argument must be either add or multiply.");
  return static_cast<int64_t>(reduce == "add" ? ir::ScatterReduce::Sum : ir::ScatterReduce::Prod);
}

Tensor scatter_source(const Tensor& self, const Tensor& index, const TensorOrScalar& source, Where where) {
  if (source.tensor() != nullptr) return *source.tensor();
  return full(index.sym_sizes(), source.scalar(), self.scalar_type(), where);
}

}  // namespace

Tensor index(const Tensor& self, ArrayRef<TensorIndex> list, Where where) {
  const Indexed indexed = apply(self, list, where);
  if (!indexed.has_indices) return indexed.view.is_same(self) ? call<"alias">(where, operands(where, self)) : indexed.view;
  const std::vector<Operand> operands = index_operands(indexed, {operand(where, indexed.view)});
  return dispatch(OpCall{op<"index">(), operands, {}, false, where});
}
Tensor Tensor::index(ArrayRef<TensorIndex> list, Where where) const { return tailor::index(*this, list, where); }
Tensor Tensor::index(std::initializer_list<TensorIndex> list, Where where) const {
  return tailor::index(*this, ArrayRef<TensorIndex>(list), where);
}
Tensor Tensor::operator[](const Tensor& i) const {
  if (i.dim() == 0 && is_integral(i.scalar_type())) return (*this)[i.item<int64_t>()];
  return index({TensorIndex(i)});
}

Tensor& Tensor::index_put_(ArrayRef<TensorIndex> list, const TensorOrScalar& value, bool accumulate, Where where) const {
  assign(*this, list, value, accumulate, where);
  return const_cast<Tensor&>(*this);
}
Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> list, const TensorOrScalar& value, bool accumulate, Where where) const {
  return index_put_(ArrayRef<TensorIndex>(list), value, accumulate, where);
}
Tensor index_put(const Tensor& self, ArrayRef<TensorIndex> list, const TensorOrScalar& value, bool accumulate, Where where) {
  return self.clone(std::nullopt, where).index_put_(list, value, accumulate, where);
}
Tensor Tensor::index_put(ArrayRef<TensorIndex> list, const TensorOrScalar& value, bool accumulate, Where where) const {
  return tailor::index_put(*this, list, value, accumulate, where);
}

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index, Where where) {
  return call<"index_select">(where, operands(where, self, index), dim);
}
Tensor Tensor::index_select(int64_t dim, const Tensor& index, Where where) const { return tailor::index_select(*this, dim, index, where); }
Tensor gather(const Tensor& self, int64_t dim, const Tensor& index, bool, Where where) {
  return call<"gather">(where, operands(where, self, index), dim);
}
Tensor Tensor::gather(int64_t dim, const Tensor& index, bool sparse_grad, Where where) const {
  return tailor::gather(*this, dim, index, sparse_grad, where);
}

Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const TensorOrScalar& source, Where where) {
  return call<"scatter">(where, operands(where, self, index, source), dim);
}
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const TensorOrScalar& source, std::string_view reduce, Where where) {
  return call<"scatter_reduce">(where, operands(where, self, index, scatter_source(self, index, source, where)), dim,
                                scatter_operation(reduce, where), true);
}
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Where where) {
  return call<"scatter_add">(where, operands(where, self, index, source), dim);
}
Tensor scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                      bool include_self, Where where) {
  return call<"scatter_reduce">(where, operands(where, self, index, source), dim, scatter_reduction(reduce, where), include_self);
}
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const TensorOrScalar& source, Where where) const {
  return tailor::scatter(*this, dim, index, source, where);
}
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const TensorOrScalar& source, std::string_view reduce, Where where) const {
  return tailor::scatter(*this, dim, index, source, reduce, where);
}
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const TensorOrScalar& source, Where where) const {
  return call_inplace<"scatter">(where, *this, operands(where, *this, index, source), dim);
}
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const TensorOrScalar& source, std::string_view reduce, Where where) const {
  return call_inplace<"scatter_reduce">(where, *this, operands(where, *this, index, scatter_source(*this, index, source, where)), dim,
                                        scatter_operation(reduce, where), true);
}
Tensor Tensor::scatter_add(int64_t dim, const Tensor& index, const Tensor& source, Where where) const {
  return tailor::scatter_add(*this, dim, index, source, where);
}
Tensor& Tensor::scatter_add_(int64_t dim, const Tensor& index, const Tensor& source, Where where) const {
  return call_inplace<"scatter_add">(where, *this, operands(where, *this, index, source), dim);
}
Tensor Tensor::scatter_reduce(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce, bool include_self,
                              Where where) const {
  return tailor::scatter_reduce(*this, dim, index, source, reduce, include_self, where);
}
Tensor& Tensor::scatter_reduce_(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce, bool include_self,
                                Where where) const {
  return call_inplace<"scatter_reduce">(where, *this, operands(where, *this, index, source), dim, scatter_reduction(reduce, where),
                                        include_self);
}

Tensor take(const Tensor& self, const Tensor& index, Where where) { return call<"take">(where, operands(where, self, index)); }
Tensor Tensor::take(const Tensor& index, Where where) const { return tailor::take(*this, index, where); }
Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, bool, Where where) {
  return call<"embedding">(where, operands(where, weight, indices));
}

// Sizes that depend on data: the count is read first, and is an attribute like any other from there on.
Tensor nonzero(const Tensor& self, Where where) {
  return call<"nonzero">(where, operands(where, self), count_nonzero(self, std::nullopt, where).item<int64_t>(where));
}
Tensor Tensor::nonzero(Where where) const { return tailor::nonzero(*this, where); }
Tensor masked_select(const Tensor& self, const Tensor& mask, Where where) {
  check_at(where, mask.scalar_type() == kBool || mask.scalar_type() == kUInt8, "masked_select: expected BoolTensor for mask");
  const Dims sizes = ir::broadcast_shapes(self.sizes(), mask.sizes());
  const int64_t count = count_nonzero(mask.expand(sizes, false, where), std::nullopt, where).item<int64_t>(where);
  return call<"masked_select">(where, operands(where, self, mask), count);
}
Tensor Tensor::masked_select(const Tensor& mask, Where where) const { return tailor::masked_select(*this, mask, where); }

}  // namespace tailor
