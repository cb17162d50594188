#pragma once
// B as panels of two vectors: [panel][k][2 * lanes], zeros beyond n. Internal to kernels/gemm.

#include <memory>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/kernel_set.h"
#include "kernels/scratch.h"
#include "runtime/storage.h"

namespace tailor::kernels::gemm {

template <class T>
Scratch<T> pack_panels(const KernelSet<T>& set, ScalarType dtype, int64_t k, int64_t n, const std::byte* b, int64_t b_k, int64_t b_column);

class PackedB final : public Prepacked {
 public:
  PackedB(Isa isa, ScalarType compute, int64_t k, int64_t n, IntrusivePtr<Storage> storage)
      : isa_(isa), compute_(compute), k_(k), n_(n), storage_(std::move(storage)) {}
  Isa isa() const { return isa_; }
  ScalarType compute() const { return compute_; }
  const Storage& storage() const { return *storage_; }
  int64_t bytes() const override { return static_cast<int64_t>(storage_->bytes()); }

 private:
  Isa isa_;
  ScalarType compute_;
  int64_t k_, n_;
  IntrusivePtr<Storage> storage_;
};

inline Isa isa_of(const PackedB& packed) { return packed.isa(); }
template <class T>
const T* panels_of(const PackedB& packed) {
  internal_check(packed.compute() == scalar_type_of<T>, "packed matrix of another type");
  return static_cast<const T*>(packed.storage().data());
}

}  // namespace tailor::kernels::gemm
