#pragma once
// Affine functions of loop indices, and coordinates of tensors as such functions.

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "runtime/dims.h"

namespace tailor::jit {

/// A group that this lowering cannot express; the caller splits it.
class LoweringError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Loop `dim` must be cut into an outer loop and an inner one of `low` points for an index to be affine: lowering starts again so.
struct SplitRequest {
  size_t dim;
  int64_t low;
};

/// offset + sum(coefficients[d] * index of loop d)
struct Affine {
  int64_t offset = 0;
  std::vector<int64_t> coefficients;

  static Affine constant(int64_t value, size_t loops) { return {value, std::vector<int64_t>(loops, 0)}; }
  static Affine loop(size_t d, size_t loops) {
    Affine a = constant(0, loops);
    a.coefficients[d] = 1;
    return a;
  }
  void add(const Affine& other, int64_t factor = 1) {
    offset += other.offset * factor;
    for (size_t d = 0; d < coefficients.size(); ++d) coefficients[d] += other.coefficients[d] * factor;
  }
  friend bool operator==(const Affine&, const Affine&) = default;
};

/// One coordinate per dim of a tensor.
using Coordinates = std::vector<Affine>;

/// The place of an element of strided memory.
Affine linear_index(const Coordinates& coordinates, IntArrayRef strides, int64_t offset, size_t loops);

/// The coordinates in a contiguous tensor of `sizes` of the element at row-major place `index`. `extents`: of the loops.
/// Throws SplitRequest when a loop must be cut for that, LoweringError when nothing helps.
Coordinates delinearize(const Affine& index, IntArrayRef sizes, const std::vector<int64_t>& extents);

}  // namespace tailor::jit
