#include "kernels/gemm/packed.h"

#include <algorithm>

#include "runtime/thread_pool.h"

namespace tailor::kernels::gemm {

template <class T>
static int64_t panel_elements(const KernelSet<T>& set, int64_t k, int64_t n) {
  const int64_t panel = 2 * set.lanes;
  return (n + panel - 1) / panel * panel * k;
}

template <class T>
static void pack_into(T* to, const KernelSet<T>& set, ScalarType dtype, int64_t k, int64_t n, const std::byte* b, int64_t b_k,
                      int64_t b_column) {
  const int64_t panel = 2 * set.lanes, panels = (n + panel - 1) / panel;
  const PackFn<T> pack = set.pack[source_index(dtype)];
  parallel_for(0, panels, std::max<int64_t>(1, (int64_t{1} << 15) / std::max<int64_t>(panel * k, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      pack(to + i * panel * k, b + i * panel * b_column * element_size(dtype), std::min(panel, n - i * panel), b_column, k, b_k, panel);
  });
}

template <class T>
Scratch<T> pack_panels(const KernelSet<T>& set, ScalarType dtype, int64_t k, int64_t n, const std::byte* b, int64_t b_k, int64_t b_column) {
  Scratch<T> panels(panel_elements(set, k, n));
  pack_into(panels.data(), set, dtype, k, n, b, b_k, b_column);
  return panels;
}
template Scratch<float> pack_panels(const KernelSet<float>&, ScalarType, int64_t, int64_t, const std::byte*, int64_t, int64_t);
template Scratch<double> pack_panels(const KernelSet<double>&, ScalarType, int64_t, int64_t, const std::byte*, int64_t, int64_t);

template <class T>
static std::shared_ptr<const PackedB> pack_as(ScalarType dtype, int64_t k, int64_t n, const Matrix& b) {
  const KernelSet<T>& set = kernel_set<T>(isa());
  auto storage = Storage::allocate(static_cast<size_t>(panel_elements(set, k, n)) * sizeof(T), kCPU);
  pack_into(static_cast<T*>(storage->data()), set, dtype, k, n, static_cast<const std::byte*>(b.data), b.row, b.column);
  return std::make_shared<const PackedB>(set.isa, scalar_type_of<T>, k, n, std::move(storage));
}

std::shared_ptr<const PackedB> pack_b(ScalarType dtype, int64_t k, int64_t n, const Matrix& b) {
  check(is_floating_point(dtype), "pack_b: expected a floating-point matrix, got ", dtype);
  return dtype == kFloat64 ? pack_as<double>(dtype, k, n, b) : pack_as<float>(dtype, k, n, b);
}

int64_t packed_bytes(const PackedB& packed) { return packed.bytes(); }
const PackedB* as_packed_b(const Prepacked* packed) { return static_cast<const PackedB*>(packed); }
std::shared_ptr<const Prepacked> prepack_b(ScalarType dtype, int64_t k, int64_t n, const Matrix& b) { return pack_b(dtype, k, n, b); }

}  // namespace tailor::kernels::gemm
