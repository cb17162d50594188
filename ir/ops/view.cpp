#include "ir/ops/view.h"

#include <algorithm>
#include <limits>

namespace tailor::ir {

namespace {

/// Whether the strides are those of a tensor that was made with these sizes, none of which is 0.
bool are_plain(IntArrayRef sizes, IntArrayRef strides) {
  int64_t expected = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (strides[d] != expected) return false;
    expected *= sizes[d];
  }
  return expected != 0;
}

}  // namespace

std::optional<Dims> compute_view_strides(IntArrayRef sizes, IntArrayRef strides, IntArrayRef new_sizes) {
  const int64_t numel = product(sizes);
  if (numel == product(new_sizes) && are_plain(sizes, strides)) return contiguous_strides(new_sizes);
  if (numel == 0) return sizes == new_sizes ? Dims(strides) : contiguous_strides(new_sizes);
  if (sizes.empty()) return Dims(new_sizes.size(), 1);
  Dims result(new_sizes.size(), 1);
  int64_t view_d = static_cast<int64_t>(new_sizes.size()) - 1;
  int64_t chunk_stride = strides.back();
  int64_t tensor_numel = 1, view_numel = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    tensor_numel *= sizes[d];
    // The chunk of dimensions that lie without gaps ends here.
    if (d != 0 && (sizes[d - 1] == 1 || strides[d - 1] == tensor_numel * chunk_stride)) continue;
    while (view_d >= 0 && (view_numel < tensor_numel || new_sizes[static_cast<size_t>(view_d)] == 1)) {
      result[static_cast<size_t>(view_d)] = view_numel * chunk_stride;
      view_numel *= new_sizes[static_cast<size_t>(view_d)];
      --view_d;
    }
    if (view_numel != tensor_numel) return std::nullopt;
    if (d > 0) {
      chunk_stride = strides[d - 1];
      tensor_numel = view_numel = 1;
    }
  }
  if (view_d != -1) return std::nullopt;
  return result;
}

Dims infer_view_sizes(IntArrayRef sizes, int64_t numel) {
  Dims result(sizes);
  int64_t known = 1;
  std::optional<size_t> unknown;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      check(!unknown, "only one dimension can be inferred");
      unknown = i;
    } else {
      check(sizes[i] >= 0, "invalid shape dimension ", sizes[i], " at index ", i, " of shape ", sizes);
      known *= sizes[i];
    }
  }
  const bool fits = unknown ? (known != 0 ? numel % known == 0 : numel == 0) : known == numel;
  check(fits, "shape '", sizes, "' is invalid for input of size ", numel);
  if (unknown) {
    check(known != 0, "cannot reshape tensor of 0 elements into shape ", sizes,
          " because the unspecified dimension size -1 can be any value and is ambiguous");
    result[*unknown] = numel / known;
  }
  return result;
}

Dims flatten_sizes(IntArrayRef sizes, int64_t start_dim, int64_t end_dim) {
  const int64_t rank = static_cast<int64_t>(sizes.size());
  const auto start = static_cast<size_t>(wrap_dim(start_dim, rank)), end = static_cast<size_t>(wrap_dim(end_dim, rank));
  check(start <= end, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (rank == 0) return {1};
  Dims result;
  for (size_t i = 0; i < start; ++i) result.push_back(sizes[i]);
  result.push_back(product(IntArrayRef(sizes.data() + start, end - start + 1)));
  for (size_t i = end + 1; i < sizes.size(); ++i) result.push_back(sizes[i]);
  return result;
}

Dims unflatten_sizes(IntArrayRef sizes, int64_t dim, IntArrayRef new_sizes) {
  const auto d = static_cast<size_t>(wrap_dim(dim, static_cast<int64_t>(sizes.size())));
  check(!new_sizes.empty(), "unflatten: sizes must be non-empty");
  check(!sizes.empty(), "unflatten: cannot unflatten a tensor without dimensions");
  Dims inner;
  try {
    inner = infer_view_sizes(new_sizes, sizes[d]);
  } catch (const Error&) {
    detail::raise("unflatten: Provided sizes ", new_sizes, " don't multiply up to the size of dim ", dim, " (", sizes[d],
                  ") in the input tensor");
  }
  Dims result;
  for (size_t i = 0; i < d; ++i) result.push_back(sizes[i]);
  for (int64_t s : inner) result.push_back(s);
  for (size_t i = d + 1; i < sizes.size(); ++i) result.push_back(sizes[i]);
  return result;
}

int reshape(Builder& builder, int value, IntArrayRef sizes) {
  const TensorSpec& spec = builder.spec(value);
  const Dims resolved = infer_view_sizes(sizes, spec.numel());
  if (!compute_view_strides(spec.sizes, spec.strides, resolved)) value = builder.call("clone", {value}, {true});
  return builder.call("view", {value}, {resolved});
}

namespace {

using Attrs = std::span<const AttrRef>;
constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

/// The operand as it is: what a rule starts from.
ViewResult same(const TensorSpec& x) { return {x.sizes, x.strides, 0}; }

size_t wrapped(const TensorSpec& x, int64_t dim) { return static_cast<size_t>(wrap_dim(dim, x.rank())); }

ViewResult view_alias(const TensorSpec& x, Attrs) { return same(x); }

ViewResult view_view(const TensorSpec& x, Attrs attrs) {
  const Dims sizes = infer_view_sizes(attrs[0].as_ints(), x.numel());
  const auto strides = compute_view_strides(x.sizes, x.strides, sizes);
  check(strides.has_value(),
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
        "subspaces). Use .reshape(...) instead.");
  return {sizes, *strides, 0};
}

ViewResult permuted(const TensorSpec& x, IntArrayRef order) {
  ViewResult result;
  for (int64_t d : order) {
    result.sizes.push_back(x.sizes[static_cast<size_t>(d)]);
    result.strides.push_back(x.strides[static_cast<size_t>(d)]);
  }
  return result;
}

ViewResult view_permute(const TensorSpec& x, Attrs attrs) {
  const IntArrayRef dims = attrs[0].as_ints();
  check(dims.size() == x.sizes.size(),
        "permute: number of dimensions in the tensor input does not match the length of the desired ordering of dimensions i.e. "
        "input.dim() = ",
        x.rank(), " is not equal to len(dims) = ", dims.size());
  Dims order;
  for (int64_t d : dims) {
    const int64_t at = wrap_dim(d, x.rank());
    check(std::find(order.begin(), order.end(), at) == order.end(), "permute(): duplicate dims are not allowed.");
    order.push_back(at);
  }
  return permuted(x, order);
}

ViewResult view_transpose(const TensorSpec& x, Attrs attrs) {
  const size_t a = wrapped(x, attrs[0].as_int()), b = wrapped(x, attrs[1].as_int());
  ViewResult result = same(x);
  if (x.rank() > 0) {
    std::swap(result.sizes[a], result.sizes[b]);
    std::swap(result.strides[a], result.strides[b]);
  }
  return result;
}

ViewResult view_t(const TensorSpec& x, Attrs) {
  check(x.rank() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", x.rank(), "D");
  return x.rank() == 2 ? permuted(x, {1, 0}) : same(x);
}

ViewResult view_movedim(const TensorSpec& x, Attrs attrs) {
  const IntArrayRef source = attrs[0].as_ints(), destination = attrs[1].as_ints();
  check(source.size() == destination.size(), "movedim: Invalid source or destination dims: source (", source,
        " dims) should contain the same number of dims as destination (", destination, " dims)");
  const auto positions = [&](IntArrayRef dims, std::string_view name) {
    Dims result;
    for (int64_t d : dims) {
      const int64_t at = wrap_dim(d, x.rank());
      check(std::find(result.begin(), result.end(), at) == result.end(), "movedim: repeated dim in `", name, "` (", dims, ")");
      result.push_back(at);
    }
    return result;
  };
  const Dims from = positions(source, "source"), to = positions(destination, "destination");
  if (x.rank() == 0) return same(x);
  Dims order(x.sizes.size(), -1);
  for (size_t i = 0; i < from.size(); ++i) order[static_cast<size_t>(to[i])] = from[i];
  int64_t next = 0;
  for (int64_t& o : order) {
    if (o >= 0) continue;
    while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
    o = next++;
  }
  return permuted(x, order);
}

ViewResult view_expand(const TensorSpec& x, Attrs attrs) {
  const IntArrayRef sizes = attrs[0].as_ints();
  const size_t rank = sizes.size(), own = x.sizes.size();
  check(rank >= own, "expand: the number of sizes provided (", rank,
        ") must be greater or equal to the number of dimensions in the tensor (", own, ")");
  ViewResult result{Dims(rank, 0), Dims(rank, 0), 0};
  for (size_t i = rank; i-- > 0;) {
    const bool existing = i + own >= rank;
    const size_t d = i + own - rank;
    int64_t size = existing ? x.sizes[d] : 1;
    int64_t stride = existing ? x.strides[d] : own == 0 || i + 1 >= rank ? 0 : result.sizes[i + 1] * result.strides[i + 1];
    int64_t target = sizes[i];
    if (target == -1) {
      check(existing, "expand: The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension ", i);
      target = size;
    }
    check(target >= 0, "expand: Trying to create tensor with negative dimension ", target, ": ", sizes);
    if (size != target) {
      check(size == 1, "The expanded size of the tensor (", target, ") must match the existing size (", size,
            ") at non-singleton dimension ", i, ".  Target sizes: ", sizes, ".  Tensor sizes: ", x.sizes);
      size = target;
      stride = 0;
    }
    result.sizes[i] = size;
    result.strides[i] = stride;
  }
  return result;
}

ViewResult view_squeeze(const TensorSpec& x, Attrs attrs) {
  bool chosen[Dims::kMaxDims] = {};
  if (attrs.empty() || attrs[0].is_none()) {
    std::fill_n(chosen, x.sizes.size(), true);
  } else {
    for (int64_t d : attrs[0].as_ints()) {
      const size_t at = wrapped(x, d);
      check(!chosen[at], "dim ", at, " appears multiple times in the list of dims");
      chosen[at] = true;
    }
  }
  ViewResult result;
  for (size_t i = 0; i < x.sizes.size(); ++i) {
    if (chosen[i] && x.sizes[i] == 1) continue;
    result.sizes.push_back(x.sizes[i]);
    result.strides.push_back(x.strides[i]);
  }
  return result;
}

ViewResult view_unsqueeze(const TensorSpec& x, Attrs attrs) {
  const auto d = static_cast<size_t>(wrap_dim(attrs[0].as_int(), x.rank() + 1));
  ViewResult result = same(x);
  const int64_t stride = d >= x.sizes.size() ? 1 : x.sizes[d] * x.strides[d];
  result.sizes.insert(d, 1);
  result.strides.insert(d, stride);
  return result;
}

ViewResult view_narrow(const TensorSpec& x, Attrs attrs) {
  check(x.rank() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  int64_t start = attrs[1].as_int();
  const int64_t length = attrs[2].as_int();
  check(length >= 0, "narrow(): length must be non-negative.");
  const size_t d = wrapped(x, attrs[0].as_int());
  const int64_t size = x.sizes[d];
  check<IndexError>(-size <= start && start <= size, "start out of range (expected to be in range of [", -size, ", ", size, "], but got ",
                    start, ")");
  if (start < 0) start += size;
  check(start <= size - length, "start (", start, ") + length (", length, ") exceeds dimension size (", size, ").");
  ViewResult result = same(x);
  result.sizes[d] = length;
  result.offset = start * x.strides[d];
  return result;
}

ViewResult view_slice(const TensorSpec& x, Attrs attrs) {
  check(x.rank() > 0, "slice() cannot be applied to a 0-dim tensor.");
  const size_t d = wrapped(x, attrs[0].as_int());
  const auto given = [&](size_t i, int64_t otherwise) { return i < attrs.size() && !attrs[i].is_none() ? attrs[i].as_int() : otherwise; };
  const int64_t size = x.sizes[d], step = given(3, 1);
  int64_t start = given(1, 0), end = given(2, kEnd);
  check(step > 0, "slice step must be positive");
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = std::clamp<int64_t>(start, 0, size);
  end = std::clamp<int64_t>(end, start, size);
  ViewResult result = same(x);
  result.sizes[d] = end == start ? 0 : (end - start - 1) / step + 1;
  result.strides[d] = x.strides[d] * step;
  result.offset = start * x.strides[d];
  return result;
}

ViewResult view_select(const TensorSpec& x, Attrs attrs) {
  check<IndexError>(x.rank() > 0, "select() cannot be applied to a 0-dim tensor.");
  const size_t d = wrapped(x, attrs[0].as_int());
  const int64_t index = attrs[1].as_int(), size = x.sizes[d];
  check<IndexError>(-size <= index && index < size, "select(): index ", index, " out of range for tensor of size ", x.sizes,
                    " at dimension ", d);
  ViewResult result = same(x);
  result.offset = (index < 0 ? index + size : index) * x.strides[d];
  result.sizes.erase(d);
  result.strides.erase(d);
  return result;
}

ViewResult view_diagonal(const TensorSpec& x, Attrs attrs) {
  const int64_t offset = attrs[0].as_int();
  const size_t a = wrapped(x, attrs[1].as_int()), b = wrapped(x, attrs[2].as_int());
  check(a != b, "diagonal dimensions cannot be identical ", attrs[1].as_int(), ", ", attrs[2].as_int());
  check<IndexError>(x.rank() >= 2, "diagonal: expected a tensor with at least 2 dimensions, got ", x.rank());
  const int64_t rows = x.sizes[a] + std::min<int64_t>(offset, 0), columns = x.sizes[b] - std::max<int64_t>(offset, 0);
  const int64_t length = std::max<int64_t>(std::min(rows, columns), 0);
  ViewResult result = same(x);
  if (length > 0) result.offset = offset >= 0 ? offset * x.strides[b] : -offset * x.strides[a];
  for (size_t d : {std::max(a, b), std::min(a, b)}) {
    result.sizes.erase(d);
    result.strides.erase(d);
  }
  result.sizes.push_back(length);
  result.strides.push_back(x.strides[a] + x.strides[b]);
  return result;
}

ViewResult view_unfold(const TensorSpec& x, Attrs attrs) {
  const size_t d = wrapped(x, attrs[0].as_int());
  const int64_t size = attrs[1].as_int(), step = attrs[2].as_int();
  const int64_t most = x.rank() == 0 ? 1 : x.sizes[d];
  check(size >= 0, "size is ", size, " but must be >= 0");
  check(size <= most, "maximum size for tensor at dimension ", d, " is ", most, " but size is ", size);
  check(step > 0, "step is ", step, " but must be > 0");
  ViewResult result = same(x);
  result.sizes.push_back(size);
  result.strides.push_back(x.rank() == 0 ? 1 : x.strides[d]);
  if (x.rank() > 0) {
    result.sizes[d] = (most - size) / step + 1;
    result.strides[d] = x.strides[d] * step;
  }
  return result;
}

ViewResult view_as_strided(const TensorSpec&, Attrs attrs) {
  const IntArrayRef sizes = attrs[0].as_ints(), strides = attrs[1].as_ints();
  check(sizes.size() == strides.size(), "as_strided: mismatch in length of strides and shape");
  for (int64_t s : strides) check(s >= 0, "as_strided: Negative strides are not supported at the moment, got strides: ", strides);
  for (int64_t s : sizes) check(s >= 0, "as_strided: Trying to create tensor with negative dimension ", s, ": ", sizes);
  return {sizes, strides, attrs.size() > 2 && !attrs[2].is_none() ? attrs[2].as_int() : 0};
}

ViewResult view_as_dtype(const TensorSpec& x, Attrs attrs) {
  const ScalarType to = attrs[0].as_dtype();
  const int64_t from_size = element_size(x.dtype), to_size = element_size(to);
  ViewResult result = same(x);
  if (from_size == to_size) return result;
  check(x.rank() > 0, "self.dim() cannot be 0 to view ", x.dtype, " as ", to, " (different element sizes)");
  const size_t last = x.sizes.size() - 1;
  check(x.strides[last] == 1, "self.stride(-1) must be 1 to view ", x.dtype, " as ", to, " (different element sizes), but got ",
        x.strides[last]);
  const bool widen = to_size > from_size;
  const int64_t ratio = widen ? to_size / from_size : from_size / to_size;
  if (widen) {
    check(x.sizes[last] % ratio == 0, "self.size(-1) must be divisible by ", ratio, " to view ", x.dtype, " as ", to,
          " (different element sizes), but got ", x.sizes[last]);
    for (size_t i = 0; i < last; ++i)
      check(x.strides[i] % ratio == 0, "self.stride(", i, ") must be divisible by ", ratio, " to view ", x.dtype, " as ", to,
            " (different element sizes), but got ", x.strides[i]);
  }
  result.sizes[last] = widen ? x.sizes[last] / ratio : x.sizes[last] * ratio;
  for (size_t i = 0; i < last; ++i) result.strides[i] = widen ? x.strides[i] / ratio : x.strides[i] * ratio;
  return result;
}

std::vector<TensorSpec> infer_view_as_dtype(const OpDef& op, const SpecCall& call) {
  const TensorSpec& x = call.tensor(0);
  const ViewResult view = op.view(x, call.attrs);
  TensorSpec spec(call.attrs[0].as_dtype(), view.sizes, view.strides, x.device);
  spec.requires_grad = x.requires_grad && is_floating_point(spec.dtype);
  return {spec};
}

std::vector<TensorSpec> infer_detach(const OpDef&, const SpecCall& call) {
  TensorSpec spec = call.tensor(0);
  spec.requires_grad = false;
  return {spec};
}

[[maybe_unused]] const bool registered = [] {
  const auto add = [](std::string_view name, std::vector<std::string_view> attrs, decltype(OpDef::view) view) {
    OpDef def;
    def.name = name;
    def.kind = OpKind::View;
    def.operand_names = {"self"};
    def.attr_names = std::move(attrs);
    def.view = view;
    if (name == "view_as_dtype") def.infer = infer_view_as_dtype;
    if (name == "detach") def.infer = infer_detach;
    register_op(std::move(def));
  };
  add("view", {"size"}, view_view);
  add("permute", {"dims"}, view_permute);
  add("transpose", {"dim0", "dim1"}, view_transpose);
  add("t", {}, view_t);
  add("movedim", {"source", "destination"}, view_movedim);
  add("expand", {"size"}, view_expand);
  add("squeeze", {"dims"}, view_squeeze);
  add("unsqueeze", {"dim"}, view_unsqueeze);
  add("narrow", {"dim", "start", "length"}, view_narrow);
  add("slice", {"dim", "start", "end", "step"}, view_slice);
  add("select", {"dim", "index"}, view_select);
  add("diagonal", {"offset", "dim1", "dim2"}, view_diagonal);
  add("unfold", {"dim", "size", "step"}, view_unfold);
  add("as_strided", {"size", "stride", "offset"}, view_as_strided);
  add("view_as_dtype", {"dtype"}, view_as_dtype);
  add("detach", {}, view_alias);
  add("alias", {}, view_alias);
  return true;
}();

}  // namespace
}  // namespace tailor::ir
