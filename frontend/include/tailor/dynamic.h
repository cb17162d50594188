#pragma once
// What compiled functions may assume of sizes: which dimensions of an argument vary from call to call.
//
// Without marks a size is taken as fixed until it is seen with a second value, and then becomes symbolic: one set of kernels serves
// all its values from 2 up. Sizes 0 and 1 are always specialised.
//
//   tailor::mark_dynamic(x, 0, {.min = 1, .max = 64});   // symbolic from the first call on
//   tailor::mark_static(w, 1);                           // never symbolic: another size is another entry

#include <cstdint>

#include "tailor/tensor.h"

namespace tailor {

/// The sizes that a dimension may have; a size outside is compiled by itself.
struct SizeRange {
  int64_t min = 2, max = INT64_MAX;
};

/// Dimension `dim` (negative: from the end) of this tensor is symbolic in every function that it is an argument of, from the first compile
/// on. Code that forces it to one value is an Error that names the line. Follows torch._dynamo.mark_dynamic. Throws Error for a dimension
/// that does not exist and for an empty range.
void mark_dynamic(const Tensor& tensor, int64_t dim, SizeRange range = {});
/// As mark_dynamic, but code that forces the dimension to one value makes it static.
void maybe_mark_dynamic(const Tensor& tensor, int64_t dim, SizeRange range = {});
/// Dimension `dim` is never symbolic: each of its sizes has an entry of its own.
void mark_static(const Tensor& tensor, int64_t dim);

}  // namespace tailor
