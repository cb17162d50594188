// rand, randint, randperm, bernoulli, dropout, multinomial. The numbers are those of ir/ops/random.h.

#include "ir/ops/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/copy.h"
#include "kernels/creation/dense_output.h"
#include "kernels/creation/uniform.h"

namespace tailor::kernels {

PhiloxWords philox_words() {
  switch (isa()) {
    case Isa::Avx512: return avx512::philox_words;
    case Isa::Avx2: return avx2::philox_words;
    case Isa::Sse2: break;
  }
  return sse2::philox_words;
}

namespace {

PhiloxState state_of(const Call& call, size_t seed) {
  return {call.operands[seed].scalar.to_int(), call.operands[seed + 1].scalar.to_int()};
}

template <class F>
void visit_float(ScalarType type, F&& f) {
  switch (type) {
    case kFloat64: return f.template operator()<double>();
    case kFloat16: return f.template operator()<Half>();
    case kBFloat16: return f.template operator()<BFloat16>();
    default: return f.template operator()<float>();
  }
}

void rand(const Call& call) {
  const DenseOutput out(call.outputs[0]);
  const auto stream = static_cast<uint32_t>(call.attrs.size() > 2 && !call.attrs[2].is_none() ? call.attrs[2].as_int() : 0);
  visit_float(out.piece().spec.dtype, [&]<class T>() {
    T* to = reinterpret_cast<T*>(out.piece().data);
    for_uniform<T>(state_of(call, 0), stream, out.piece().spec.numel(), [&](int64_t first, int64_t count, const T* values) {
      std::memcpy(static_cast<void*>(to + first), values, static_cast<size_t>(count) * sizeof(T));
    });
  });
  out.finish();
}

/// Stores integers of whatever size as elements of the result.
template <class F>
void store_ints(const TensorArg& out_arg, F value) {
  const DenseOutput out(out_arg);
  visit_dtype(out_arg.spec->dtype, [&]<class T>() {
    T* to = reinterpret_cast<T*>(out.piece().data);
    for (int64_t i = 0, n = out_arg.spec->numel(); i < n; ++i) {
      if constexpr (std::is_same_v<T, bool>)
        to[i] = value(i) != 0;
      else if constexpr (std::is_integral_v<T>)
        to[i] = static_cast<T>(value(i));
      else if constexpr (std::is_same_v<T, double>)
        to[i] = static_cast<double>(value(i));
      else
        to[i] = T(static_cast<float>(static_cast<double>(value(i))));
    }
  });
  out.finish();
}

void randint(const Call& call) {
  const int64_t low = call.operands[0].scalar.to_int(), high = call.operands[1].scalar.to_int();
  check(low < high, "random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high);
  const PhiloxState state = state_of(call, 2);
  const PhiloxWords words_of = philox_words();
  uint32_t words[64];
  store_ints(call.outputs[0], [&](int64_t i) {
    if (i % 32 == 0) words_of(state, 0, i / 32, 1, words);
    const int64_t at = (i >> 4 & 1) * 32 + (i & 15);
    return ir::uniform_int(uint64_t{words[at]} << 32 | words[at + 16], low, high);
  });
}

void randperm(const Call& call) {
  const int64_t n = call.outputs[0].spec->numel();
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  const PhiloxState state = state_of(call, 0);
  for (int64_t i = n - 1; i > 0; --i)
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(ir::uniform_int(ir::random_bits64(state, i), 0, i + 1))]);
  store_ints(call.outputs[0], [&](int64_t i) { return order[static_cast<size_t>(i)]; });
}

/// Probabilities as contiguous numbers of type P.
template <class P>
std::vector<P> read_probabilities(const TensorArg& self) {
  const ir::TensorSpec dense(scalar_type_of<P>, self.spec->sizes, self.spec->device);
  std::vector<P> values(static_cast<size_t>(dense.numel()));
  copy({values.data(), &dense}, self);
  return values;
}

template <class P>
void bernoulli_as(const Call& call) {
  const TensorArg& out = call.outputs[0];
  const int64_t n = out.spec->numel();
  const bool given = call.operands[1].is_scalar();
  const double p = given ? call.operands[1].scalar.to_double() : 0;
  check(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  const std::vector<P> probabilities = given ? std::vector<P>() : read_probabilities<P>(call.tensor(0));
  for (P q : probabilities) check(q >= 0 && q <= 1, "bernoulli: expected probabilities in [0, 1], but got ", q);
  std::vector<uint8_t> drawn(static_cast<size_t>(n));
  for_uniform<P>(state_of(call, 2), 0, n, [&](int64_t first, int64_t count, const P* u) {
    uint8_t* to = drawn.data() + first;
    if (given)
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<double>(u[i]) < p;
    else
      for (int64_t i = 0; i < count; ++i) to[i] = u[i] < probabilities[static_cast<size_t>(first + i)];
  });
  const ir::TensorSpec dense(kBool, out.spec->sizes, out.spec->device);
  copy(out, {drawn.data(), &dense});
}

void bernoulli(const Call& call) {
  if (call.operands[1].is_none() && call.tensor(0).spec->dtype == kFloat64)
    bernoulli_as<double>(call);
  else
    bernoulli_as<float>(call);
}

/// 32 elements; the result may be the memory of `from`.
template <class T, class U>
void drop_block(const T* from, const U* __restrict u, U p, U scale, T* to) {
  U x[32];
  for (int i = 0; i < 32; ++i) x[i] = static_cast<U>(from[i]);
  for (int i = 0; i < 32; ++i) x[i] = u[i] >= p ? x[i] * scale : U(0);
  for (int i = 0; i < 32; ++i) to[i] = T(x[i]);
}

/// The same bits as the op's decomposition: where(rand >= p, self * scale, 0).
template <class T, class U>
void dropout_as(const Call& call) {
  const int64_t n = call.outputs[0].spec->numel();
  const U p = call.operands[1].scalar.to<U>(), scale = call.operands[2].scalar.to<U>();
  const T* from = call.tensor(0).as<T>();
  T* to = call.outputs[0].as<T>();
  for_uniform<U>(state_of(call, 3), 0, n, [&](int64_t first, int64_t count, const U* u) {
    int64_t i = 0;
    for (; i + 32 <= count; i += 32) drop_block<T, U>(from + first + i, u + i, p, scale, to + first + i);
    for (; i < count; ++i) to[first + i] = u[i] >= p ? T(static_cast<U>(from[first + i]) * scale) : T(U(0));
  });
}

void dropout(const Call& call) {
  const TensorArg& out = call.outputs[0];
  if (!call.tensor(0).spec->is_contiguous() || !out.spec->is_contiguous()) {
    // Through dense memory: numbers belong to elements in row-major order.
    const ir::TensorSpec dense(out.spec->dtype, out.spec->sizes, out.spec->device);
    std::vector<std::byte> memory(static_cast<size_t>(dense.numel() * element_size(dense.dtype)));
    const TensorArg whole{memory.data(), &dense};
    copy(whole, call.tensor(0));
    std::vector<Operand> operands(call.operands.begin(), call.operands.end());
    operands[0] = Operand(whole);
    dropout(Call{call.op, operands, call.attrs, {&whole, 1}});
    return copy(out, whole);
  }
  switch (out.spec->dtype) {
    case kFloat64: return dropout_as<double, double>(call);
    case kFloat16: return dropout_as<Half, float>(call);
    case kBFloat16: return dropout_as<BFloat16, float>(call);
    default: return dropout_as<float, float>(call);
  }
}

void multinomial(const Call& call) {
  const std::vector<double> all = read_probabilities<double>(call.tensor(0));
  const int64_t categories = call.tensor(0).spec->size(-1), samples = call.attrs[0].as_int();
  const int64_t rows = call.tensor(0).spec->rank() == 2 ? call.tensor(0).spec->sizes[0] : 1;
  const bool replacement = call.attrs[1].as_bool();
  const PhiloxState state = state_of(call, 1);
  std::vector<int64_t> chosen(static_cast<size_t>(rows * samples));
  std::vector<double> sums(static_cast<size_t>(categories));
  for (int64_t r = 0; r < rows; ++r) {
    std::vector<double> p(all.begin() + r * categories, all.begin() + (r + 1) * categories);
    for (double q : p)
      check(std::isfinite(q) && q >= 0, replacement
                                            ? "invalid multinomial distribution (encountering probability entry < 0, infinity or NaN)"
                                            : "probability tensor contains either `inf`, `nan` or element < 0");
    std::partial_sum(p.begin(), p.end(), sums.begin());
    check(categories > 0 && sums.back() > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
    for (int64_t s = 0; s < samples; ++s) {
      if (!replacement && s > 0) std::partial_sum(p.begin(), p.end(), sums.begin());
      check(sums.back() > 0, "invalid multinomial distribution (with replacement=False, not enough non-negative category to sample)");
      const double target = ir::uniform_double(ir::random_bits64(state, r * samples + s)) * sums.back();
      auto at = std::upper_bound(sums.begin(), sums.end(), target) - sums.begin();
      if (at == categories) --at;
      while (p[static_cast<size_t>(at)] == 0) --at;  // rounding took the target to the total: the last that is possible
      if (!replacement) p[static_cast<size_t>(at)] = 0;
      chosen[static_cast<size_t>(r * samples + s)] = at;
    }
  }
  store_ints(call.outputs[0], [&](int64_t i) { return chosen[static_cast<size_t>(i)]; });
}

[[maybe_unused]] const bool registered = [] {
  register_kernel("rand", rand);
  register_kernel("randint", randint);
  register_kernel("randperm", randperm);
  register_kernel("bernoulli", bernoulli);
  register_kernel("dropout", dropout);
  register_kernel("multinomial", multinomial);
  return true;
}();

}  // namespace
}  // namespace tailor::kernels
