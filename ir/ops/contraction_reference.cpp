// Matrix products in the obvious way: float64 or wrapping int64 sums.
#include "ir/ops/contraction.h"
#include "ir/reference.h"

namespace tailor::ir {
namespace {

using Result = std::vector<HostTensor>;

struct Factor {
  const HostTensor& tensor;
  int64_t start, row, column;
};

// out[start + i * n + j] = sum_k a[i, k] * b[k, j] + bias
template <class Bias>
void multiply(HostTensor& out, int64_t start, Factor a, Factor b, int64_t m, int64_t n, int64_t k, Bias&& bias) {
  const bool floating = is_floating_point(out.spec.dtype);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      if (floating) {
        double sum = 0;
        for (int64_t p = 0; p < k; ++p)
          sum += a.tensor.get(a.start + i * a.row + p * a.column) * b.tensor.get(b.start + p * b.row + j * b.column);
        out.set(start + i * n + j, sum + bias(i, j));
      } else {
        uint64_t sum = static_cast<uint64_t>(static_cast<int64_t>(bias(i, j)));
        for (int64_t p = 0; p < k; ++p)
          sum += static_cast<uint64_t>(a.tensor.get_int(a.start + i * a.row + p * a.column)) *
                 static_cast<uint64_t>(b.tensor.get_int(b.start + p * b.row + j * b.column));
        out.set_int(start + i * n + j, static_cast<int64_t>(sum));
      }
    }
}

// Leading dims broadcast.
Result reference_product(const ReferenceCall& call) {
  const HostTensor &a = call.tensor(0), &b = call.tensor(1);
  HostTensor out(call.output_specs[0]);
  const Dims &as = a.spec.sizes, &bs = b.spec.sizes, &os = out.spec.sizes;
  const size_t rank = os.size();
  const int64_t m = os[rank - 2], n = os[rank - 1], k = as[rank - 1];
  const int64_t batches = product(IntArrayRef(os.begin(), rank - 2));
  for (int64_t batch = 0; batch < batches; ++batch) {
    int64_t rest = batch, a_start = 0, b_start = 0, a_stride = m * k, b_stride = k * n;
    for (size_t d = rank - 2; d-- > 0; rest /= os[d]) {
      const int64_t at = rest % os[d];
      a_start += (as[d] == 1 ? 0 : at) * a_stride;
      b_start += (bs[d] == 1 ? 0 : at) * b_stride;
      a_stride *= as[d];
      b_stride *= bs[d];
    }
    multiply(out, batch * m * n, {a, a_start, k, 1}, {b, b_start, n, 1}, m, n, k, [](int64_t, int64_t) { return 0.0; });
  }
  return {std::move(out)};
}

Result reference_linear(const ReferenceCall& call) {
  const HostTensor &x = call.tensor(0), &w = call.tensor(1);
  HostTensor out(call.output_specs[0]);
  const int64_t k = x.spec.sizes.back(), n = w.spec.rank() == 2 ? w.spec.sizes[0] : 1, m = n == 0 ? 0 : out.spec.numel() / n;
  const HostTensor* bias = call.has_tensor(2) ? &call.tensor(2) : nullptr;
  // The bias broadcasts against the whole output.
  const auto bias_at = [&](int64_t i, int64_t j) {
    if (bias == nullptr) return 0.0;
    const Dims &from = bias->spec.sizes, &to = out.spec.sizes;
    int64_t flat = i * n + j, at = 0, stride = 1;
    for (size_t d = to.size(), e = from.size(); e-- > 0;) {
      --d;
      at += (from[e] == 1 ? 0 : flat % to[d]) * stride;
      flat /= to[d];
      stride *= from[e];
    }
    return is_floating_point(bias->spec.dtype) ? bias->get(at) : static_cast<double>(bias->get_int(at));
  };
  multiply(out, 0, {x, 0, k, 1}, {w, 0, 1, k}, m, n, k, bias_at);
  return {std::move(out)};
}

[[maybe_unused]] const bool registered = [] {
  for (std::string_view name : {"mm", "bmm", "batched_mm"}) register_reference(name, reference_product);
  register_reference("linear", reference_linear);
  return true;
}();

}  // namespace
}  // namespace tailor::ir
