// scaled_dot_product_attention, a block of query rows at a time: scores stay in cache, nothing of size L x S is ever in memory.
#include "ir/ops/attention.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

#include "kernels/gemm/gemm.h"
#include "kernels/kernels.h"
#include "kernels/normalize/table.h"
#include "kernels/scratch.h"
#include "runtime/thread_pool.h"

namespace tailor::kernels {
namespace {

using ir::AttentionShape;
using ir::TensorSpec;

// A matrix of an operand: rows and columns, and the strides of the leading dims of the result (0 where it is broadcast).
struct Matrices {
  const std::byte* data = nullptr;
  int64_t row = 0, column = 0;
  Dims strides;

  Matrices() = default;
  Matrices(const TensorArg& t, const Dims& batch) : data(t.as<std::byte>()), strides(batch.size(), 0) {
    const TensorSpec& s = *t.spec;
    const size_t rank = s.sizes.size();
    row = rank >= 2 && s.sizes[rank - 2] != 1 ? s.strides[rank - 2] : 0;
    column = rank >= 1 && s.sizes[rank - 1] != 1 ? s.strides[rank - 1] : 0;
    for (size_t d = 0; d + 2 < rank; ++d) {
      const size_t at = batch.size() - (rank - 2) + d;
      strides[at] = s.sizes[d] == 1 ? 0 : s.strides[d];
    }
  }
  // Elements from the first to the matrix of batch `index`; heads come `repeat` to one.
  int64_t offset(int64_t index, const Dims& batch, int64_t repeat) const {
    int64_t at = 0;
    for (size_t d = batch.size(); d-- > 0; index /= batch[d]) {
      const int64_t i = index % batch[d];
      at += (d + 1 == batch.size() ? i / repeat : i) * strides[d];
    }
    return at;
  }
};

// D: the dtype of the operands, T: the compute type.
template <class T, class D>
class Attention {
 public:
  Attention(const Call& call, const AttentionShape& shape)
      : s_(shape),
        q_(call.tensor(0), s_.batch),
        k_(call.tensor(1), kv_batch()),
        v_(call.tensor(2), kv_batch()),
        out_(call.outputs[0], s_.batch) {
    if (!call.has_tensor(3)) return;
    mask_ = Matrices(call.tensor(3), s_.batch);
    mask_type_ = call.tensor(3).spec->dtype;
  }

  void run() const {
    const int64_t heads = product(s_.batch), blocks = (s_.l + block_rows() - 1) / block_rows();
    // Splitting a head makes every part pack the keys anew, so it is done only where threads would be idle.
    const int64_t threads = get_num_threads(), parts = heads >= 2 * threads ? 1 : std::min(blocks, (2 * threads + heads - 1) / heads);
    const int64_t work = s_.l * s_.s * (s_.e + s_.v) / std::max<int64_t>(parts, 1);
    parallel_for(0, heads * parts, std::max<int64_t>(1, 65536 / std::max<int64_t>(work, 1)), [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        const int64_t part = t % parts;
        rows(t / parts, blocks * part / parts * block_rows(), std::min(s_.l, blocks * (part + 1) / parts * block_rows()));
      }
    });
  }

 private:
  static constexpr bool kNative = std::is_same_v<T, D>;
  static int64_t block_rows() { return isa() == Isa::Avx512 ? 56 : isa() == Isa::Avx2 ? 36 : 24; }

  const Dims& kv_batch() const { return s_.batch; }
  const D* at(const Matrices& m, int64_t head, int64_t repeat = 1) const {
    return reinterpret_cast<const D*>(m.data) + m.offset(head, s_.batch, repeat);
  }

  // A matrix as the products want it: in place when its rows are contiguous, else copied.
  static gemm::Matrix ready(const Matrices& m, const D* from, int64_t rows, int64_t columns, Scratch<T>& copy) {
    if (copy.data() == nullptr) return gemm::Matrix(from, m.row, m.column);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) copy[i * columns + j] = static_cast<T>(from[i * m.row + j * m.column]);
    return gemm::Matrix(copy.data(), columns, 1);
  }
  static bool in_place(const Matrices& m, int64_t columns) { return kNative && (m.column == 1 || columns == 1); }

  void rows(int64_t head, int64_t begin, int64_t end) const {
    if (begin >= end || s_.v == 0) return;
    Scratch<T> key_copy(in_place(k_, s_.e) ? 0 : s_.s * s_.e), value_copy(in_place(v_, s_.v) ? 0 : s_.s * s_.v);
    gemm::Matrix key = ready(k_, at(k_, head, s_.repeat), s_.s, s_.e, key_copy),
                 value = ready(v_, at(v_, head, s_.repeat), s_.s, s_.v, value_copy);
    std::swap(key.row, key.column);
    if (key.row == 0) key.row = 1;
    if (value.column == 0) value.column = 1;
    std::shared_ptr<const gemm::PackedB> packed;
    if (end - begin > 12 && s_.s > 0) packed = gemm::pack_b(scalar_type_of<T>, s_.e, s_.s, key);
    const int64_t block = std::min(block_rows(), end - begin);
    Scratch<T> query(block * s_.e), scores(block * s_.s), sums(in_place(out_, s_.v) ? 0 : block * s_.v);
    for (int64_t row = begin; row < end; row += block) {
      const int64_t count = std::min(block, end - row), seen = s_.causal ? std::min(s_.s, row + count) : s_.s;
      const D* q = at(q_, head) + row * q_.row;
      scale_query(q, count, query.data());
      gemm::Problem p;
      p.dtype = scalar_type_of<T>;
      p.m = count;
      p.n = seen;
      p.k = s_.e;
      p.a = gemm::Matrix(query.data(), s_.e, 1);
      p.b = key;
      p.packed = packed.get();
      p.c = gemm::Matrix(scores.data(), seen, 1);
      gemm::run(p);
      for (int64_t i = 0; i < count; ++i) weigh(head, row + i, scores.data() + i * seen, seen);
      p.packed = nullptr;
      p.n = s_.v;
      p.k = seen;
      p.a = gemm::Matrix(scores.data(), seen, 1);
      p.b = value;
      D* out = const_cast<D*>(at(out_, head)) + row * out_.row;
      const bool direct = in_place(out_, s_.v);
      p.c = direct ? gemm::Matrix(out, out_.row, 1) : gemm::Matrix(sums.data(), s_.v, 1);
      gemm::run(p);
      if (direct) continue;
      for (int64_t i = 0; i < count; ++i)
        for (int64_t j = 0; j < s_.v; ++j) out[i * out_.row + j * out_.column] = D(sums[i * s_.v + j]);
    }
  }

  // The scale goes into the few elements of the query rather than into every score.
  void scale_query(const D* q, int64_t count, T* to) const {
    const T scale = static_cast<T>(s_.scale);
    for (int64_t i = 0; i < count; ++i, q += q_.row, to += s_.e) {
      int64_t j = 0;
      if constexpr (kNative) {
        typedef T V __attribute__((vector_size(16)));
        constexpr int64_t kLanes = 16 / sizeof(T);
        if (q_.column == 1)
          for (; j + kLanes <= s_.e; j += kLanes) {
            V v;
            std::memcpy(&v, q + j, sizeof v);
            v *= scale;
            std::memcpy(to + j, &v, sizeof v);
          }
      }
      for (; j < s_.e; ++j) to[j] = static_cast<T>(q[j * q_.column]) * scale;
    }
  }

  // Scores of one row become weights.
  void weigh(int64_t head, int64_t row, T* scores, int64_t n) const {
    constexpr T kHidden = -std::numeric_limits<T>::infinity();
    const int64_t seen = s_.causal ? std::min(n, row + 1) : n;
    bool hidden = false;
    if (mask_.data != nullptr) {
      const int64_t from = mask_.offset(head, s_.batch, 1) + row * mask_.row;
      if (mask_type_ == kBool)
        hidden = hide(scores, reinterpret_cast<const bool*>(mask_.data) + from, seen);
      else if (mask_type_ == scalar_type_of<D>)
        hidden = add(scores, reinterpret_cast<const D*>(mask_.data) + from, seen);
      else
        hidden = add(scores, reinterpret_cast<const float*>(mask_.data) + from, seen);
    }
    if (hidden || seen == 0) {
      // Nothing to see, unless a score is NaN.
      T sum = 0;
      for (int64_t j = 0; j < seen; ++j) sum += scores[j] == kHidden ? T(0) : scores[j];
      std::fill_n(scores, n, sum != sum ? sum : T(0));
      return;
    }
    normalize::loops(scalar_type_of<T>).softmax_rows(scores, scores, 1, seen, nullptr, false, false);
    std::fill(scores + seen, scores + n, T(0));
  }

  // True when the whole row is hidden.
  bool hide(T* scores, const bool* mask, int64_t n) const {
    bool any = false;
    for (int64_t j = 0; j < n; ++j) {
      const bool shown = mask[j * mask_.column];
      any |= shown;
      scores[j] = shown ? scores[j] : -std::numeric_limits<T>::infinity();
    }
    return !any;
  }
  template <class M>
  bool add(T* scores, const M* mask, int64_t n) const {
    bool any = false;
    for (int64_t j = 0; j < n; ++j) {
      scores[j] += static_cast<T>(mask[j * mask_.column]);
      any |= scores[j] != -std::numeric_limits<T>::infinity();
    }
    return !any;
  }

  const AttentionShape& s_;
  Matrices q_, k_, v_, out_, mask_;
  ScalarType mask_type_ = kBool;
};

void attention_kernel(const Call& call) {
  if (call.outputs[0].spec->numel() == 0) return;
  const AttentionShape s = ir::attention_shape(call.op, *call.tensor(0).spec, *call.tensor(1).spec, call.tensor(2).spec,
                                               call.has_tensor(3) ? call.tensor(3).spec : nullptr, call.attrs);
  switch (call.tensor(0).spec->dtype) {
    case kFloat32: return Attention<float, float>(call, s).run();
    case kFloat16: return Attention<float, Half>(call, s).run();
    case kBFloat16: return Attention<float, BFloat16>(call, s).run();
    default: return Attention<double, double>(call, s).run();
  }
}

[[maybe_unused]] const bool registered = [] {
  register_kernel("scaled_dot_product_attention", attention_kernel);
  return true;
}();

}  // namespace
}  // namespace tailor::kernels
