// pad. Constant: the borders are filled and the inside is copied. The other modes: along each dimension a table says where an
// element comes from; a row is copied in runs.

#include <vector>

#include "ir/ops/movement.h"
#include "kernels/copy.h"
#include "kernels/movement/piece.h"
#include "kernels/movement/strided.h"

namespace tailor::kernels {
namespace {

using ir::PadMode;

void pad_constant(Piece out, Piece self, IntArrayRef pad, Scalar value) {
  for (size_t p = 0; p < pad.size() / 2; ++p) {
    const size_t d = out.spec.sizes.size() - 1 - p;
    const int64_t before = std::max<int64_t>(pad[2 * p], 0), after = std::max<int64_t>(pad[2 * p + 1], 0), size = out.spec.sizes[d];
    const int64_t low = std::min(before, size), high = std::min(after, size - low);
    if (low > 0) fill(out.narrow(d, 0, low).arg(), value);
    if (high > 0) fill(out.narrow(d, size - high, high).arg(), value);
    const int64_t inside = size - low - high;
    out = out.narrow(d, low, inside);
    self = self.narrow(d, std::max<int64_t>(-pad[2 * p], 0), inside);
  }
  if (out.spec.numel() > 0) copy(out.arg(), self.arg());
}

/// Elements [start, start + length) of the result come from elements that lie `step` apart, beginning at `source`.
struct Run {
  int64_t start, source, length, step;
};

std::vector<Run> runs_of(PadMode mode, int64_t out_size, int64_t before, int64_t after, int64_t size) {
  std::vector<Run> runs;
  for (int64_t i = 0; i < out_size; ++i) {
    const int64_t source = ir::padded_source(mode, i, before, after, size);
    if (!runs.empty()) {
      Run& run = runs.back();
      const int64_t step = source - (run.source + (run.length - 1) * run.step);
      if (run.length == 1) run.step = step;
      if (step == run.step) {
        ++run.length;
        continue;
      }
    }
    runs.push_back({i, source, 1, 0});
  }
  return runs;
}

void pad_mapped(const Piece& out, const Piece& self, IntArrayRef pad, PadMode mode) {
  const size_t rank = out.spec.sizes.size();
  const auto before = [&](size_t d) { return rank - 1 - d < pad.size() / 2 ? pad[2 * (rank - 1 - d)] : 0; };
  const auto after = [&](size_t d) { return rank - 1 - d < pad.size() / 2 ? pad[2 * (rank - 1 - d) + 1] : 0; };
  const std::vector<Run> runs = runs_of(mode, out.spec.sizes[rank - 1], before(rank - 1), after(rank - 1), self.spec.sizes[rank - 1]);
  const int64_t size = element_size(out.spec.dtype);
  const int64_t to_stride = out.stride_bytes(rank - 1), from_stride = self.stride_bytes(rank - 1);
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < rank; ++d) rows *= out.spec.sizes[d];
  const auto move_rows = [&]<class U>(int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      std::byte* to = out.data;
      const std::byte* from = self.data;
      int64_t rest = r;
      for (size_t d = rank - 1; d-- > 0;) {
        const int64_t at = rest % out.spec.sizes[d];
        rest /= out.spec.sizes[d];
        to += at * out.stride_bytes(d);
        from += ir::padded_source(mode, at, before(d), after(d), self.spec.sizes[d]) * self.stride_bytes(d);
      }
      for (const Run& run : runs)
        move_row<U>(to + run.start * to_stride, to_stride, from + run.source * from_stride, run.step * from_stride, run.length);
    }
  };
  visit_size(size, [&]<class U>() {
    const int64_t grain = std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(out.spec.sizes[rank - 1], 1));
    const auto run = [&](int64_t begin, int64_t end) { move_rows.template operator()<U>(begin, end); };
    if (rows <= grain)
      run(0, rows);
    else
      parallel_for(0, rows, grain, run);
  });
}

void pad(const Call& call) {
  const Piece self(call.tensor(0)), out(call.outputs[0]);
  const auto mode = static_cast<PadMode>(call.attrs[1].as_int());
  if (out.spec.numel() == 0) return;
  if (mode == PadMode::Constant || out.spec.rank() == 0) {
    const bool given = call.operands.size() > 1 && call.operands[1].is_scalar();
    return pad_constant(out, self, call.attrs[0].as_ints(), given ? call.operands[1].scalar : Scalar(0));
  }
  pad_mapped(out, self, call.attrs[0].as_ints(), mode);
}

[[maybe_unused]] const bool registered = (register_kernel("pad", pad), true);

}  // namespace
}  // namespace tailor::kernels
