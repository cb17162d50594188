// cat: rows moved by memcpy where everything is contiguous, else one strided copy an operand.

#include <vector>

#include "kernels/copy.h"
#include "kernels/movement/piece.h"
#include "kernels/movement/strided.h"

namespace tailor::kernels {
namespace {

struct Part {
  const std::byte* data;
  int64_t bytes;  // one row: everything from the dimension on
};

void cat_rows(std::byte* out, int64_t rows, const std::vector<Part>& parts, int64_t row_bytes) {
  const auto run = [&](int64_t begin, int64_t end) {
    std::byte* to = out + begin * row_bytes;
    for (int64_t r = begin; r < end; ++r)
      for (const Part& part : parts) {
        std::memcpy(to, part.data + r * part.bytes, static_cast<size_t>(part.bytes));
        to += part.bytes;
      }
  };
  const int64_t grain = std::max<int64_t>(1, 4 * kParallelGrain / std::max<int64_t>(row_bytes, 1));
  if (rows <= grain)
    run(0, rows);
  else
    parallel_for(0, rows, grain, run);
}

void cat(const Call& call) {
  const Piece out(call.outputs[0]);
  const int64_t rank = out.spec.rank();
  const auto dim = static_cast<size_t>(wrap_dim(call.attrs[0].as_int(), rank));
  const int64_t size = element_size(out.spec.dtype);
  bool plain = out.spec.is_contiguous();
  int64_t rows = 1, inner = 1;
  for (size_t d = 0; d < dim; ++d) rows *= out.spec.sizes[d];
  for (size_t d = dim + 1; d < out.spec.sizes.size(); ++d) inner *= out.spec.sizes[d];
  std::vector<Part> parts;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const ir::TensorSpec& t = *call.tensor(i).spec;
    if (t.rank() != rank) continue;  // an empty one that takes no part
    plain &= t.dtype == out.spec.dtype && t.is_contiguous();
    parts.push_back({static_cast<const std::byte*>(call.tensor(i).data), t.sizes[dim] * inner * size});
  }
  if (plain && rows > 1) return cat_rows(out.data, rows, parts, out.spec.sizes[dim] * inner * size);
  int64_t start = 0;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const TensorArg& t = call.tensor(i);
    if (t.spec->rank() != rank) continue;
    const int64_t length = t.spec->sizes[dim];
    if (t.spec->numel() > 0) copy(out.narrow(dim, start, length).arg(), t);
    start += length;
  }
}

[[maybe_unused]] const bool registered = (register_kernel("cat", cat), true);

}  // namespace
}  // namespace tailor::kernels
