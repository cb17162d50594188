#include "kernels/reduce/fold.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "kernels/copy.h"
#include "runtime/thread_pool.h"

namespace tailor::kernels::reduce {
namespace {

constexpr int64_t kSegment = int64_t{1} << 16;  // elements of a long row that one task folds
constexpr int64_t kGrain = int64_t{1} << 15;    // elements that are worth a task

template <class A>
A combine(Fold fold, A a, A b) {
  switch (fold) {
    case Fold::Sum: return a + b;
    case Fold::Prod: return a * b;
    case Fold::Max: return ((b > a) | (b != b)) ? b : a;
    case Fold::Min: return ((b < a) | (b != b)) ? b : a;
    case Fold::Any: return static_cast<A>((a != 0) | (b != 0));
    case Fold::All: return static_cast<A>((a != 0) | (b != 0));  // "some element is zero"
  }
  return a;
}

Acc combined(Fold fold, bool real, Acc a, Acc b) {
  Acc r;
  if (real)
    r.real = combine(fold, a.real, b.real);
  else if (fold == Fold::Sum || fold == Fold::Prod)
    r.whole = static_cast<int64_t>(combine(fold, static_cast<uint64_t>(a.whole), static_cast<uint64_t>(b.whole)));
  else
    r.whole = combine(fold, a.whole, b.whole);
  return r;
}

Acc start(Fold fold, bool real) {
  Acc a;
  const bool max = fold == Fold::Max;
  if (real)
    a.real = fold == Fold::Prod ? 1 : fold == Fold::Sum ? 0 : max ? -INFINITY : INFINITY;
  else
    a.whole = fold == Fold::Prod ? 1 : max ? INT64_MIN : fold == Fold::Min ? INT64_MAX : 0;
  return a;
}

struct Job {
  Fold fold;
  bool real;
  const std::byte* in;
  int64_t in_size;  // bytes of an element
  ScalarType in_type, type;
  const Layout& layout;
  RowsFn rows;
  ColumnsFn columns;
  PutFn put;
  void* context;

  const void* at(int64_t offset) const { return in + offset * in_size; }

  void finish(int64_t out, int64_t stride, Acc* acc, int64_t n) const {
    if (layout.repeats != 1 && fold == Fold::Sum)
      for (int64_t i = 0; i < n; ++i) {
        if (real)
          acc[i].real *= static_cast<double>(layout.repeats);
        else
          acc[i].whole = static_cast<int64_t>(static_cast<uint64_t>(acc[i].whole) * static_cast<uint64_t>(layout.repeats));
      }
    if (fold == Fold::All)
      for (int64_t i = 0; i < n; ++i) acc[i].whole = acc[i].whole == 0;
    put(context, out, stride, acc, n);
  }
};

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// ---- rows: the elements that fold together are adjacent -----------------------------------------------------------

Acc fold_unit(const Job& job, const Units& u, const Axes& outer, int64_t row, int64_t unit) {
  Acc acc;
  if (u.segments > 1) {
    const int64_t begin = unit % u.segments * kSegment;
    job.rows(job.at(row + Walker(outer, unit / u.segments).in() + begin), 1, 0, std::min(kSegment, u.run - begin), &acc);
    return acc;
  }
  const int64_t begin = unit * u.group, end = std::min(begin + u.group, u.runs);
  acc = start(job.fold, job.real);
  Walker walk(outer, begin);
  Acc each[64];
  // The innermost outer axis has one stride: its runs are the rows of one call.
  const Axis axis = outer.count ? outer.inner() : Axis{1, 0, 0};
  for (int64_t r = begin; r < end;) {
    const int64_t rows = std::min({end - r, axis.size - r % axis.size, int64_t{64}});
    job.rows(job.at(row + walk.in()), rows, axis.in, u.run, each);
    for (int64_t i = 0; i < rows; ++i) acc = combined(job.fold, job.real, acc, each[i]);
    r += rows;
    if (r < end) walk = Walker(outer, r);
  }
  return acc;
}

void fold_rows(const Job& job) {
  const Axes &kept = job.layout.kept, &folded = job.layout.folded;
  const Units u(folded, kSegment);
  const Axes outer = without_inner(folded);
  const int64_t results = kept.elements();
  if (u.count == 1 && u.runs == 1) {
    // Simple rows, many to a call.
    const Axis axis = kept.count ? kept.inner() : Axis{1, 0, 0};
    parallel_for(0, results, std::max<int64_t>(kGrain / std::max<int64_t>(u.run, 1), 1), [&](int64_t begin, int64_t end) {
      Acc acc[64];
      for (int64_t r = begin; r < end;) {
        const int64_t rows = std::min({end - r, axis.size - r % axis.size, int64_t{64}});
        const Walker walk(kept, r);
        job.rows(job.at(walk.in()), rows, axis.in, u.run, acc);
        job.finish(walk.out(), axis.out, acc, rows);
        r += rows;
      }
    });
    return;
  }
  const int64_t grain = std::max<int64_t>(kGrain / std::max<int64_t>(u.run * u.group, 1), 1);
  const auto partial = std::make_unique_for_overwrite<Acc[]>(static_cast<size_t>(results * u.count));
  parallel_for(0, results * u.count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      partial[static_cast<size_t>(t)] = fold_unit(job, u, outer, Walker(kept, t / u.count).in(), t % u.count);
  });
  Walker walk(kept, 0);
  for (int64_t r = 0; r < results; ++r, walk.next()) {
    Acc acc = start(job.fold, job.real);
    for (int64_t k = 0; k < u.count; ++k) acc = combined(job.fold, job.real, acc, partial[static_cast<size_t>(r * u.count + k)]);
    job.finish(walk.out(), 1, &acc, 1);
  }
}

// ---- columns: neighbouring results are adjacent in the input ------------------------------------------------------

struct Columns {
  int64_t width, chunks;             // of the innermost kept axis
  int64_t rows, row_stride, outers;  // of the folded axes: the innermost, and how many times it comes
  int64_t unit, units;               // rows folded at a time
  int64_t repeat;                    // dense narrow rows are taken several at a time, as one wide row
};

void fold_columns(const Job& job) {
  const Axes &kept = job.layout.kept, &folded = job.layout.folded;
  const Axes kept_outer = without_inner(kept), folded_outer = without_inner(folded);
  Columns c;
  c.width = kept.inner().size;
  c.chunks = ceil_div(c.width, kColumns);
  c.rows = folded.count ? folded.inner().size : 1;
  c.row_stride = folded.count ? folded.inner().in : 0;
  c.outers = folded_outer.elements();
  c.repeat = c.row_stride == c.width && c.width < 128 ? std::max<int64_t>(std::min(256 / c.width, c.rows / 8), 1) : 1;
  c.unit = ceil_div(std::max<int64_t>(kSegment * 2 / std::min(c.width, kColumns), 1024), c.repeat) * c.repeat;
  c.units = ceil_div(c.rows, c.unit);
  const int64_t parts = c.outers * c.units;  // partial results of one chunk
  const int64_t tasks = kept_outer.elements() * c.chunks * parts;
  const int64_t chunk_width = std::min(c.width, kColumns);

  // Folds one part of one chunk into acc.
  const auto run = [&](int64_t base, int64_t part, int64_t chunk, Acc* acc) {
    const int64_t columns = std::min(kColumns, c.width - chunk * kColumns), first = part % c.units * c.unit;
    const int64_t rows = std::min(c.unit, c.rows - first);
    const int64_t at = base + chunk * kColumns + Walker(folded_outer, part / c.units).in() + first * c.row_stride;
    const int64_t wide = rows / c.repeat;
    if (c.repeat == 1 || wide < 2) return job.columns(job.at(at), rows, c.row_stride, columns, acc);
    Acc many[kColumns];
    std::fill_n(many, c.repeat * columns, start(job.fold, job.real));
    job.columns(job.at(at), wide, c.repeat * columns, c.repeat * columns, many);
    for (int64_t k = 0; k < c.repeat; ++k)
      for (int64_t i = 0; i < columns; ++i) acc[i] = combined(job.fold, job.real, acc[i], many[k * columns + i]);
    const int64_t rest = rows - wide * c.repeat;
    if (rest > 0) job.columns(job.at(at + wide * c.repeat * c.row_stride), rest, c.row_stride, columns, acc);
  };
  const auto finish = [&](int64_t group, int64_t chunk, Acc* acc) {
    const int64_t stride = kept.inner().out;
    job.finish(Walker(kept_outer, group).out() + chunk * kColumns * stride, stride, acc, std::min(kColumns, c.width - chunk * kColumns));
  };

  const int64_t grain = std::max<int64_t>(kGrain / std::max<int64_t>(std::min(c.unit, c.rows) * chunk_width, 1), 1);
  if (parts == 1) {
    parallel_for(0, tasks, grain, [&](int64_t begin, int64_t end) {
      Acc acc[kColumns];
      for (int64_t t = begin; t < end; ++t) {
        std::fill_n(acc, chunk_width, start(job.fold, job.real));
        run(Walker(kept_outer, t / c.chunks).in(), 0, t % c.chunks, acc);
        finish(t / c.chunks, t % c.chunks, acc);
      }
    });
    return;
  }
  if (c.units == 1) {
    // Many short stretches: each chunk takes all of its parts in order.
    parallel_for(0, tasks / parts, std::max<int64_t>(grain / parts, 1), [&](int64_t begin, int64_t end) {
      Acc acc[kColumns];
      for (int64_t t = begin; t < end; ++t) {
        std::fill_n(acc, chunk_width, start(job.fold, job.real));
        for (int64_t part = 0; part < parts; ++part) run(Walker(kept_outer, t / c.chunks).in(), part, t % c.chunks, acc);
        finish(t / c.chunks, t % c.chunks, acc);
      }
    });
    return;
  }
  const auto partial = std::make_unique_for_overwrite<Acc[]>(static_cast<size_t>(tasks * chunk_width));
  parallel_for(0, tasks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      Acc* const acc = &partial[static_cast<size_t>(t * chunk_width)];
      std::fill_n(acc, chunk_width, start(job.fold, job.real));
      run(Walker(kept_outer, t / parts / c.chunks).in(), t % parts, t / parts % c.chunks, acc);
    }
  });
  parallel_for(0, tasks / parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      Acc* const acc = &partial[static_cast<size_t>(t * parts * chunk_width)];
      for (int64_t part = 1; part < parts; ++part)
        for (int64_t i = 0; i < chunk_width; ++i) acc[i] = combined(job.fold, job.real, acc[i], acc[part * chunk_width + i]);
      finish(t / c.chunks, t % c.chunks, acc);
    }
  });
}

// ---- everything else: gather stretches into a buffer, converting if need be ---------------------------------------

template <class To, class From>
To convert(From v) {
  if constexpr (std::is_same_v<To, bool>)
    return v != From(0);
  else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>)
    return Scalar(static_cast<double>(v)).to<To>();
  else
    return static_cast<To>(v);
}

constexpr int64_t kBuffer = 4096;

/// Reads `n` elements from the walker on.
void gather(const Job& job, int64_t base, Walker& walk, int64_t n, std::byte* buffer) {
  visit_dtype(job.in_type, [&]<class From>() {
    const From* const x = reinterpret_cast<const From*>(job.in) + base;
    if (job.in_type == job.type) {
      From* const to = reinterpret_cast<From*>(buffer);
      for (int64_t i = 0; i < n; ++i, walk.next()) to[i] = x[walk.in()];
      return;
    }
    visit_dtype(job.type, [&]<class To>() {
      To* const to = reinterpret_cast<To*>(buffer);
      for (int64_t i = 0; i < n; ++i, walk.next()) to[i] = convert<To>(x[walk.in()]);
    });
  });
}

void fold_gathered(const Job& job) {
  const Axes &kept = job.layout.kept, &folded = job.layout.folded;
  const int64_t n = folded.elements(), pieces = std::max<int64_t>(ceil_div(n, kSegment), 1), results = kept.elements();
  const auto partial = std::make_unique_for_overwrite<Acc[]>(static_cast<size_t>(results * pieces));
  parallel_for(0, results * pieces, std::max<int64_t>(kGrain / 4 / std::max<int64_t>(std::min(n, kSegment), 1), 1),
               [&](int64_t begin, int64_t end) {
                 alignas(64) std::byte buffer[kBuffer * 8];
                 for (int64_t t = begin; t < end; ++t) {
                   const int64_t base = Walker(kept, t / pieces).in(), first = t % pieces * kSegment, last = std::min(first + kSegment, n);
                   Walker walk(folded, first);
                   Acc acc = start(job.fold, job.real), part;
                   for (int64_t i = first; i < last; i += kBuffer) {
                     const int64_t length = std::min(kBuffer, last - i);
                     gather(job, base, walk, length, buffer);
                     job.rows(buffer, 1, 0, length, &part);
                     acc = combined(job.fold, job.real, acc, part);
                   }
                   partial[static_cast<size_t>(t)] = acc;
                 }
               });
  Walker walk(kept, 0);
  for (int64_t r = 0; r < results; ++r, walk.next()) {
    Acc acc = start(job.fold, job.real);
    for (int64_t k = 0; k < pieces; ++k) acc = combined(job.fold, job.real, acc, partial[static_cast<size_t>(r * pieces + k)]);
    job.finish(walk.out(), 1, &acc, 1);
  }
}

}  // namespace

void fold(Fold how, TensorArg in, ScalarType type, const Layout& layout, PutFn put, void* context) {
  const Table& t = table();
  const int f = static_cast<int>(how), d = static_cast<int>(type);
  const Job job{how,
                is_real(how, type),
                in.as<const std::byte>(),
                element_size(in.spec->dtype),
                in.spec->dtype,
                type,
                layout,
                t.rows[f][d],
                t.columns[f][d],
                put,
                context};
  const int64_t results = layout.kept.elements();
  if (results == 0) return;
  if (layout.folded.elements() == 0) {
    Walker walk(layout.kept, 0);
    for (int64_t r = 0; r < results; ++r, walk.next()) {
      Acc acc = start(how, job.real);
      job.finish(walk.out(), 1, &acc, 1);
    }
    return;
  }
  if (in.spec->dtype != type) return fold_gathered(job);
  if (layout.folded.count == 0 && layout.kept.has_inner(1)) return fold_columns(job);
  if (layout.folded.count == 0 || layout.folded.has_inner(1)) return fold_rows(job);
  if (layout.kept.has_inner(1)) return fold_columns(job);
  fold_gathered(job);
}

Layout fold_layout(Fold how, const ir::TensorSpec& in, ir::DimMask mask, const ir::TensorSpec& out) {
  bool broadcast = false;  // a product counts every element, broadcast ones too
  for (size_t d = 0; d < in.sizes.size(); ++d) broadcast |= (mask >> d & 1) && in.strides[d] == 0;
  return make_layout(in, mask, out, how == Fold::Prod && broadcast);
}

void store(TensorArg out, int64_t at, int64_t stride, const Acc* acc, int64_t n, bool real, double divisor) {
  visit_dtype(out.spec->dtype, [&]<class T>() {
    T* const to = out.as<T>() + at;
    if (!real) {
      for (int64_t i = 0; i < n; ++i) to[i * stride] = convert<T>(acc[i].whole);
    } else if (divisor == 1) {
      for (int64_t i = 0; i < n; ++i) to[i * stride] = convert<T>(acc[i].real);
    } else {
      for (int64_t i = 0; i < n; ++i) to[i * stride] = convert<T>(acc[i].real / divisor);
    }
  });
}

}  // namespace tailor::kernels::reduce
