#pragma once
// What the reference implementations of data movement share: elements moved whole, and walking over shapes.

#include <cstring>

#include "ir/reference.h"

namespace tailor::ir {

/// Element `from` of `source` becomes element `to` of `out`, converted where the dtypes differ.
inline void move_element(HostTensor& out, int64_t to, const HostTensor& source, int64_t from) {
  if (out.spec.dtype == source.spec.dtype) {
    const auto size = static_cast<size_t>(element_size(out.spec.dtype));
    std::memcpy(out.bytes.data() + static_cast<size_t>(to) * size, source.bytes.data() + static_cast<size_t>(from) * size, size);
  } else if (is_floating_point(source.spec.dtype)) {
    out.set(to, source.get(from));
  } else if (is_floating_point(out.spec.dtype)) {
    out.set(to, static_cast<double>(source.get_int(from)));
  } else {
    out.set_int(to, source.get_int(from));
  }
}

inline void set_scalar(HostTensor& out, int64_t i, const Scalar& value) {
  if (is_floating_point(out.spec.dtype))
    out.set(i, value.to_double());
  else if (out.spec.dtype == kBool)
    out.set_int(i, value.to_bool());
  else
    out.set_int(i, value.to_int());
}

/// The coordinates of element `i` of a contiguous tensor.
inline Dims coordinates(int64_t i, IntArrayRef sizes) {
  Dims at(sizes.size(), 0);
  for (size_t d = sizes.size(); d-- > 0;) {
    at[d] = i % sizes[d];
    i /= sizes[d];
  }
  return at;
}

/// The element at these coordinates; broadcast: leading coordinates that `sizes` lacks, and those along size 1, do not count.
inline int64_t element_at(IntArrayRef at, IntArrayRef sizes) {
  int64_t i = 0;
  const size_t missing = at.size() - sizes.size();
  for (size_t d = 0; d < sizes.size(); ++d) i = i * sizes[d] + (sizes[d] == 1 ? 0 : at[d + missing]);
  return i;
}

}  // namespace tailor::ir
