#include "ir/ops/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "ir/builder.h"
#include "ir/ops/creation.h"
#include "ir/ops/movement.h"
#include "ir/reference.h"

namespace tailor::ir {

double dropout_scale(double p) {
  check(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
  return p == 1 ? 0 : 1 / (1 - p);
}

int64_t multinomial_elements(const TensorSpec& probabilities, int64_t num_samples) {
  const int64_t rows = probabilities.rank() == 2 ? probabilities.sizes[0] : 1;
  return rows * std::max<int64_t>(num_samples, 1);
}

namespace {

using Specs = std::vector<TensorSpec>;
using Attrs = std::span<const AttrRef>;
using Operands = std::span<const Value>;

Specs infer_float(const OpDef& op, const SpecCall& call) {
  const ScalarType dtype = call.attrs[1].as_dtype();
  check(is_floating_point(dtype), op.name, ": expected a floating point dtype, got ", dtype);
  check_sizes(call.attrs[0].as_ints());
  return {TensorSpec(dtype, call.attrs[0].as_ints())};
}

Specs infer_randint(const OpDef&, const SpecCall& call) {
  check_sizes(call.attrs[0].as_ints());
  if (call.operands[0].is_scalar() && call.operands[1].is_scalar()) {
    const int64_t low = call.operands[0].scalar.to_int(), high = call.operands[1].scalar.to_int();
    check(low < high, "random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high);
  }
  return {TensorSpec(call.attrs[1].as_dtype(), call.attrs[0].as_ints())};
}

Specs infer_randperm(const OpDef&, const SpecCall& call) {
  const int64_t n = call.attrs[0].as_int();
  check_sizes({n});
  return {TensorSpec(call.attrs[1].as_dtype(), {n})};
}

Specs infer_bernoulli(const OpDef&, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  if (call.operands[1].is_none())
    check(is_floating_point(self.dtype), "bernoulli: expected floating point probabilities, got ", self.dtype);
  if (call.operands[1].is_scalar()) {
    const double p = call.operands[1].scalar.to_double();
    check(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  }
  return {TensorSpec(self.dtype, self.sizes, self.device)};
}

Specs infer_normal(const OpDef& op, const SpecCall& call) {
  if (call.operands[1].is_scalar()) {
    const double std = call.operands[1].scalar.to_double();
    check(std >= 0, "normal expects std >= 0.0, but found std ", std);
  }
  return infer_float(op, call);
}

Specs infer_multinomial(const OpDef&, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  const int64_t samples = call.attrs[0].as_int();
  check(self.rank() == 1 || self.rank() == 2, "prob_dist must be 1 or 2 dim");
  check(is_floating_point(self.dtype), "multinomial only supports floating-point dtypes for input, got: ", self.dtype);
  check(samples > 0, "cannot sample n_sample <= 0 samples");
  check(call.attrs[1].as_bool() || samples <= self.size(-1), "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  check(self.size(-1) <= int64_t{1} << 24, "number of categories cannot exceed 2^24");
  return {TensorSpec(kInt64, self.rank() == 1 ? Dims{samples} : Dims{self.sizes[0], samples}, self.device)};
}

Specs infer_dropout(const OpDef&, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  check(is_floating_point(self.dtype), "dropout: expected a floating point tensor, got ", self.dtype);
  if (call.operands[1].is_scalar()) dropout_scale(call.operands[1].scalar.to_double());
  // The strides of where(kept, self * scale, 0), as the decomposition has it.
  const TensorSpec kept(kBool, self.sizes, self.device), scaled(self.dtype, self.sizes, preserved_strides(self), self.device);
  const TensorSpec* parts[] = {&kept, &scaled};
  return {TensorSpec(self.dtype, self.sizes, pointwise_output_strides(self.sizes, parts), self.device)};
}

int convert(Builder& b, int value, ScalarType dtype) { return b.spec(value).dtype == dtype ? value : b.call("to", {value}, {dtype}); }

int standard_normal(Builder& b, const Value& seed, const Value& offset, IntArrayRef sizes, ScalarType dtype) {
  const int u0 = b.call("rand", {seed, offset}, {sizes, dtype, 0}), u1 = b.call("rand", {seed, offset}, {sizes, dtype, 1});
  const int radius = b.call("sqrt", {b.call("mul", {b.call("log1p", {b.call("neg", {u0})}), Scalar(-2.0)})});
  return b.call("mul", {radius, b.call("cos", {b.call("mul", {u1, Scalar(2 * std::numbers::pi)})})});
}

std::vector<int> decompose_randn(Builder& b, Operands operands, Attrs attrs) {
  const ScalarType dtype = attrs[1].as_dtype();
  return {convert(b, standard_normal(b, operands[0], operands[1], attrs[0].as_ints(), compute_type(dtype)), dtype)};
}

std::vector<int> decompose_normal(Builder& b, Operands operands, Attrs attrs) {
  const ScalarType dtype = attrs[1].as_dtype();
  const int z = b.call("randn", {operands[2], operands[3]}, {attrs[0], compute_type(dtype)});
  const int scaled = b.call("mul", {z, operands[1]});
  return {convert(b, b.call("add", {scaled, operands[0], Scalar(1)}), dtype)};
}

std::vector<int> decompose_dropout(Builder& b, Operands operands, Attrs) {
  const TensorSpec self = b.spec(operands[0].tensor);
  const int u = b.call("rand", {operands[3], operands[4]}, {self.sizes, self.dtype == kFloat64 ? kFloat64 : kFloat32, 0});
  const int kept = b.call("ge", {u, operands[1]});
  // Not a product with the mask: what is dropped is 0 even where self is infinite or NaN.
  return {b.call("where", {kept, b.call("mul", {operands[0], operands[2]}), Scalar(0.0)})};
}

// ---- reference ----------------------------------------------------------------------------------------------------

PhiloxState state_of(const ReferenceCall& call, size_t seed) {
  return {call.operands[seed].scalar.to_int(), call.operands[seed + 1].scalar.to_int()};
}

double uniform(ScalarType dtype, PhiloxState state, int64_t i, uint32_t stream) {
  switch (dtype) {
    case kFloat64: return uniform_double(random_bits64(state, i, stream));
    case kFloat16: return uniform_half(random_bits32(state, i, stream));
    case kBFloat16: return uniform_bfloat16(random_bits32(state, i, stream));
    default: return uniform_float(random_bits32(state, i, stream));
  }
}

std::vector<HostTensor> reference_rand(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  const auto stream = static_cast<uint32_t>(call.attrs.size() > 2 && !call.attrs[2].is_none() ? call.attrs[2].as_int() : 0);
  for (int64_t i = 0; i < out.spec.numel(); ++i) out.set(i, uniform(out.spec.dtype, state_of(call, 0), i, stream));
  return {out};
}

std::vector<HostTensor> reference_randint(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  const int64_t low = call.operands[0].scalar.to_int(), high = call.operands[1].scalar.to_int();
  check(low < high, "random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high);
  for (int64_t i = 0; i < out.spec.numel(); ++i) {
    const int64_t value = uniform_int(random_bits64(state_of(call, 2), i), low, high);
    if (is_floating_point(out.spec.dtype))
      out.set(i, static_cast<double>(value));
    else
      out.set_int(i, value);
  }
  return {out};
}

std::vector<HostTensor> reference_randperm(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  const int64_t n = out.spec.numel();
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = n - 1; i > 0; --i)
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(uniform_int(random_bits64(state_of(call, 0), i), 0, i + 1))]);
  for (int64_t i = 0; i < n; ++i) {
    if (is_floating_point(out.spec.dtype))
      out.set(i, static_cast<double>(order[static_cast<size_t>(i)]));
    else
      out.set_int(i, order[static_cast<size_t>(i)]);
  }
  return {out};
}

std::vector<HostTensor> reference_bernoulli(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  const HostTensor& self = call.tensor(0);
  const bool given = !call.operands[1].is_none();
  const ScalarType uniform_type = !given && self.spec.dtype == kFloat64 ? kFloat64 : kFloat32;
  for (int64_t i = 0; i < out.spec.numel(); ++i) {
    const double p = given ? call.operands[1].scalar.to_double() : self.get(i);
    check(p >= 0 && p <= 1, "bernoulli: expected probabilities in [0, 1], but got ", p);
    out.set_int(i, uniform(uniform_type, state_of(call, 2), i, 0) < p);
  }
  return {out};
}

std::vector<HostTensor> reference_multinomial(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  const HostTensor& self = call.tensor(0);
  const int64_t categories = self.spec.size(-1), samples = call.attrs[0].as_int(), rows = self.spec.rank() == 2 ? self.spec.sizes[0] : 1;
  const bool replacement = call.attrs[1].as_bool();
  for (int64_t r = 0; r < rows; ++r) {
    std::vector<double> p(static_cast<size_t>(categories));
    for (int64_t c = 0; c < categories; ++c) {
      p[static_cast<size_t>(c)] = self.get(r * categories + c);
      check(std::isfinite(p[static_cast<size_t>(c)]) && p[static_cast<size_t>(c)] >= 0,
            replacement ? "invalid multinomial distribution (encountering probability entry < 0, infinity or NaN)"
                        : "probability tensor contains either `inf`, `nan` or element < 0");
    }
    double left = std::accumulate(p.begin(), p.end(), 0.0);
    check(left > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
    for (int64_t s = 0; s < samples; ++s) {
      if (!replacement) left = std::accumulate(p.begin(), p.end(), 0.0);
      check(left > 0, "invalid multinomial distribution (with replacement=False, not enough non-negative category to sample)");
      const double target = uniform_double(random_bits64(state_of(call, 1), r * samples + s)) * left;
      double sum = 0;
      int64_t chosen = -1;
      for (int64_t c = 0; c < categories; ++c) {
        if (p[static_cast<size_t>(c)] == 0) continue;
        sum += p[static_cast<size_t>(c)];
        chosen = c;
        if (target < sum) break;
      }
      if (!replacement) p[static_cast<size_t>(chosen)] = 0;
      out.set_int(r * samples + s, chosen);
    }
  }
  return {out};
}

using Names = std::vector<std::string_view>;

[[maybe_unused]] const bool registered = [] {
  const auto add = [](std::string_view name, Names operands, Names attrs, decltype(OpDef::infer) infer, ReferenceFn reference,
                      decltype(OpDef::decompose) decompose = nullptr) {
    OpDef def;
    def.name = name;
    def.kind = decompose ? OpKind::Composite : OpKind::Random;
    def.operand_names = std::move(operands);
    def.attr_names = std::move(attrs);
    def.infer = infer;
    def.decompose = decompose;
    def.can_fail_on_data = name == "bernoulli" || name == "multinomial" || name == "randint";
    register_op(std::move(def));
    if (reference) register_reference(name, reference);
  };
  add("rand", {"seed", "offset"}, {"size", "dtype", "stream"}, infer_float, reference_rand);
  add("randn", {"seed", "offset"}, {"size", "dtype"}, infer_float, nullptr, decompose_randn);
  add("randint", {"low", "high", "seed", "offset"}, {"size", "dtype"}, infer_randint, reference_randint);
  add("randperm", {"seed", "offset"}, {"n", "dtype"}, infer_randperm, reference_randperm);
  add("bernoulli", {"self", "p", "seed", "offset"}, {}, infer_bernoulli, reference_bernoulli);
  add("normal", {"mean", "std", "seed", "offset"}, {"size", "dtype"}, infer_normal, nullptr, decompose_normal);
  add("multinomial", {"self", "seed", "offset"}, {"num_samples", "replacement"}, infer_multinomial, reference_multinomial);
  add("dropout", {"self", "p", "scale", "seed", "offset"}, {}, infer_dropout, nullptr, decompose_dropout);
  return true;
}();

}  // namespace
}  // namespace tailor::ir
