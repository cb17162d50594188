#pragma once
// The description of a tensor: everything about it but its data.

#include <ostream>
#include <string>

#include "runtime/device.h"
#include "runtime/dims.h"
#include "runtime/dtype.h"

namespace tailor::ir {

struct TensorSpec {
  ScalarType dtype = ScalarType::Undefined;
  Device device;
  bool requires_grad = false;
  Dims sizes;
  Dims strides;  // in elements

  TensorSpec() = default;
  /// A contiguous tensor.
  TensorSpec(ScalarType type, IntArrayRef size, Device where = {})
      : dtype(type), device(where), sizes(size), strides(contiguous_strides(size)) {}
  TensorSpec(ScalarType type, IntArrayRef size, IntArrayRef stride, Device where)
      : dtype(type), device(where), sizes(size), strides(stride) {}

  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  int64_t numel() const { return product(sizes); }
  int64_t size(int64_t dim) const { return sizes[static_cast<size_t>(wrap_dim(dim, rank()))]; }
  /// Row-major without gaps (strides of dimensions of size 1 do not matter).
  bool is_contiguous() const;
  /// Every element has its own place and there are no gaps, in whatever order of dimensions.
  bool is_non_overlapping_and_dense() const;
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

/// `f32[2, 3]`; strides are added when not contiguous: `f32[2, 3]{1, 2}`; `grad` when gradients are required.
std::string to_string(const TensorSpec& spec);
std::ostream& operator<<(std::ostream& out, const TensorSpec& spec);

/// The strides PyTorch gives the result of a pointwise op over these operands: contiguous, unless the operands agree on another dense
/// order.
Dims pointwise_output_strides(IntArrayRef sizes, std::span<const TensorSpec* const> operands);

/// Broadcasting of two shapes; throws Error with torch's text ("The size of tensor a (3) must match ...").
Dims broadcast_shapes(IntArrayRef a, IntArrayRef b);

}  // namespace tailor::ir
