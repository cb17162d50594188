// Random ops. Each draws its part of the generator's stream first: seed and offset are operands.

#include "ir/ops/random.h"

#include "frontend/call.h"
#include "frontend/draw.h"
#include "tailor/ops/creation.h"

namespace tailor {
namespace {

/// Two scalar operands.
struct Draw {
  Scalar seed, offset;
  explicit Draw(int64_t elements) {
    const PhiloxState state = draw_numbers(elements);
    seed = state.seed;
    offset = state.offset;
  }
};

Tensor finish(Tensor made, const TensorOptions& options) {
  if (!options.device().is_cpu()) Storage::allocate(made.nbytes(), options.device());
  if (options.requires_grad()) made.set_requires_grad(true);
  return made;
}

TensorOptions like(const Tensor& self, const TensorOptions& options) {
  return options.dtype(options.dtype_opt().value_or(self.scalar_type())).device(options.device_opt().value_or(self.device()));
}

/// How many numbers a tensor of these sizes takes; nothing for sizes that the op will refuse.
int64_t count(SymIntArrayRef size) {
  uint64_t n = 1;
  for (size_t i = 0; i < size.size(); ++i) n *= static_cast<uint64_t>(size[i].unguarded());  // what is random is not skipped
  return std::max<int64_t>(static_cast<int64_t>(n), 0);
}

}  // namespace

Tensor rand(SymIntArrayRef size, TensorOptions options, Where where) {
  const Draw draw(count(size));
  return finish(call<"rand">(where, operands(where, draw.seed, draw.offset), size, options.dtype(), std::nullopt), options);
}
Tensor randn(SymIntArrayRef size, TensorOptions options, Where where) {
  const Draw draw(count(size));
  return finish(call<"randn">(where, operands(where, draw.seed, draw.offset), size, options.dtype()), options);
}
Tensor randint(int64_t high, IntArrayRef size, TensorOptions options, Where where) { return randint(0, high, size, options, where); }
Tensor randint(int64_t low, int64_t high, IntArrayRef size, TensorOptions options, Where where) {
  const Draw draw(count(size));
  return finish(call<"randint">(where, operands(where, Scalar(low), Scalar(high), draw.seed, draw.offset), size,
                                options.dtype_opt().value_or(kInt64)),
                options);
}
Tensor rand_like(const Tensor& self, TensorOptions options, Where where) { return rand(self.sizes(), like(self, options), where); }
Tensor randn_like(const Tensor& self, TensorOptions options, Where where) { return randn(self.sizes(), like(self, options), where); }
Tensor randint_like(const Tensor& self, int64_t high, TensorOptions options, Where where) {
  return randint(0, high, self.sizes(), like(self, options), where);
}
Tensor randint_like(const Tensor& self, int64_t low, int64_t high, TensorOptions options, Where where) {
  return randint(low, high, self.sizes(), like(self, options), where);
}
Tensor randperm(int64_t n, TensorOptions options, Where where) {
  check_at(where, n >= 0, "randperm: n must be non-negative, got ", n);
  const Draw draw(n);
  return finish(call<"randperm">(where, operands(where, draw.seed, draw.offset), n, options.dtype_opt().value_or(kInt64)), options);
}
Tensor bernoulli(const Tensor& self, Where where) {
  const Draw draw(self.numel());
  return call<"bernoulli">(where, operands(where, self, std::nullopt, draw.seed, draw.offset));
}
Tensor normal(double mean, double std, IntArrayRef size, TensorOptions options, Where where) {
  const Draw draw(count(size));
  return finish(call<"normal">(where, operands(where, Scalar(mean), Scalar(std), draw.seed, draw.offset), size, options.dtype()), options);
}
Tensor normal(const TensorOrScalar& mean, const TensorOrScalar& std, Where where) {
  Dims sizes;
  ScalarType dtype = ScalarType::Undefined;
  for (const TensorOrScalar* x : {&mean, &std}) {
    if (x->tensor() == nullptr) continue;
    sizes = ir::broadcast_shapes(sizes, x->tensor()->sizes());
    if (dtype == ScalarType::Undefined) dtype = x->tensor()->scalar_type();
  }
  if (dtype == ScalarType::Undefined) dtype = get_default_dtype();
  const Draw draw(product(sizes));
  return call<"normal">(where, operands(where, mean, std, draw.seed, draw.offset), sizes, dtype);
}
Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement, Where where) {
  const Draw draw(ir::multinomial_elements(impl_of(self).spec, num_samples));
  return call<"multinomial">(where, operands(where, self, draw.seed, draw.offset), num_samples, replacement);
}
Tensor Tensor::bernoulli(Where where) const { return tailor::bernoulli(*this, where); }
Tensor Tensor::multinomial(int64_t num_samples, bool replacement, Where where) const {
  return tailor::multinomial(*this, num_samples, replacement, where);
}

// In place: the numbers of the creation ops, written over self.
Tensor& Tensor::uniform_(double from, double to, Where where) const {
  check_at(where, from <= to, "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
  const Tensor unit = rand_like(detach(where), {}, where);
  return copy_(from == 0 && to == 1 ? unit : unit.mul(to - from, where).add(from, 1, where), false, where);
}
Tensor& Tensor::normal_(double mean, double std, Where where) const {
  check_at(where, std >= 0, "normal expects std >= 0.0, but found std ", std);
  return copy_(normal(mean, std, sizes(), scalar_type(), where), false, where);
}
Tensor& Tensor::bernoulli_(double p, Where where) const {
  check_at(where, p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  const Draw draw(numel());
  return copy_(call<"bernoulli">(where, operands(where, *this, Scalar(p), draw.seed, draw.offset)), false, where);
}

}  // namespace tailor
