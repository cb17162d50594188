#include "ir/ops/pooling.h"

#include <algorithm>

namespace tailor::ir {

PoolShape::Window PoolShape::window(int d, int64_t o) const {
  if (adaptive) {
    const int64_t begin = o * in[d] / out[d], end = ((o + 1) * in[d] + out[d] - 1) / out[d];
    return {begin, end, end - begin};
  }
  int64_t begin = o * stride[d] - padding[d];
  if (max) {
    const int64_t end = std::min(begin + (kernel[d] - 1) * dilation[d] + 1, in[d]);
    if (begin < 0) begin += (-begin + dilation[d] - 1) / dilation[d] * dilation[d];
    return {begin, end, end - begin};
  }
  const int64_t end = std::min(begin + kernel[d], in[d] + padding[d]);
  return {std::max<int64_t>(begin, 0), std::min(end, in[d]), end - begin};
}

namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

Dims per_dim(const OpDef& op, const AttrRef& attr, std::string_view name, size_t n, const Dims& otherwise) {
  if (attr.is_none()) return otherwise;
  if (attr.kind == AttrRef::Kind::Int) return Dims(n, attr.as_int());
  const IntArrayRef list = attr.as_ints();
  if (list.empty()) return otherwise;
  check(list.size() == 1 || list.size() == n, op.name, ": ", name, " must either be a single int, or a tuple of ", n, " ints, got ", list);
  return list.size() == 1 ? Dims(n, list[0]) : Dims(list);
}

// Positions of a window that start inside the (left-padded) input; ceil_mode lets the last one hang over.
int64_t output_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil) {
  __int128 span = static_cast<__int128>(in) + 2 * static_cast<__int128>(padding) -
                  static_cast<__int128>(dilation) * (static_cast<__int128>(kernel) - 1) - 1 + (ceil ? stride - 1 : 0);
  __int128 out = (span >= 0 ? span / stride : -((-span + stride - 1) / stride)) + 1;
  if (ceil && (out - 1) * stride >= static_cast<__int128>(in) + padding) --out;
  return static_cast<int64_t>(std::clamp<__int128>(out, INT64_MIN, INT64_MAX));
}

void check_input(const OpDef& op, const TensorSpec& self, size_t dims, bool adaptive) {
  const size_t rank = self.sizes.size();
  if (adaptive) {
    check(rank >= 3, op.name, ": Input dimension should be at least 3");
    check(rank <= 4, op.name, ": Expected 3D or 4D tensor, but got ", self.sizes);
  } else {
    check(rank == dims + 1 || rank == dims + 2, op.name, ": Expected ", dims + 1, "D or ", dims + 2,
          "D (batch mode) tensor expected for input, but got: ", self.sizes);
  }
  bool empty = false;  // only the batch may have no element
  for (size_t d = rank == dims + 2 ? 1 : 0; d < rank; ++d) empty = empty || self.sizes[d] == 0;
  check(!empty, op.name, ": Expected ", dims + 1, "D or ", dims + 2,
        "D (batch mode) tensor with optional 0 dim batch size for input, but got:", self.sizes);
}

void set_windows(const OpDef& op, PoolShape& s, std::span<const AttrRef> attrs, size_t dims) {
  const Dims kernel = per_dim(op, attrs[0], "kernel_size", dims, Dims(dims, 0)), stride = per_dim(op, attrs[1], "stride", dims, kernel),
             padding = per_dim(op, attrs[2], "padding", dims, Dims(dims, 0));
  const Dims dilation = s.max ? per_dim(op, attrs[3], "dilation", dims, Dims(dims, 1)) : Dims(dims, 1);
  const AttrRef& ceil_attr = attrs[s.max ? 4 : 3];
  const bool ceil = !ceil_attr.is_none() && ceil_attr.as_bool();
  if (!s.max) {
    s.count_include_pad = attrs[4].is_none() || attrs[4].as_bool();
    if (attrs.size() > 5 && !attrs[5].is_none()) {
      s.divisor = attrs[5].as_int();
      check(s.divisor != 0, op.name, ": divisor must be not zero");
    }
  }
  for (const int64_t k : kernel) check(k > 0, op.name, ": kernel size should be greater than zero, but got ", kernel);
  for (const int64_t v : stride) {
    check(v != 0, op.name, ": stride should not be zero");
    check(v > 0, op.name, ": stride must be greater than zero, but got ", stride);
  }
  for (const int64_t v : dilation) check(v > 0, op.name, ": dilation must be greater than zero, but got ", dilation);
  for (size_t i = 0; i < dims; ++i) {
    check(padding[i] >= 0, op.name, ": pad must be non-negative, but got pad: ", padding[i]);
    check(padding[i] <= ((kernel[i] - 1) * dilation[i] + 1) / 2, op.name,
          ": pad should be at most half of effective kernel size, but got pad=", padding[i], ", kernel_size=", kernel[i],
          " and dilation=", dilation[i]);
    const size_t to = 2 - dims + i;
    s.kernel[to] = kernel[i];
    s.stride[to] = stride[i];
    s.padding[to] = padding[i];
    s.dilation[to] = dilation[i];
    s.out[to] = output_size(s.in[to], kernel[i], stride[i], padding[i], dilation[i], ceil);
    if (dims == 1) check(s.out[to] > 0, op.name, ": Invalid computed output size: ", s.out[to]);
  }
  check(s.out[0] > 0 && s.out[1] > 0, op.name, ": Given input size: (", s.in[0], "x", s.in[1], "). Calculated output size: (", s.out[0],
        "x", s.out[1], "). Output size is too small");
}

}  // namespace

PoolShape pool_shape(const OpDef& op, const TensorSpec& self, std::span<const AttrRef> attrs) {
  PoolShape s;
  const size_t dims = has(op.name, "1d") ? 1 : 2, rank = self.sizes.size();
  s.max = has(op.name, "max");
  s.adaptive = has(op.name, "adaptive");
  s.indices = has(op.name, "with_indices");
  check_input(op, self, dims, s.adaptive);
  check<NotImplementedError>(self.dtype != kBool, op.name, ": not implemented for 'Bool'");
  check<NotImplementedError>(s.max || !s.adaptive || is_floating_point(self.dtype), op.name, ": not implemented for '", self.dtype, "'");
  for (size_t i = 0; i < dims; ++i) s.in[2 - dims + i] = self.sizes[rank - dims + i];
  s.planes = 1;
  for (size_t d = 0; d + dims < rank; ++d) s.planes *= self.sizes[d];
  if (s.adaptive) {
    const Dims size = attrs[0].kind == AttrRef::Kind::Int ? Dims(2, attrs[0].as_int()) : Dims(attrs[0].as_ints());
    check(size.size() == 2, op.name, ": output_size.size() must be 2, got ", size.size());
    for (size_t i = 0; i < 2; ++i) s.out[i] = size[i] == -1 && !(size[0] == -1 && size[1] == 0) ? s.in[i] : size[i];
    check(s.out[0] >= 0 && s.out[1] >= 0, op.name, ": elements of output_size must be greater than or equal to 0 but received {", size[0],
          ", ", size[1], "}");
  } else {
    set_windows(op, s, attrs, dims);
  }
  for (size_t d = 0; d + dims < rank; ++d) s.out_sizes.push_back(self.sizes[d]);
  for (size_t i = 2 - dims; i < 2; ++i) s.out_sizes.push_back(s.out[i]);
  return s;
}

namespace {

std::vector<TensorSpec> infer_pool(const OpDef& op, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  const PoolShape s = pool_shape(op, self, call.attrs);
  std::vector<TensorSpec> specs{TensorSpec(self.dtype, s.out_sizes, self.device)};
  if (s.indices) specs.emplace_back(kInt64, s.out_sizes, self.device);
  return specs;
}

[[maybe_unused]] const bool registered = [] {
  const auto add = [](std::string_view name, std::vector<std::string_view> attrs) {
    OpDef def;
    def.name = name;
    def.kind = OpKind::Movement;
    def.operand_names = {"self"};
    def.attr_names = std::move(attrs);
    def.infer = infer_pool;
    register_op(std::move(def));
  };
  for (const std::string_view name : {"max_pool1d", "max_pool2d", "max_pool1d_with_indices", "max_pool2d_with_indices"})
    add(name, {"kernel_size", "stride", "padding", "dilation", "ceil_mode"});
  add("avg_pool1d", {"kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"});
  add("avg_pool2d", {"kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"});
  for (const std::string_view name : {"adaptive_avg_pool2d", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices"})
    add(name, {"output_size"});
  return true;
}();

}  // namespace
}  // namespace tailor::ir
