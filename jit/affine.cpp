#include "jit/affine.h"

namespace tailor::jit {

Affine linear_index(const Coordinates& coordinates, IntArrayRef strides, int64_t offset, size_t loops) {
  Affine index = Affine::constant(offset, loops);
  for (size_t i = 0; i < coordinates.size(); ++i) index.add(coordinates[i], strides[i]);
  return index;
}

namespace {

// Loops that go backwards are run forwards.
Affine reflected(Affine a, const std::vector<char>& backward, const std::vector<int64_t>& extents) {
  for (size_t d = 0; d < extents.size(); ++d)
    if (backward[d]) a.offset += a.coefficients[d] * (extents[d] - 1), a.coefficients[d] *= -1;
  return a;
}

}  // namespace

Coordinates delinearize(const Affine& from, IntArrayRef sizes, const std::vector<int64_t>& extents) {
  const size_t rank = sizes.size(), loops = extents.size();
  std::vector<char> backward(loops, 0);
  for (size_t d = 0; d < loops; ++d) backward[d] = from.coefficients[d] < 0 && extents[d] > 1;
  const Affine index = reflected(from, backward, extents);
  Coordinates result(rank, Affine::constant(0, loops));
  const Dims strides = contiguous_strides(sizes);
  int64_t rest = index.offset;
  if (rest < 0) throw LoweringError("negative offset");
  for (size_t j = 0; j < rank; ++j) {
    if (sizes[j] == 1) continue;
    result[j].offset = rest / strides[j];
    rest -= result[j].offset * strides[j];
  }
  if (rest != 0) throw LoweringError("offset outside of the tensor");
  std::vector<int64_t> last(rank);
  for (size_t j = 0; j < rank; ++j) last[j] = result[j].offset;
  for (size_t d = 0; d < loops; ++d) {
    const int64_t step = index.coefficients[d];
    if (step == 0 || extents[d] <= 1) continue;
    size_t j = 0;
    while (j < rank && (sizes[j] == 1 || strides[j] > step)) ++j;
    if (j == rank || step % strides[j] != 0) throw LoweringError("stride is no multiple of a dimension's");
    const int64_t jump = step / strides[j];
    if (jump * (extents[d] - 1) >= sizes[j]) {
      const int64_t low = sizes[j] / jump;
      if (sizes[j] % jump != 0 || low <= 1 || extents[d] % low != 0) throw LoweringError("a loop runs across dimensions");
      throw SplitRequest{d, low};
    }
    result[j].coefficients[d] += jump;
    last[j] += jump * (extents[d] - 1);
  }
  for (size_t j = 0; j < rank; ++j)
    if (sizes[j] != 1 && last[j] >= sizes[j]) throw LoweringError("an index runs across dimensions");
  for (Affine& a : result) a = reflected(std::move(a), backward, extents);
  return result;
}

}  // namespace tailor::jit
