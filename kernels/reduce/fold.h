#pragma once
// One reduction over strided memory, whatever its layout: chooses between rows, columns and gathering, and splits the work among
// threads in pieces that depend on the shape only, so that results do not depend on the number of threads.

#include "kernels/reduce/layout.h"

namespace tailor::kernels::reduce {

/// Folds `in`, whose elements are first converted to `type` (usually its own), and gives results to `put` as they become ready:
/// `put(context, at, stride, acc, n)` is n results for the elements at, at + stride ... of the output. Calls come from several threads.
using PutFn = void (*)(void* context, int64_t at, int64_t stride, const Acc* acc, int64_t n);
void fold(Fold fold, TensorArg in, ScalarType type, const Layout& layout, PutFn put, void* context);

template <class F>
void fold(Fold how, TensorArg in, ScalarType type, const Layout& layout, F&& put) {
  const PutFn call = [](void* f, int64_t at, int64_t stride, const Acc* acc, int64_t n) {
    (*static_cast<std::remove_reference_t<F>*>(f))(at, stride, acc, n);
  };
  fold(how, in, type, layout, call, &put);
}

/// The layout that `fold` wants.
Layout fold_layout(Fold how, const ir::TensorSpec& in, ir::DimMask mask, const ir::TensorSpec& out);

/// Whether Acc::real (or Acc::whole) holds the results of a fold over elements of `type`.
inline bool is_real(Fold fold, ScalarType type) { return is_floating_point(type) && fold != Fold::Any && fold != Fold::All; }

/// Stores results as elements of the output's dtype, real ones divided by `divisor`.
void store(TensorArg out, int64_t at, int64_t stride, const Acc* acc, int64_t n, bool real, double divisor = 1);

}  // namespace tailor::kernels::reduce
