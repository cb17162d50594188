#include "ir/ops/movement.h"

#include <algorithm>
#include <cstdlib>

#include "ir/builder.h"
#include "ir/ops/view.h"

namespace tailor::ir {

int64_t padded_source(PadMode mode, int64_t at, int64_t before, int64_t after, int64_t size) {
  const int64_t i = at - before;
  switch (mode) {
    case PadMode::Constant: break;
    case PadMode::Reflect: return i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
    case PadMode::Replicate: return std::clamp<int64_t>(i, 0, size - 1);
    case PadMode::Circular: {
      const int64_t cut = std::max<int64_t>(-before, 0), left = size - cut - std::max<int64_t>(-after, 0);
      const int64_t in_rest = (i - cut) % left;
      return cut + (in_rest < 0 ? in_rest + left : in_rest);
    }
  }
  return i;
}

Dims preserved_strides(const TensorSpec& x) {
  if (x.is_non_overlapping_and_dense()) return x.strides;
  const TensorSpec* operands[] = {&x};
  return pointwise_output_strides(x.sizes, operands);
}

namespace {

using Attrs = std::span<const AttrRef>;
using Specs = std::vector<TensorSpec>;
using Operands = std::span<const Value>;

/// A contiguous result with the dtype and device of `x`.
Specs contiguous_like(const TensorSpec& x, IntArrayRef sizes) { return {TensorSpec(x.dtype, sizes, x.device)}; }

Specs infer_clone(const OpDef&, const SpecCall& call) {
  const TensorSpec& x = call.tensor(0);
  if (!call.attrs.empty() && !call.attrs[0].is_none() && call.attrs[0].as_bool()) return contiguous_like(x, x.sizes);
  return {TensorSpec(x.dtype, x.sizes, preserved_strides(x), x.device)};
}

Specs infer_write(const OpDef&, const SpecCall& call) { return {call.tensor(0)}; }

void check_expands(std::string_view op, IntArrayRef from, IntArrayRef to) {
  Dims shape;
  try {
    shape = broadcast_shapes(to, from);
  } catch (const Error& e) { detail::raise(op, ": ", e.what()); }
  check(IntArrayRef(shape) == to, op, ": output with shape ", to, " doesn't match the broadcast shape ", shape);
}

Specs infer_copy(const OpDef&, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  check_expands("copy_", call.tensor(1).sizes, self.sizes);
  return {self};
}

Specs infer_fill(const OpDef&, const SpecCall& call) {
  if (call.has_tensor(1))
    check(call.tensor(1).rank() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", call.tensor(1).rank(),
          " dimensions.");
  return {call.tensor(0)};
}

/// torch lets tensors of shape [0] take part in any cat.
bool is_skipped_in_cat(const TensorSpec& t) { return t.rank() == 1 && t.sizes[0] == 0; }

bool is_channels_last(const TensorSpec& t) {
  if (t.rank() != 4) return false;
  const int64_t channels = t.sizes[1], height = t.sizes[2], width = t.sizes[3];
  return !t.is_contiguous() && t.strides == Dims{channels * height * width, 1, width * channels, channels};
}

Specs infer_cat(const OpDef&, const SpecCall& call) {
  check(!call.operands.empty(), "torch.cat(): expected a non-empty list of Tensors");
  const TensorSpec* first = nullptr;
  ScalarType dtype = call.tensor(0).dtype;
  bool channels_last = true;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const TensorSpec& t = call.tensor(i);
    check(t.rank() > 0, "zero-dimensional tensor (at position ", i, ") cannot be concatenated");
    dtype = promote_types(dtype, t.dtype);
    if (!first && !is_skipped_in_cat(t)) first = &t;
    channels_last &= is_channels_last(t);
  }
  const int64_t rank = first ? first->rank() : 1;
  const auto dim = static_cast<size_t>(wrap_dim(call.attrs[0].as_int(), rank));
  if (!first) return {TensorSpec(dtype, {0}, call.tensor(0).device)};
  Dims sizes = first->sizes;
  sizes[dim] = 0;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const TensorSpec& t = call.tensor(i);
    if (is_skipped_in_cat(t)) continue;
    check(t.rank() == rank, "Tensors must have same number of dimensions: got ", rank, " and ", t.rank());
    for (size_t d = 0; d < sizes.size(); ++d)
      check(d == dim || t.sizes[d] == first->sizes[d], "Sizes of tensors must match except in dimension ", dim, ". Expected size ",
            first->sizes[d], " but got size ", t.sizes[d], " for tensor number ", i, " in the list.");
    sizes[dim] += t.sizes[dim];
  }
  TensorSpec out(dtype, sizes, first->device);
  if (channels_last) out.strides = {sizes[1] * sizes[2] * sizes[3], 1, sizes[3] * sizes[1], sizes[1]};
  return {out};
}

Specs infer_stack(const OpDef& op, const SpecCall& call) {
  check(!call.operands.empty(), "stack expects a non-empty TensorList");
  const TensorSpec& first = call.tensor(0);
  const AttrRef dim = wrap_dim(call.attrs[0].as_int(), first.rank() + 1);
  std::vector<TensorSpec> parts;
  parts.reserve(call.operands.size());
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const TensorSpec& t = call.tensor(i);
    check(t.sizes == first.sizes, "stack expects each tensor to be equal size, but got ", first.sizes, " at entry 0 and ", t.sizes,
          " at entry ", i);
    const ViewResult view = find_op("unsqueeze")->view(t, {&dim, 1});
    parts.emplace_back(t.dtype, view.sizes, view.strides, t.device);
  }
  std::vector<SpecOperand> operands;
  for (const TensorSpec& part : parts) operands.emplace_back(&part);
  return infer_cat(op, {operands, {&dim, 1}});
}

std::vector<int> decompose_stack(Builder& b, Operands operands, Attrs attrs) {
  const int64_t dim = wrap_dim(attrs[0].as_int(), b.spec(operands[0].tensor).rank() + 1);
  std::vector<Value> parts;
  for (const Value& t : operands) parts.emplace_back(b.call("unsqueeze", {t}, {dim}));
  const AttrRef cat_attrs[] = {dim};
  return b.call_many(*find_op("cat"), parts, cat_attrs);
}

Specs infer_repeat(const OpDef&, const SpecCall& call) {
  const TensorSpec& x = call.tensor(0);
  const IntArrayRef repeats = call.attrs[0].as_ints();
  check(repeats.size() >= x.sizes.size(), "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  const size_t missing = repeats.size() - x.sizes.size();
  Dims sizes;
  for (size_t i = 0; i < repeats.size(); ++i) sizes.push_back(repeats[i] * (i < missing ? 1 : x.sizes[i - missing]));
  for (size_t i = 0; i < repeats.size(); ++i)
    check(repeats[i] >= 0, "Trying to create tensor with negative dimension ", sizes[i], ": ", sizes);
  return contiguous_like(x, sizes);
}

Dims tile_repeats(const TensorSpec& x, IntArrayRef dims) {
  Dims repeats(std::max(dims.size(), x.sizes.size()), 1);
  std::copy(dims.begin(), dims.end(), repeats.end() - dims.size());
  return repeats;
}

Specs infer_tile(const OpDef& op, const SpecCall& call) {
  const Dims repeats = tile_repeats(call.tensor(0), call.attrs[0].as_ints());
  const AttrRef attr(repeats);
  return infer_repeat(op, {call.operands, {&attr, 1}});
}

std::vector<int> decompose_tile(Builder& b, Operands operands, Attrs attrs) {
  const Dims repeats = tile_repeats(b.spec(operands[0].tensor), attrs[0].as_ints());
  return {b.call("repeat", {operands[0]}, {repeats})};
}

Specs infer_repeat_interleave(const OpDef&, const SpecCall& call) {
  const TensorSpec& x = call.tensor(0);
  const int64_t repeats = call.attrs[0].as_int();
  check(repeats >= 0, "repeats can not be negative");
  const auto dim = static_cast<size_t>(wrap_dim(call.attrs[1].as_int(), x.rank()));
  Dims sizes = x.sizes;
  if (sizes.empty()) sizes.push_back(1);
  sizes[dim] *= repeats;
  return contiguous_like(x, sizes);
}

Specs infer_repeat_interleave_tensor(const OpDef&, const SpecCall& call) {
  const TensorSpec &x = call.tensor(0), &repeats = call.tensor(1);
  check(repeats.rank() <= 1, "repeat_interleave only accept 1D vector as repeat");
  check(repeats.dtype == kInt64 || repeats.dtype == kInt32, "repeats has to be Long or Int tensor");
  const auto dim = static_cast<size_t>(wrap_dim(call.attrs[0].as_int(), x.rank()));
  Dims sizes = x.sizes;
  if (sizes.empty()) sizes.push_back(1);
  check(repeats.numel() == 1 || repeats.numel() == sizes[dim],
        "repeats must have the same size as input along dim, but got repeats.size(0) = ", repeats.numel(), " and input.size(", dim,
        ") = ", sizes[dim]);
  sizes[dim] = call.attrs[1].as_int();
  check(sizes[dim] >= 0, "repeat_interleave: output_size must not be negative, got ", sizes[dim]);
  return contiguous_like(x, sizes);
}

Specs infer_flip(const OpDef&, const SpecCall& call) {
  const TensorSpec& x = call.tensor(0);
  bool seen[Dims::kMaxDims] = {};
  for (int64_t d : call.attrs[0].as_ints()) {
    const auto at = static_cast<size_t>(wrap_dim(d, x.rank()));
    check(!seen[at], "dim ", at, " appears multiple times in the list of dims");
    seen[at] = true;
  }
  return {TensorSpec(x.dtype, x.sizes, preserved_strides(x), x.device)};
}

Specs infer_roll(const OpDef&, const SpecCall& call) {
  const TensorSpec& x = call.tensor(0);
  const IntArrayRef shifts = call.attrs[0].as_ints(), dims = call.attrs[1].as_ints();
  check(!shifts.empty(), "`shifts` required");
  check(dims.empty() ? shifts.size() == 1 : dims.size() == shifts.size(), "shifts and dimensions must align. shifts: ", shifts.size(),
        ", dims:", dims.size());
  for (int64_t d : dims) wrap_dim(d, x.rank());
  return contiguous_like(x, x.sizes);
}

Specs infer_pad(const OpDef&, const SpecCall& call) {
  const TensorSpec& x = call.tensor(0);
  const IntArrayRef pad = call.attrs[0].as_ints();
  const auto mode = static_cast<PadMode>(call.attrs[1].as_int());
  check(pad.size() % 2 == 0, "Padding length must be divisible by 2");
  check(pad.size() / 2 <= x.sizes.size(),
        "Padding length should be less than or equal to two times the input dimension but got padding length ", pad.size(),
        " and input of dimension ", x.rank());
  Dims sizes = x.sizes;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const size_t d = x.sizes.size() - 1 - i;
    const int64_t before = pad[2 * i], after = pad[2 * i + 1], size = x.sizes[d];
    sizes[d] = size + before + after;
    check(sizes[d] >= 0, "The input size ", size, ", plus negative padding ", before, " and ", after,
          " resulted in a negative output size, which is invalid. Check dimension ", d, " of your input.");
    switch (mode) {
      case PadMode::Constant: break;
      case PadMode::Reflect:
        check(before < size && after < size,
              "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding (", before, ", ", after,
              ") at dimension ", d, " of input ", x.sizes);
        break;
      case PadMode::Replicate:
        check(size > 0 || sizes[d] == 0, "pad: Expected a dimension that is not empty to replicate, but dimension ", d, " of ", x.sizes,
              " is");
        break;
      case PadMode::Circular:
        check(before <= size && after <= size, "Padding value causes wrapping around more than once.");
        check(sizes[d] == 0 || std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0) + size > 0,
              "Negative padding value is resulting in an empty dimension");
        break;
    }
  }
  return contiguous_like(x, sizes);
}

/// [..., C * r^2, H, W] as (batch sizes, C, r, r, H, W).
Specs infer_pixel_shuffle(const OpDef&, const SpecCall& call) {
  const TensorSpec& x = call.tensor(0);
  const int64_t r = call.attrs[0].as_int();
  check(x.rank() >= 3, "pixel_shuffle expects input to have at least 3 dimensions, but got input with ", x.rank(), " dimension(s)");
  check(r > 0, "pixel_shuffle expects a positive upscale_factor, but got ", r);
  check(x.size(-3) % (r * r) == 0,
        "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but input.size(-3)=",
        x.size(-3), " is not divisible by ", r * r);
  Dims sizes = x.sizes;
  const size_t c = sizes.size() - 3;
  sizes[c] /= r * r;
  sizes[c + 1] *= r;
  sizes[c + 2] *= r;
  return contiguous_like(x, sizes);
}

std::vector<int> decompose_pixel_shuffle(Builder& b, Operands operands, Attrs attrs) {
  const TensorSpec x = b.spec(operands[0].tensor);
  const int64_t r = attrs[0].as_int();
  const size_t batch = x.sizes.size() - 3;
  const int64_t channels = x.size(-3) / (r * r), height = x.size(-2), width = x.size(-1);
  Dims split(IntArrayRef(x.sizes.begin(), batch)), order, sizes = split;
  for (int64_t s : {channels, r, r, height, width}) split.push_back(s);
  for (size_t i = 0; i < batch; ++i) order.push_back(static_cast<int64_t>(i));
  for (int64_t i : {0, 3, 1, 4, 2}) order.push_back(static_cast<int64_t>(batch) + i);
  for (int64_t s : {channels, height * r, width * r}) sizes.push_back(s);
  const int moved = b.call("clone", {b.call("permute", {reshape(b, operands[0].tensor, split)}, {order})}, {true});
  return {b.call("view", {moved}, {sizes})};
}

Specs infer_pixel_unshuffle(const OpDef&, const SpecCall& call) {
  const TensorSpec& x = call.tensor(0);
  const int64_t r = call.attrs[0].as_int();
  check(x.rank() >= 3, "pixel_unshuffle expects input to have at least 3 dimensions, but got input with ", x.rank(), " dimension(s)");
  check(r > 0, "pixel_unshuffle expects a positive downscale_factor, but got ", r);
  check(x.size(-2) % r == 0, "pixel_unshuffle expects height to be divisible by downscale_factor, but input.size(-2)=", x.size(-2),
        " is not divisible by ", r);
  check(x.size(-1) % r == 0, "pixel_unshuffle expects width to be divisible by downscale_factor, but input.size(-1)=", x.size(-1),
        " is not divisible by ", r);
  Dims sizes = x.sizes;
  const size_t c = sizes.size() - 3;
  sizes[c] *= r * r;
  sizes[c + 1] /= r;
  sizes[c + 2] /= r;
  return contiguous_like(x, sizes);
}

std::vector<int> decompose_pixel_unshuffle(Builder& b, Operands operands, Attrs attrs) {
  const TensorSpec x = b.spec(operands[0].tensor);
  const int64_t r = attrs[0].as_int();
  const size_t batch = x.sizes.size() - 3;
  const int64_t channels = x.size(-3), height = x.size(-2) / r, width = x.size(-1) / r;
  Dims split(IntArrayRef(x.sizes.begin(), batch)), order, sizes = split;
  for (int64_t s : {channels, height, r, width, r}) split.push_back(s);
  for (size_t i = 0; i < batch; ++i) order.push_back(static_cast<int64_t>(i));
  for (int64_t i : {0, 2, 4, 1, 3}) order.push_back(static_cast<int64_t>(batch) + i);
  for (int64_t s : {channels * r * r, height, width}) sizes.push_back(s);
  const int moved = b.call("clone", {b.call("permute", {reshape(b, operands[0].tensor, split)}, {order})}, {true});
  return {b.call("view", {moved}, {sizes})};
}

Specs infer_triangle(const OpDef& op, const SpecCall& call) {
  const TensorSpec& x = call.tensor(0);
  check(x.rank() >= 2, op.name, ": input tensor must have at least 2 dimensions");
  return contiguous_like(x, x.sizes);
}

Specs infer_diag(const OpDef&, const SpecCall& call) {
  const TensorSpec& x = call.tensor(0);
  const int64_t diagonal = call.attrs[0].as_int();
  check(x.rank() == 1 || x.rank() == 2, "diag(): Supports 1D or 2D tensors. Got ", x.rank(), "D");
  if (x.rank() == 2) {
    const AttrRef dims[] = {diagonal, 0, 1};
    return contiguous_like(x, find_op("diagonal")->view(x, {dims, 3}).sizes);
  }
  const int64_t size = x.sizes[0] + std::abs(diagonal);
  return contiguous_like(x, {size, size});
}

std::vector<int> decompose_diag(Builder& b, Operands operands, Attrs attrs) {
  const TensorSpec x = b.spec(operands[0].tensor);
  const int64_t diagonal = attrs[0].as_int(), n = x.sizes[0], above = std::max<int64_t>(diagonal, 0),
                below = std::max<int64_t>(-diagonal, 0);
  if (x.rank() == 2) return {b.call("clone", {b.call("diagonal", {operands[0]}, {diagonal, 0, 1})}, {true})};
  const int on_diagonal = b.call("eye", {}, {n, n, kBool});
  const int rows = b.call("expand", {operands[0]}, {Dims{n, n}});
  const int square = b.call("where", {on_diagonal, rows, Scalar(false)});  // a bool promotes to any dtype
  if (diagonal == 0) return {square};
  return {b.call("pad", {square, Scalar(0)}, {Dims{above, below, below, above}, static_cast<int64_t>(PadMode::Constant)})};
}

using Names = std::vector<std::string_view>;

void add(std::string_view name, OpKind kind, Names operands, Names attrs, decltype(OpDef::infer) infer,
         decltype(OpDef::decompose) decompose = nullptr) {
  OpDef def;
  def.name = name;
  def.kind = kind;
  def.operand_names = std::move(operands);
  def.attr_names = std::move(attrs);
  def.infer = infer;
  def.decompose = decompose;
  def.can_fail_on_data = name == "repeat_interleave_tensor";
  register_op(std::move(def));
}

[[maybe_unused]] const bool registered = [] {
  add("clone", OpKind::Movement, {"self"}, {"contiguous"}, infer_clone);
  add("copy_", OpKind::Effect, {"self", "src"}, {}, infer_copy);
  add("fill_", OpKind::Effect, {"self", "value"}, {}, infer_fill);
  add("zero_", OpKind::Effect, {"self"}, {}, infer_write);
  add("cat", OpKind::Movement, {"tensors..."}, {"dim"}, infer_cat);
  add("stack", OpKind::Composite, {"tensors..."}, {"dim"}, infer_stack, decompose_stack);
  add("repeat", OpKind::Movement, {"self"}, {"repeats"}, infer_repeat);
  add("tile", OpKind::Composite, {"self"}, {"dims"}, infer_tile, decompose_tile);
  add("repeat_interleave", OpKind::Movement, {"self"}, {"repeats", "dim"}, infer_repeat_interleave);
  add("repeat_interleave_tensor", OpKind::Movement, {"self", "repeats"}, {"dim", "output_size"}, infer_repeat_interleave_tensor);
  add("flip", OpKind::Movement, {"self"}, {"dims"}, infer_flip);
  add("roll", OpKind::Movement, {"self"}, {"shifts", "dims"}, infer_roll);
  add("pad", OpKind::Movement, {"self", "value"}, {"pad", "mode"}, infer_pad);
  add("pixel_shuffle", OpKind::Composite, {"self"}, {"upscale_factor"}, infer_pixel_shuffle, decompose_pixel_shuffle);
  add("pixel_unshuffle", OpKind::Composite, {"self"}, {"downscale_factor"}, infer_pixel_unshuffle, decompose_pixel_unshuffle);
  add("diag", OpKind::Composite, {"self"}, {"diagonal"}, infer_diag, decompose_diag);
  add("tril", OpKind::Movement, {"self"}, {"diagonal"}, infer_triangle);
  add("triu", OpKind::Movement, {"self"}, {"diagonal"}, infer_triangle);
  return true;
}();

}  // namespace
}  // namespace tailor::ir
