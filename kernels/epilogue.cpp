#include "kernels/epilogue.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "runtime/thread_pool.h"

namespace tailor::kernels {
namespace {

constexpr int64_t kElementsPerRange = 16 * 1024;

// Filled by static initialisers of other files; never destroyed, as the registry of kernels.
struct Contractions {
  std::shared_mutex mutex;
  std::unordered_map<std::string, Contraction> by_name;
};
Contractions& contractions() {
  static auto* const c = new Contractions;
  return *c;
}

}  // namespace

ResultExtents result_extents(const ResultLayout& layout, IntArrayRef sizes) {
  ResultExtents e;
  const auto rank = static_cast<int>(sizes.size());
  for (int d = 0; d < rank; ++d) {
    const int from_end = rank - d;
    int64_t& extent = from_end <= layout.column_dims                                            ? e.columns
                      : layout.row_dims < 0 || from_end <= layout.column_dims + layout.row_dims ? e.rows
                                                                                                : e.batches;
    extent *= sizes[static_cast<size_t>(d)];
  }
  return e;
}

void register_contraction(std::string_view op, const Contraction& contraction) {
  Contractions& c = contractions();
  const std::unique_lock lock(c.mutex);
  c.by_name.emplace(op, contraction);
}

const Contraction* find_contraction(const ir::OpDef& op) {
  Contractions& c = contractions();
  const std::shared_lock lock(c.mutex);
  const auto found = c.by_name.find(std::string(op.name));
  return found == c.by_name.end() ? nullptr : &found->second;
}

void finish_result(const Call& call, const ResultLayout& layout, const Epilogue& epilogue) {
  if (epilogue.fn == nullptr) return;
  const ir::TensorSpec& out = *call.outputs[0].spec;
  const ResultExtents e = result_extents(layout, out.sizes);
  if (out.numel() == 0) return;
  const size_t rank = out.sizes.size(), columns_at = rank - static_cast<size_t>(layout.column_dims);
  const int64_t column_stride = out.strides.back(), row_stride = columns_at == 0 ? 0 : out.strides[columns_at - 1];
  const int64_t batch_stride = row_stride * e.rows;
  parallel_for(0, e.batches * e.rows, std::max<int64_t>(1, kElementsPerRange / e.columns), [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t batch = begin / e.rows, row = begin % e.rows, rows = std::min(end - begin, e.rows - row);
      std::byte* data = call.outputs[0].as<std::byte>() + (batch * batch_stride + row * row_stride) * element_size(out.dtype);
      epilogue.fn(epilogue.context, {data, batch, row, rows, 0, e.columns, row_stride, column_stride});
      begin += rows;
    }
  });
}

}  // namespace tailor::kernels
