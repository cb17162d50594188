#pragma once
// Operands of kernels that read and write contiguous memory only: what is not contiguous, or of another dtype, goes through a copy.

#include "kernels/copy.h"
#include "runtime/storage.h"

namespace tailor::kernels {

/// An operand as contiguous memory of `type`: itself where it is that already, else a copy.
class DenseInput {
 public:
  DenseInput(TensorArg arg, ScalarType type) {
    if (arg.spec->dtype == type && arg.spec->is_contiguous()) {
      data_ = arg.data;
      return;
    }
    const ir::TensorSpec dense(type, arg.spec->sizes, arg.spec->device);
    storage_ = Storage::allocate(static_cast<size_t>(dense.numel() * element_size(type)), dense.device);
    copy({storage_->data(), &dense}, arg);
    data_ = storage_->data();
  }
  template <class T = void>
  const T* as() const {
    return static_cast<const T*>(data_);
  }

 private:
  IntrusivePtr<Storage> storage_;
  const void* data_;
};

/// Contiguous memory to write an output to; `finish` copies it where it belongs.
class DenseOutput {
 public:
  explicit DenseOutput(TensorArg arg) : arg_(arg) {
    if (arg.spec->is_contiguous()) {
      data_ = arg.data;
      return;
    }
    storage_ = Storage::allocate(static_cast<size_t>(arg.spec->numel() * element_size(arg.spec->dtype)), arg.spec->device);
    data_ = storage_->data();
  }
  template <class T = void>
  T* as() const {
    return static_cast<T*>(data_);
  }
  void finish() {
    if (!storage_) return;
    const ir::TensorSpec dense(arg_.spec->dtype, arg_.spec->sizes, arg_.spec->device);
    copy(arg_, {data_, &dense});
  }

 private:
  TensorArg arg_;
  IntrusivePtr<Storage> storage_;
  void* data_;
};

}  // namespace tailor::kernels
