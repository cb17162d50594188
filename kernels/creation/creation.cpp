// empty, full, arange, linspace, eye, tril_indices, triu_indices.

#include "ir/ops/creation.h"

#include <algorithm>

#include "kernels/copy.h"
#include "kernels/movement/piece.h"
#include "kernels/movement/strided.h"

namespace tailor::kernels {
namespace {

void empty(const Call&) {}

void full(const Call& call) { fill(call.outputs[0], call.operands[0].scalar); }

template <class T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

/// Element i of a tensor of one dimension becomes value(i).
template <class T, class F>
void store_each(const TensorArg& out_arg, F value) {
  const Piece out(out_arg);
  const int64_t n = out.spec.numel(), stride = n > 0 ? out.stride_bytes(0) : 0;
  const auto run = [&](int64_t begin, int64_t end) {
    if (stride == sizeof(T)) {
      T* to = reinterpret_cast<T*>(out.data);
      for (int64_t i = begin; i < end; ++i) to[i] = value(i);
    } else {
      for (int64_t i = begin; i < end; ++i) *reinterpret_cast<T*>(out.data + i * stride) = value(i);
    }
  };
  if (n <= kParallelGrain)
    run(0, n);
  else
    parallel_for(0, n, kParallelGrain, run);
}

void arange(const Call& call) {
  const Scalar start = call.operands[0].scalar, step = call.operands[1].scalar;
  visit_dtype(call.outputs[0].spec->dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      const auto first = static_cast<uint64_t>(start.to_int()), by = static_cast<uint64_t>(step.to_int());
      store_each<T>(call.outputs[0], [=](int64_t i) { return static_cast<T>(first + static_cast<uint64_t>(i) * by); });
    } else {
      const double first = start.to_double(), by = step.to_double();
      store_each<T>(call.outputs[0], [=](int64_t i) { return from_double<T>(first + by * static_cast<double>(i)); });
    }
  });
}

void linspace(const Call& call) {
  const double start = call.operands[0].scalar.to_double(), end = call.operands[1].scalar.to_double();
  const int64_t n = call.outputs[0].spec->numel();
  visit_dtype(call.outputs[0].spec->dtype, [&]<class T>() {
    store_each<T>(call.outputs[0], [=](int64_t i) {
      const double value = ir::linspace_element(start, end, n, i);
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        return static_cast<T>(Scalar(value).to_int());
      else
        return from_double<T>(value);
    });
  });
}

void eye(const Call& call) {
  const Piece out(call.outputs[0]);
  fill(out.arg(), Scalar(0));
  const int64_t n = std::min(out.spec.sizes[0], out.spec.sizes[1]);
  fill(out.reshaped({n}, {out.spec.strides[0] + out.spec.strides[1]}).arg(), Scalar(1));
}

template <bool Lower>
void triangle_indices(const Call& call) {
  const Piece out(call.outputs[0]);
  const int64_t rows = call.attrs[0].as_int(), columns = call.attrs[1].as_int(), offset = call.attrs[2].as_int();
  visit_dtype(out.spec.dtype, [&]<class T>() {
    const int64_t stride = out.stride_bytes(1);
    std::byte *row_at = out.data, *column_at = out.data + out.stride_bytes(0);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t split = std::clamp<int64_t>(r + offset + (Lower ? 1 : 0), 0, columns);
      for (int64_t c = Lower ? 0 : split; c < (Lower ? split : columns); ++c, row_at += stride, column_at += stride) {
        *reinterpret_cast<T*>(row_at) = from_double<T>(static_cast<double>(r));
        *reinterpret_cast<T*>(column_at) = from_double<T>(static_cast<double>(c));
      }
    }
  });
}

[[maybe_unused]] const bool registered = [] {
  register_kernel("empty", empty);
  register_kernel("full", full);
  register_kernel("arange", arange);
  register_kernel("linspace", linspace);
  register_kernel("eye", eye);
  register_kernel("tril_indices", triangle_indices<true>);
  register_kernel("triu_indices", triangle_indices<false>);
  return true;
}();

}  // namespace
}  // namespace tailor::kernels
