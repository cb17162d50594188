#include "ir/spec.h"

#include <array>
#include <numeric>

namespace tailor::ir {

bool TensorSpec::is_contiguous() const {
  if (numel() == 0) return true;
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

bool TensorSpec::is_non_overlapping_and_dense() const {
  if (numel() <= 1) return true;
  std::array<size_t, Dims::kMaxDims> order;
  size_t n = 0;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != 1) order[n++] = i;
  std::sort(order.begin(), order.begin() + n, [&](size_t a, size_t b) { return strides[a] < strides[b]; });
  int64_t expected = 1;
  for (size_t i = 0; i < n; ++i) {
    if (strides[order[i]] != expected) return false;
    expected *= sizes[order[i]];
  }
  return true;
}

namespace {
void append(std::string& text, IntArrayRef list, char open, char close) {
  text += open;
  for (size_t i = 0; i < list.size(); ++i) {
    if (i) text += ", ";
    text += std::to_string(list[i]);
  }
  text += close;
}
}  // namespace

std::string to_string(const TensorSpec& spec) {
  std::string text(short_name(spec.dtype));
  append(text, spec.sizes, '[', ']');
  if (spec.strides != contiguous_strides(spec.sizes)) append(text, spec.strides, '{', '}');
  if (spec.device != Device()) text += " " + spec.device.str();
  if (spec.requires_grad) text += " grad";
  return text;
}

std::ostream& operator<<(std::ostream& out, const TensorSpec& spec) { return out << to_string(spec); }

Dims pointwise_output_strides(IntArrayRef sizes, std::span<const TensorSpec* const> operands) {
  const size_t rank = sizes.size();
  bool same_shape = true, all_contiguous = true, same_dense_strides = true;
  for (const TensorSpec* t : operands) {
    same_shape &= IntArrayRef(t->sizes) == sizes;
    all_contiguous &= t->is_contiguous();
    same_dense_strides &= t->strides == operands[0]->strides && t->is_non_overlapping_and_dense();
  }
  if (operands.empty() || (same_shape && all_contiguous)) return contiguous_strides(sizes);
  if (same_shape && same_dense_strides) return operands[0]->strides;

  // TensorIterator::reorder_dimensions: an insertion sort, innermost dimension first, by the first operand that can tell two
  // dimensions apart.
  const auto stride_of = [&](const TensorSpec& t, size_t dim) -> int64_t {
    const size_t missing = rank - t.sizes.size();
    if (dim < missing) return 0;
    return t.sizes[dim - missing] == 1 && sizes[dim] != 1 ? 0 : t.strides[dim - missing];
  };
  const auto should_swap = [&](size_t dim0, size_t dim1) {
    for (const TensorSpec* t : operands) {
      const int64_t stride0 = stride_of(*t, dim0), stride1 = stride_of(*t, dim1);
      if (stride0 == 0 || stride1 == 0) continue;
      if (stride0 != stride1) return stride0 < stride1 ? -1 : 1;
      if (sizes[dim0] > sizes[dim1]) return 1;
    }
    return 0;
  };
  std::array<size_t, Dims::kMaxDims> perm;
  for (size_t i = 0; i < rank; ++i) perm[i] = rank - 1 - i;
  for (size_t i = 1; i < rank; ++i) {
    size_t dim1 = i;
    for (size_t dim0 = i; dim0-- > 0;) {
      const int comparison = should_swap(perm[dim0], perm[dim1]);
      if (comparison > 0) {
        std::swap(perm[dim0], perm[dim1]);
        dim1 = dim0;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  Dims strides(rank, 1);
  int64_t next = 1;
  for (size_t i = 0; i < rank; ++i) {
    strides[perm[i]] = next;
    next *= std::max<int64_t>(sizes[perm[i]], 1);
  }
  return strides;
}

Dims broadcast_shapes(IntArrayRef a, IntArrayRef b) {
  const size_t rank = std::max(a.size(), b.size());
  Dims result(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size_a = i + a.size() >= rank ? a[i + a.size() - rank] : 1;
    const int64_t size_b = i + b.size() >= rank ? b[i + b.size() - rank] : 1;
    check(size_a == size_b || size_a == 1 || size_b == 1, "The size of tensor a (", size_a, ") must match the size of tensor b (", size_b,
          ") at non-singleton dimension ", i);
    result[i] = size_a == 1 ? size_b : size_a;
  }
  return result;
}

}  // namespace tailor::ir
