// nonzero, masked_select, one_hot, and the sizes that depend on data.

#include <atomic>

#include "kernels/copy.h"
#include "kernels/indexing/offsets.h"
#include "kernels/sizes.h"

namespace tailor::kernels {
namespace {

template <class T>
bool is_nonzero(const std::byte* at) {
  if constexpr (std::is_same_v<T, bool>)
    return *reinterpret_cast<const uint8_t*>(at) != 0;
  else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return (reinterpret_cast<const T*>(at)->bits & 0x7fffu) != 0;
  else
    return *reinterpret_cast<const T*>(at) != 0;
}

Walk<1> walk_of(const Piece& piece) {
  Walk<1> walk;
  for (size_t d = 0; d < piece.spec.sizes.size(); ++d) walk.push(piece.spec.sizes[d], {piece.stride_bytes(d)});
  return walk;
}

void nonzero(const Call& call) {
  const Piece self(call.tensor(0)), out(call.outputs[0]);
  const int64_t count = call.attrs[0].as_int();
  check(nonzero_count(call.tensor(0)) == count, "nonzero: the data has ", nonzero_count(call.tensor(0)),
        " elements that are not zero, not ", count);
  const size_t rank = self.spec.sizes.size();
  if (count == 0 || rank == 0) return;
  const int64_t row_stride = out.stride_bytes(0), column_stride = out.stride_bytes(1);
  const Walk<1> walk = walk_of(self);  // not merged: rows along the last dimension
  const int64_t stride = walk.inner_stride(0);
  visit_dtype(self.spec.dtype, [&]<class T>() {
    Dims at(rank - 1, 0);
    std::byte* to = out.data;
    walk_range(walk, 0, walk.numel(), {}, [&](const std::array<int64_t, 1>& offset, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        if (!is_nonzero<T>(self.data + offset[0] + i * stride)) continue;
        for (size_t d = 0; d + 1 < rank; ++d) *reinterpret_cast<int64_t*>(to + static_cast<int64_t>(d) * column_stride) = at[d];
        *reinterpret_cast<int64_t*>(to + static_cast<int64_t>(rank - 1) * column_stride) = i;
        to += row_stride;
      }
      for (size_t d = rank - 1; d-- > 0;) {
        if (++at[d] < self.spec.sizes[d]) break;
        at[d] = 0;
      }
    });
  });
}

void masked_select(const Call& call) {
  const Piece self(call.tensor(0)), mask(call.tensor(1)), out(call.outputs[0]);
  const Dims sizes = ir::broadcast_shapes(self.spec.sizes, mask.spec.sizes);
  const auto broadcast = [&](const Piece& p) {
    Dims strides(sizes.size(), 0);
    for (size_t i = 0; i < p.spec.sizes.size(); ++i) {
      const size_t d = p.spec.sizes.size() - 1 - i;
      if (p.spec.sizes[d] != 1) strides[sizes.size() - 1 - i] = p.spec.strides[d];
    }
    return p.reshaped(sizes, strides);
  };
  const Piece values = broadcast(self), chosen = broadcast(mask);
  const int64_t count = out.spec.numel();
  const int64_t found = nonzero_count(chosen.arg());
  check(found == count, "masked_select: the mask has ", found, " true elements, not ", count);
  if (count == 0) return;
  Walk<2> walk;
  for (size_t d = 0; d < sizes.size(); ++d) walk.push(sizes[d], {values.stride_bytes(d), chosen.stride_bytes(d)});
  walk = walk.merged();
  const int64_t value_stride = walk.inner_stride(0), mask_stride = walk.inner_stride(1), to_stride = out.stride_bytes(0);
  visit_size(element_size(self.spec.dtype), [&]<class U>() {
    std::byte* to = out.data;
    walk_range(walk, 0, walk.numel(), {}, [&](const std::array<int64_t, 2>& at, int64_t n) {
      const std::byte *from = values.data + at[0], *flag = chosen.data + at[1];
      for (int64_t i = 0; i < n; ++i) {
        if (!is_nonzero<bool>(flag + i * mask_stride)) continue;
        std::memcpy(to, from + i * value_stride, sizeof(U));
        to += to_stride;
      }
    });
  });
}

void one_hot(const Call& call) {
  const Piece out(call.outputs[0]);
  const int64_t classes = call.attrs[0].as_int();
  const std::vector<int64_t> values = read_indices(call.tensor(0), call.tensor(0).spec->sizes);
  for (int64_t value : values) {
    check(value >= 0, "Class values must be non-negative.");
    check(value < classes, "Class values must be smaller than num_classes.");
  }
  fill(out.arg(), Scalar(0));
  Walk<1> walk;
  const size_t last = out.spec.sizes.size() - 1;
  for (size_t d = 0; d < last; ++d) walk.push(out.spec.sizes[d], {out.stride_bytes(d)});
  const int64_t class_stride = out.stride_bytes(last), stride = walk.inner_stride(0);
  size_t next = 0;
  walk_range(walk, 0, walk.numel(), {}, [&](const std::array<int64_t, 1>& at, int64_t n) {
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<int64_t*>(out.data + at[0] + i * stride + values[next++] * class_stride) = 1;
  });
}

[[maybe_unused]] const bool registered = [] {
  register_kernel("nonzero", nonzero);
  register_kernel("masked_select", masked_select);
  register_kernel("one_hot", one_hot);
  return true;
}();

}  // namespace

int64_t nonzero_count(const TensorArg& self) {
  const Piece piece(self);
  const Walk<1> walk = walk_of(piece).merged();
  const int64_t stride = walk.inner_stride(0);
  std::atomic<int64_t> total{0};
  visit_dtype(piece.spec.dtype, [&]<class T>() {
    walk_rows(walk, [&](const std::array<int64_t, 1>& at, int64_t n) {
      const std::byte* from = piece.data + at[0];
      int64_t count = 0;
      if (stride == sizeof(T))
        for (int64_t i = 0; i < n; ++i) count += is_nonzero<T>(from + i * static_cast<int64_t>(sizeof(T)));
      else
        for (int64_t i = 0; i < n; ++i) count += is_nonzero<T>(from + i * stride);
      total.fetch_add(count, std::memory_order_relaxed);
    });
  });
  return total.load();
}

int64_t repeat_interleave_size(const TensorArg& repeats, int64_t size) {
  int64_t total = 0;
  const std::vector<int64_t> values = read_indices(repeats, repeats.spec->sizes);
  for (int64_t n : values) {
    check(n >= 0, "repeats can not be negative");
    total += n;
  }
  return values.size() == 1 ? total * size : total;
}

int64_t class_count(const TensorArg& self) {
  int64_t classes = 0;
  for (int64_t value : read_indices(self, self.spec->sizes)) {
    check(value >= 0, "Class values must be non-negative.");
    classes = std::max(classes, value + 1);
  }
  return classes;
}

}  // namespace tailor::kernels
