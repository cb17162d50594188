#pragma once
// The words of Philox, 16 counters at a time.

#include <cstdint>

#include "runtime/philox.h"

namespace tailor::kernels {

/// Words of the 16 positions from `offset + 16 * group` on, for `groups` groups beginning at `first`: word w of position l of a group
/// is out[64 * group + 16 * w + l]. That is the order of elements of ir/ops/random.h.
using PhiloxWords = void (*)(PhiloxState state, uint32_t stream, int64_t first, int64_t groups, uint32_t* out);

/// The function for the instruction set in force.
PhiloxWords philox_words();

namespace sse2 {
void philox_words(PhiloxState state, uint32_t stream, int64_t first, int64_t groups, uint32_t* out);
}
namespace avx2 {
void philox_words(PhiloxState state, uint32_t stream, int64_t first, int64_t groups, uint32_t* out);
}
namespace avx512 {
void philox_words(PhiloxState state, uint32_t stream, int64_t first, int64_t groups, uint32_t* out);
}

}  // namespace tailor::kernels
