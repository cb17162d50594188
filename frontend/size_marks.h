#pragma once
// What users have said of the sizes of a tensor: mark_dynamic and its siblings.

#include <cstdint>
#include <vector>

#include "frontend/tensor_impl.h"

namespace tailor {

struct DimMark {
  enum class Kind : uint8_t { Dynamic, MaybeDynamic, Static } kind = Kind::Dynamic;
  int dim = 0;
  int64_t min = 2, max = INT64_MAX;
};

struct SizeMarks {
  std::vector<DimMark> marks;
};

/// Null when nothing was said of this dim.
const DimMark* mark_of(const TensorImpl& tensor, int dim);

}  // namespace tailor
