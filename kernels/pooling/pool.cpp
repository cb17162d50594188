// Pooling kernels: planes in parallel; a maximum is taken along rows first and then over rows, which keeps the first of equal values.
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ir/ops/pooling.h"
#include "kernels/kernels.h"
#include "kernels/scratch.h"
#include "runtime/thread_pool.h"

namespace tailor::kernels {
namespace {

using ir::PoolShape;

// The planes of a tensor: leading dims by number, one or two spatial dims.
struct Planes {
  std::byte* data;
  Dims sizes, strides;  // leading dims
  int64_t row = 0, column = 0;

  Planes(const TensorArg& t, size_t spatial) : data(t.as<std::byte>()) {
    const ir::TensorSpec& s = *t.spec;
    const size_t rank = s.sizes.size();
    sizes = Dims(IntArrayRef(s.sizes.begin(), rank - spatial));
    strides = Dims(IntArrayRef(s.strides.begin(), rank - spatial));
    row = spatial == 2 ? s.strides[rank - 2] : 0;
    column = s.strides[rank - 1];
  }
  template <class T>
  T* plane(int64_t index) const {
    int64_t at = 0;
    for (size_t d = sizes.size(); d-- > 0; index /= sizes[d]) at += index % sizes[d] * strides[d];
    return reinterpret_cast<T*>(data) + at;
  }
};

template <class T>
bool replaces(T value, T best) {
  return value > best || value != value;
}

template <class T>
T lowest() {
  if constexpr (std::is_floating_point_v<T>)
    return -std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::lowest();
}

// best[0, n) of row maxima: later rows win only by being greater.
template <class T>
void take_greater(T* best, const T* row, int64_t n) {
  int64_t i = 0;
  if constexpr (std::is_floating_point_v<T>) {
    typedef T V __attribute__((vector_size(16)));
    for (; i + static_cast<int64_t>(16 / sizeof(T)) <= n; i += 16 / sizeof(T)) {
      V a, b;
      std::memcpy(&a, best + i, sizeof a);
      std::memcpy(&b, row + i, sizeof b);
      a = ((b > a) | (b != b)) ? b : a;
      std::memcpy(best + i, &a, sizeof a);
    }
  }
  for (; i < n; ++i)
    if (replaces(row[i], best[i])) best[i] = row[i];
}

template <class T, class S>
T window_max(const S* x, int64_t length, int64_t step) {
  T best = static_cast<T>(x[0]);
  for (int64_t i = 1; i < length; ++i)
    if (const T v = static_cast<T>(x[i * step]); replaces(v, best)) best = v;
  return best;
}

// Maxima of all windows of one input row.
template <class T, class S>
void row_maxima(T* to, const S* row, int64_t column, const PoolShape& s, const PoolShape::Window* windows) {
  int64_t o = 0;
  const auto general = [&](int64_t end) {
    for (; o < end; ++o) {
      const PoolShape::Window& w = windows[o];
      const int64_t n = w.end <= w.begin ? 0 : (w.end - w.begin + s.dilation[1] - 1) / s.dilation[1];
      to[o] = n == 0 ? lowest<T>() : window_max<T>(row + w.begin * column, n, s.dilation[1] * column);
    }
  };
  if (column == 1 && !s.adaptive && s.dilation[1] == 1 && (s.kernel[1] == 2 || s.kernel[1] == 3)) {
    int64_t first = 0, last = s.out[1];
    while (first < last && windows[first].end - windows[first].begin != s.kernel[1]) ++first;
    while (last > first && windows[last - 1].end - windows[last - 1].begin != s.kernel[1]) --last;
    general(first);
    const S* x = row + (first < last ? windows[first].begin : 0);
    if (s.kernel[1] == 2)
      for (; o < last; ++o, x += s.stride[1]) to[o] = window_max<T>(x, 2, 1);
    else
      for (; o < last; ++o, x += s.stride[1]) to[o] = window_max<T>(x, 3, 1);
  }
  general(s.out[1]);
}

template <class S, class T>
struct Pool {
  const PoolShape& s;
  const Planes x, y;
  const Planes* indices;
  std::vector<PoolShape::Window> rows, columns;

  void maxima(int64_t plane) const {
    const S* from = x.plane<S>(plane);
    S* to = y.plane<S>(plane);
    Scratch<T> best(s.out[1]), row(s.out[1]);
    for (int64_t oy = 0; oy < s.out[0]; ++oy) {
      const PoolShape::Window& w = rows[static_cast<size_t>(oy)];
      std::fill_n(best.data(), s.out[1], lowest<T>());
      for (int64_t iy = w.begin; iy < w.end; iy += s.dilation[0]) {
        T* target = iy == w.begin ? best.data() : row.data();
        row_maxima(target, from + iy * x.row, x.column, s, columns.data());
        if (iy != w.begin) take_greater(best.data(), row.data(), s.out[1]);
      }
      for (int64_t ox = 0; ox < s.out[1]; ++ox) to[oy * y.row + ox * y.column] = static_cast<S>(best[ox]);
    }
  }

  void maxima_with_indices(int64_t plane) const {
    const S* from = x.plane<S>(plane);
    S* to = y.plane<S>(plane);
    int64_t* at = indices->plane<int64_t>(plane);
    for (int64_t oy = 0; oy < s.out[0]; ++oy)
      for (int64_t ox = 0; ox < s.out[1]; ++ox) {
        const PoolShape::Window &wy = rows[static_cast<size_t>(oy)], &wx = columns[static_cast<size_t>(ox)];
        T best = lowest<T>();
        int64_t where = -1;
        for (int64_t iy = wy.begin; iy < wy.end; iy += s.dilation[0])
          for (int64_t ix = wx.begin; ix < wx.end; ix += s.dilation[1]) {
            const T v = static_cast<T>(from[iy * x.row + ix * x.column]);
            if (where >= 0 && !replaces(v, best)) continue;
            best = v;
            where = iy * s.in[1] + ix;
          }
        to[oy * y.row + ox * y.column] = static_cast<S>(best);
        at[oy * indices->row + ox * indices->column] = std::max<int64_t>(where, 0);
      }
  }

  static T sum_row(const S* row, int64_t n, int64_t stride) {
    T sum = 0;
    int64_t i = 0;
    if constexpr (std::is_same_v<S, T> && std::is_floating_point_v<T>) {
      if (stride == 1 && n >= 16) {  // four chains of additions
        typedef T V __attribute__((vector_size(16)));
        constexpr int64_t kLanes = 16 / sizeof(T);
        V a{}, b{};
        for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
          V p, q;
          std::memcpy(&p, row + i, sizeof p);
          std::memcpy(&q, row + i + kLanes, sizeof q);
          a += p;
          b += q;
        }
        a += b;
        for (int64_t l = 0; l < kLanes; ++l) sum += a[l];
      }
    }
    for (; i < n; ++i) sum += static_cast<T>(row[i * stride]);
    return sum;
  }

  void means(int64_t plane) const {
    const S* from = x.plane<S>(plane);
    S* to = y.plane<S>(plane);
    for (int64_t oy = 0; oy < s.out[0]; ++oy)
      for (int64_t ox = 0; ox < s.out[1]; ++ox) {
        const PoolShape::Window &wy = rows[static_cast<size_t>(oy)], &wx = columns[static_cast<size_t>(ox)];
        const int64_t height = std::max<int64_t>(wy.end - wy.begin, 0), width = std::max<int64_t>(wx.end - wx.begin, 0);
        T sum = 0;
        if (x.column == 1 && x.row == s.in[1] && width == s.in[1])
          sum = sum_row(from + wy.begin * x.row, height * width, 1);
        else
          for (int64_t iy = wy.begin; iy < wy.end; ++iy) sum += sum_row(from + iy * x.row + wx.begin * x.column, width, x.column);
        const int64_t divisor = s.divisor != 0 ? s.divisor : s.count_include_pad ? wy.padded * wx.padded : height * width;
        S& out = to[oy * y.row + ox * y.column];
        if (s.adaptive || height * width > 0)
          out = static_cast<S>(std::is_integral_v<T> && divisor == 0 ? T(0) : static_cast<T>(sum / static_cast<T>(divisor)));
        else
          out = S(T(0));
      }
  }

  void run() const {
    const int64_t work = std::max<int64_t>(1, s.in[0] * s.in[1] + s.out[0] * s.out[1] * (s.max ? s.kernel[0] : 1));
    parallel_for(0, s.planes, std::max<int64_t>(1, 16384 / work), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        if (!s.max)
          means(p);
        else if (indices != nullptr)
          maxima_with_indices(p);
        else
          maxima(p);
      }
    });
  }
};

void pool_kernel(const Call& call) {
  if (call.outputs[0].spec->numel() == 0) return;
  const ir::TensorSpec& self = *call.tensor(0).spec;
  const PoolShape s = ir::pool_shape(call.op, self, call.attrs);
  const size_t spatial = call.op.name.find("1d") != std::string_view::npos ? 1 : 2;
  const Planes x(call.tensor(0), spatial), y(call.outputs[0], spatial);
  const Planes indices(call.outputs[s.indices ? 1 : 0], spatial);
  visit_dtype(self.dtype, [&]<class S>() {
    if constexpr (!std::is_same_v<S, bool>) {
      using T = std::conditional_t<std::is_same_v<S, Half> || std::is_same_v<S, BFloat16>, float, S>;
      const auto run = [&]<class Compute>() {
        Pool<S, Compute> pool{s, x, y, s.indices ? &indices : nullptr, {}, {}};
        for (int64_t o = 0; o < s.out[0]; ++o) pool.rows.push_back(s.window(0, o));
        for (int64_t o = 0; o < s.out[1]; ++o) pool.columns.push_back(s.window(1, o));
        pool.run();
      };
      if constexpr (std::is_integral_v<S>) {
        if (!s.max) return run.template operator()<int64_t>();
      }
      run.template operator()<T>();
    }
  });
}

[[maybe_unused]] const bool registered = [] {
  for (const std::string_view name : {"max_pool1d", "max_pool2d", "max_pool1d_with_indices", "max_pool2d_with_indices", "avg_pool1d",
                                      "avg_pool2d", "adaptive_avg_pool2d", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices"})
    register_kernel(name, pool_kernel);
  return true;
}();

}  // namespace
}  // namespace tailor::kernels
