// tril, triu: each row keeps one end and loses the other.

#include "kernels/movement/piece.h"
#include "kernels/movement/strided.h"

namespace tailor::kernels {
namespace {

template <class U>
void zero_row(std::byte* to, int64_t stride, int64_t n) {
  if (stride == sizeof(U)) {
    std::memset(to, 0, static_cast<size_t>(n) * sizeof(U));
    return;
  }
  for (int64_t i = 0; i < n; ++i) std::memset(to + i * stride, 0, sizeof(U));
}

template <bool Lower>
void triangle(const Call& call) {
  const Piece self(call.tensor(0)), out(call.outputs[0]);
  const int64_t diagonal = call.attrs[0].as_int();
  const size_t rank = out.spec.sizes.size();
  const int64_t rows = out.spec.sizes[rank - 2], columns = out.spec.sizes[rank - 1];
  const int64_t all_rows = columns == 0 ? 0 : out.spec.numel() / columns;
  const bool in_place = same_memory(call.tensor(0), call.outputs[0]);
  const int64_t to_stride = out.stride_bytes(rank - 1), from_stride = self.stride_bytes(rank - 1);
  visit_size(element_size(out.spec.dtype), [&]<class U>() {
    const auto run = [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        std::byte* to = out.data;
        const std::byte* from = self.data;
        int64_t rest = r;
        for (size_t d = rank - 1; d-- > 0;) {
          const int64_t at = rest % out.spec.sizes[d];
          rest /= out.spec.sizes[d];
          to += at * out.stride_bytes(d);
          from += at * self.stride_bytes(d);
        }
        // Columns below `split` are on one side of the border, the others on the other.
        const int64_t row = r % rows;
        const int64_t limit = diagonal > columns ? columns : diagonal < -rows ? -rows : diagonal;
        const int64_t split = std::clamp<int64_t>(row + limit + (Lower ? 1 : 0), 0, columns);
        const int64_t kept = Lower ? 0 : split, kept_count = Lower ? split : columns - split;
        const int64_t lost = Lower ? split : 0;
        if (!in_place) move_row<U>(to + kept * to_stride, to_stride, from + kept * from_stride, from_stride, kept_count);
        zero_row<U>(to + lost * to_stride, to_stride, columns - kept_count);
      }
    };
    const int64_t grain = std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(columns, 1));
    if (all_rows <= grain)
      run(0, all_rows);
    else
      parallel_for(0, all_rows, grain, run);
  });
}

[[maybe_unused]] const bool registered = [] {
  register_kernel("tril", triangle<true>);
  register_kernel("triu", triangle<false>);
  return true;
}();

}  // namespace
}  // namespace tailor::kernels
