#include "ir/ops/creation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/builder.h"
#include "ir/ops/host_elements.h"

namespace tailor::ir {

int64_t arange_size(Scalar start, Scalar end, Scalar step, ScalarType dtype) {
  if (dtype == kInt64) {
    const int64_t from = start.to_int(), to = end.to_int(), by = step.to_int();
    check(by != 0, "step must be nonzero");
    for (const Scalar& s : {start, end})
      check(std::isfinite(s.to_double()), "unsupported range: ", start.to_double(), " -> ", end.to_double());
    check(by > 0 ? to >= from : to <= from, "upper bound and lower bound inconsistent with step sign");
    // The distance fits an unsigned number whatever the bounds are.
    const uint64_t distance =
        by > 0 ? static_cast<uint64_t>(to) - static_cast<uint64_t>(from) : static_cast<uint64_t>(from) - static_cast<uint64_t>(to);
    const uint64_t stride = by > 0 ? static_cast<uint64_t>(by) : -static_cast<uint64_t>(by);
    const uint64_t size = distance / stride + (distance % stride != 0);
    check(size <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()), "invalid size, possible overflow?");
    return static_cast<int64_t>(size);
  }
  const double from = start.to_double(), to = end.to_double(), by = step.to_double();
  check(by > 0 || by < 0, "step must be nonzero");
  check(std::isfinite(from) && std::isfinite(to), "unsupported range: ", from, " -> ", to);
  check((by > 0 && to >= from) || (by < 0 && to <= from), "upper bound and lower bound inconsistent with step sign");
  const double size = std::ceil((to - from) / by);
  check(size >= 0 && size < 9223372036854775808.0, "invalid size, possible overflow?");
  return static_cast<int64_t>(size);
}

void check_sizes(IntArrayRef sizes) {
  for (int64_t s : sizes) check(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", sizes);
}

int64_t triangle_size(int64_t rows, int64_t columns, int64_t offset, bool lower) {
  int64_t count = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t below = std::clamp<int64_t>(r + offset + (lower ? 1 : 0), 0, columns);
    count += lower ? below : columns - below;
  }
  return count;
}

int64_t arange_int(Scalar start, Scalar step, int64_t i) {
  return static_cast<int64_t>(static_cast<uint64_t>(start.to_int()) + static_cast<uint64_t>(i) * static_cast<uint64_t>(step.to_int()));
}

double arange_float(Scalar start, Scalar step, int64_t i) { return start.to_double() + step.to_double() * static_cast<double>(i); }

double linspace_element(double start, double end, int64_t steps, int64_t i) {
  if (steps == 1) return start;
  const double step = (end - start) / static_cast<double>(steps - 1);
  return i < steps / 2 ? start + step * static_cast<double>(i) : end - step * static_cast<double>(steps - 1 - i);
}

namespace {

using Specs = std::vector<TensorSpec>;
using Attrs = std::span<const AttrRef>;

Specs created(Attrs attrs) {
  const IntArrayRef sizes = attrs[0].as_ints();
  check_sizes(sizes);
  TensorSpec spec(attrs[1].as_dtype(), sizes);
  if (attrs.size() > 2 && !attrs[2].is_none()) {
    spec.strides = attrs[2].as_ints();
    check(spec.strides.size() == spec.sizes.size(), "empty: mismatch in length of strides and shape");
    check(spec.is_non_overlapping_and_dense(), "empty: strides ", spec.strides, " leave gaps in a tensor of sizes ", spec.sizes);
  }
  return {spec};
}

Specs infer_created(const OpDef&, const SpecCall& call) { return created(call.attrs); }

Specs infer_plain(const OpDef&, const SpecCall& call) { return created(call.attrs.subspan(0, 2)); }

Specs infer_counted(const OpDef& op, const SpecCall& call) {
  const int64_t size = call.attrs[0].as_int();
  check(size >= 0, op.name == "linspace" ? "number of steps must be non-negative" : "arange: size must be non-negative");
  return {TensorSpec(call.attrs[1].as_dtype(), {size})};
}

Specs infer_eye(const OpDef&, const SpecCall& call) {
  const int64_t n = call.attrs[0].as_int(), m = call.attrs[1].is_none() ? n : call.attrs[1].as_int();
  check(n >= 0, "n must be greater or equal to 0, got ", n);
  check(m >= 0, "m must be greater or equal to 0, got ", m);
  return {TensorSpec(call.attrs[2].as_dtype(), {n, m})};
}

Specs infer_triangle_indices(const OpDef& op, const SpecCall& call) {
  const int64_t rows = call.attrs[0].as_int(), columns = call.attrs[1].as_int();
  check(rows >= 0, "row must be non-negative, got", rows);
  check(columns >= 0, "col must be non-negative, got", columns);
  return {TensorSpec(call.attrs[3].as_dtype(), {2, triangle_size(rows, columns, call.attrs[2].as_int(), op.name == "tril_indices")})};
}

template <int Value>
std::vector<int> decompose_full(Builder& b, std::span<const tailor::ir::Value>, Attrs attrs) {
  return {b.call("full", {Scalar(Value)}, {attrs[0], attrs[1]})};
}

// ---- reference ----------------------------------------------------------------------------------------------------

std::vector<HostTensor> reference_empty(const ReferenceCall& call) { return {HostTensor(call.output_specs[0])}; }

std::vector<HostTensor> reference_full(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  for (int64_t i = 0; i < out.spec.numel(); ++i) set_scalar(out, i, call.operands[0].scalar);
  return {out};
}

std::vector<HostTensor> reference_arange(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  const Scalar start = call.operands[0].scalar, step = call.operands[1].scalar;
  for (int64_t i = 0; i < out.spec.numel(); ++i) {
    if (is_floating_point(out.spec.dtype))
      out.set(i, arange_float(start, step, i));
    else
      out.set_int(i, arange_int(start, step, i));
  }
  return {out};
}

std::vector<HostTensor> reference_linspace(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  const int64_t n = out.spec.numel();
  const double start = call.operands[0].scalar.to_double(), end = call.operands[1].scalar.to_double();
  for (int64_t i = 0; i < n; ++i) set_scalar(out, i, Scalar(linspace_element(start, end, n, i)));
  return {out};
}

std::vector<HostTensor> reference_eye(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  const int64_t rows = out.spec.sizes[0], columns = out.spec.sizes[1];
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) out.set_int(r * columns + c, r == c);
  return {out};
}

std::vector<HostTensor> reference_triangle_indices(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  const bool lower = call.op.name == "tril_indices";
  const int64_t rows = call.attrs[0].as_int(), columns = call.attrs[1].as_int(), offset = call.attrs[2].as_int(), n = out.spec.sizes[1];
  int64_t at = 0;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      if (lower ? c - r > offset : c - r < offset) continue;
      out.set_int(at, r);
      out.set_int(n + at++, c);
    }
  return {out};
}

using Names = std::vector<std::string_view>;

[[maybe_unused]] const bool registered = [] {
  const auto add = [](std::string_view name, Names operands, Names attrs, decltype(OpDef::infer) infer, ReferenceFn reference,
                      decltype(OpDef::decompose) decompose = nullptr) {
    OpDef def;
    def.name = name;
    def.kind = decompose ? OpKind::Composite : OpKind::Creation;
    def.operand_names = std::move(operands);
    def.attr_names = std::move(attrs);
    def.infer = infer;
    def.decompose = decompose;
    register_op(std::move(def));
    if (reference) register_reference(name, reference);
  };
  add("empty", {}, {"size", "dtype", "stride"}, infer_created, reference_empty);
  add("full", {"value"}, {"size", "dtype", "stride"}, infer_created, reference_full);
  add("zeros", {}, {"size", "dtype"}, infer_plain, nullptr, decompose_full<0>);
  add("ones", {}, {"size", "dtype"}, infer_plain, nullptr, decompose_full<1>);
  add("arange", {"start", "step"}, {"size", "dtype"}, infer_counted, reference_arange);
  add("linspace", {"start", "end"}, {"steps", "dtype"}, infer_counted, reference_linspace);
  add("eye", {}, {"n", "m", "dtype"}, infer_eye, reference_eye);
  add("tril_indices", {}, {"row", "col", "offset", "dtype"}, infer_triangle_indices, reference_triangle_indices);
  add("triu_indices", {}, {"row", "col", "offset", "dtype"}, infer_triangle_indices, reference_triangle_indices);
  return true;
}();

}  // namespace
}  // namespace tailor::ir
