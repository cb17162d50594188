#include "kernels/pointwise/strided.h"

#include <algorithm>

namespace tailor::kernels {

const ConvertTable& convert_table() {
  switch (isa()) {
    case Isa::Avx512: return convert_table<Isa::Avx512>();
    case Isa::Avx2: return convert_table<Isa::Avx2>();
    case Isa::Sse2: return convert_table<Isa::Sse2>();
  }
  return convert_table<Isa::Sse2>();
}

namespace {
template <class T>
void gather_as(const char* from, int64_t stride, char* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * static_cast<int64_t>(sizeof(T)), from + i * stride, sizeof(T));
}
template <class T>
void scatter_as(const char* from, char* to, int64_t stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * stride, from + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
}
}  // namespace

void gather(const char* from, int64_t stride, char* to, int64_t n, int64_t element) {
  if (stride == element) {
    std::memcpy(to, from, static_cast<size_t>(n * element));
    return;
  }
  switch (element) {
    case 1: return gather_as<uint8_t>(from, stride, to, n);
    case 2: return gather_as<uint16_t>(from, stride, to, n);
    case 4: return gather_as<uint32_t>(from, stride, to, n);
    case 8: return gather_as<uint64_t>(from, stride, to, n);
  }
}

void scatter(const char* from, char* to, int64_t stride, int64_t n, int64_t element) {
  if (stride == element) {
    std::memcpy(to, from, static_cast<size_t>(n * element));
    return;
  }
  switch (element) {
    case 1: return scatter_as<uint8_t>(from, to, stride, n);
    case 2: return scatter_as<uint16_t>(from, to, stride, n);
    case 4: return scatter_as<uint32_t>(from, to, stride, n);
    case 8: return scatter_as<uint64_t>(from, to, stride, n);
  }
}

void splat(char* to, const char* element, int64_t size) {
  uint64_t word = 0;
  switch (size) {
    case 1: word = static_cast<uint8_t>(*element) * 0x0101010101010101u; break;
    case 2: {
      uint16_t half;
      std::memcpy(&half, element, 2);
      word = half * 0x0001000100010001u;
      break;
    }
    case 4: {
      uint32_t single;
      std::memcpy(&single, element, 4);
      word = single * 0x0000000100000001u;
      break;
    }
    case 8: std::memcpy(&word, element, 8); break;
  }
  for (int64_t i = 0; i < kMaxVectorBytes; i += 8) std::memcpy(to + i, &word, 8);
}

uint64_t scalar_bits(const Scalar& value, ScalarType type) {
  uint64_t word = 0;
  visit_dtype(type, [&]<class T>() {
    const T element = value.to<T>();
    std::memcpy(&word, &element, sizeof(T));
  });
  return word;
}

bool LoopDims::is_constant(int side) const {
  for (int d = 0; d < rank; ++d)
    if (strides[side][d] != 0) return false;
  return true;
}

bool LoopDims::is_linear(int side, int64_t element) const {
  int64_t expected = element;
  for (int d = rank; d-- > 0;) {
    if (strides[side][d] != expected) return false;
    expected *= sizes[d];
  }
  return true;
}

LoopDims loop_dims(const TensorArg* sides, int count) {
  LoopDims dims;
  const Dims& sizes = sides[0].spec->sizes;
  const Dims& lead = sides[0].spec->strides;
  const auto rank = static_cast<int>(sizes.size());
  // Dimensions of more than one element, by falling stride of the first side.
  int order[Dims::kMaxDims], kept = 0;
  for (int d = 0; d < rank; ++d) {
    dims.numel *= sizes[static_cast<size_t>(d)];
    if (sizes[static_cast<size_t>(d)] == 1) continue;
    int at = kept++;
    const auto magnitude = [&](int dim) { return std::abs(lead[static_cast<size_t>(dim)]); };
    while (at > 0 && magnitude(order[at - 1]) < magnitude(d)) order[at] = order[at - 1], --at;
    order[at] = d;
  }
  for (int i = 0; i < kept; ++i) {
    const int d = order[i];
    dims.sizes[i] = sizes[static_cast<size_t>(d)];
    for (int s = 0; s < count; ++s) {
      const ir::TensorSpec* spec = sides[s].spec;
      int64_t stride = 0;
      if (spec != nullptr) {
        const int own = d - (rank - static_cast<int>(spec->sizes.size()));
        if (own >= 0 && spec->sizes[static_cast<size_t>(own)] != 1)
          stride = spec->strides[static_cast<size_t>(own)] * element_size(spec->dtype);
      }
      dims.strides[s][i] = stride;
    }
  }
  // Merge dimension i into the one before it where every side steps over it in one stride.
  int last = 0;
  for (int i = 1; i < kept; ++i) {
    bool merges = true;
    for (int s = 0; s < count; ++s) merges &= dims.strides[s][last] == dims.strides[s][i] * dims.sizes[i];
    if (!merges) ++last;
    dims.sizes[last] = merges ? dims.sizes[last] * dims.sizes[i] : dims.sizes[i];
    for (int s = 0; s < count; ++s) dims.strides[s][last] = dims.strides[s][i];
  }
  dims.rank = kept == 0 ? 0 : last + 1;
  return dims;
}

namespace {
/// Calls f(pointer, count) for each row, or part of one.
template <class F>
void for_row_pieces(const LoopDims& dims, int side, char* p, int64_t begin, int64_t n, F&& f) {
  int64_t at[Dims::kMaxDims];
  for (int d = dims.rank; d-- > 0;) {
    at[d] = begin % dims.sizes[d];
    begin /= dims.sizes[d];
    p += at[d] * dims.strides[side][d];
  }
  const int last = dims.rank - 1;
  while (n > 0) {
    const int64_t count = std::min(dims.sizes[last] - at[last], n);
    f(p, count);
    n -= count;
    at[last] += count;
    p += count * dims.strides[side][last];
    for (int d = last; d > 0 && at[d] == dims.sizes[d];) {
      at[d] = 0;
      p += dims.strides[side][d - 1] - dims.sizes[d] * dims.strides[side][d];
      ++at[--d];
    }
  }
}

template <class F>
void with_width(int64_t element, F&& f) {
  switch (element) {
    case 1: return f.template operator()<uint8_t>();
    case 2: return f.template operator()<uint16_t>();
    case 4: return f.template operator()<uint32_t>();
    case 8: return f.template operator()<uint64_t>();
  }
}
}  // namespace

void gather_across_rows(const LoopDims& dims, int side, const char* base, int64_t begin, char* to, int64_t n, int64_t element) {
  const int64_t stride = dims.inner_stride(side);
  with_width(element, [&]<class T>() {
    for_row_pieces(dims, side, const_cast<char*>(base), begin, n, [&](const char* p, int64_t count) {
      for (int64_t i = 0; i < count; ++i, to += sizeof(T)) std::memcpy(to, p + i * stride, sizeof(T));
    });
  });
}

void scatter_across_rows(const LoopDims& dims, int side, const char* from, int64_t begin, char* base, int64_t n, int64_t element) {
  const int64_t stride = dims.inner_stride(side);
  with_width(element, [&]<class T>() {
    for_row_pieces(dims, side, base, begin, n, [&](char* p, int64_t count) {
      for (int64_t i = 0; i < count; ++i, from += sizeof(T)) std::memcpy(p + i * stride, from, sizeof(T));
    });
  });
}

RowCursor::RowCursor(const LoopDims& dims, int sides, int64_t begin) : dims_(dims), sides_(sides) {
  at_[0] = 0;
  for (int s = 0; s < sides; ++s) offsets_[s] = 0;
  for (int d = dims.rank; d-- > 0;) {
    at_[d] = begin % dims.sizes[d];
    begin /= dims.sizes[d];
    for (int s = 0; s < sides; ++s) offsets_[s] += at_[d] * dims.strides[s][d];
  }
}

void RowCursor::advance(int64_t n) {
  int d = dims_.rank - 1;
  if (d < 0) return;
  at_[d] += n;
  for (int s = 0; s < sides_; ++s) offsets_[s] += n * dims_.strides[s][d];
  while (at_[d] == dims_.sizes[d] && d > 0) {
    at_[d] = 0;
    for (int s = 0; s < sides_; ++s) offsets_[s] += dims_.strides[s][d - 1] - dims_.sizes[d] * dims_.strides[s][d];
    ++at_[--d];
  }
}

}  // namespace tailor::kernels
