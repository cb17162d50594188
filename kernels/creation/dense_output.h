#pragma once
// Random numbers belong to elements in row-major order: results are made dense, and moved where the memory is not.

#include <vector>

#include "kernels/copy.h"
#include "kernels/movement/piece.h"

namespace tailor::kernels {

/// Results are made dense; where the memory is not, they are moved there.
class DenseOutput {
 public:
  explicit DenseOutput(const TensorArg& out) : out_(out), dense_(out) {
    if (out.spec->is_contiguous()) return;
    dense_.spec = ir::TensorSpec(out.spec->dtype, out.spec->sizes, out.spec->device);
    memory_.resize(static_cast<size_t>(dense_.spec.numel() * element_size(dense_.spec.dtype)));
    dense_.data = memory_.data();
  }
  const Piece& piece() const { return dense_; }
  void finish() const {
    if (!memory_.empty()) copy(out_, dense_.arg());
  }

 private:
  TensorArg out_;
  Piece dense_;
  std::vector<std::byte> memory_;
};

}  // namespace tailor::kernels
