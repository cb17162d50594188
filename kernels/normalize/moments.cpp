#include "kernels/normalize/moments.h"

#include <algorithm>
#include <cmath>

#include "kernels/dense.h"
#include "runtime/thread_pool.h"

namespace tailor::kernels::normalize {

using reduce::Axes;
using reduce::Axis;
using reduce::Layout;
using reduce::Units;
using reduce::Walker;

Moments merged(Moments a, double count_a, Moments b, double count_b) {
  if (count_a == 0) return b;
  const double share = count_b / (count_a + count_b), delta = b.mean - a.mean;
  const double mean = std::isfinite(delta) ? a.mean + delta * share : a.mean + b.mean;  // infinite means stay so
  return {mean, a.m2 + b.m2 + delta * delta * count_a * share};
}

Moments moments_of(const Loops& f, const void* x, int64_t n, int64_t element_bytes) {
  Moments total;
  for (int64_t done = 0; done < n; done += kPiece) {
    const int64_t count = std::min(kPiece, n - done);
    Moments piece;
    f.moments(static_cast<const std::byte*>(x) + done * element_bytes, count, &piece.mean, &piece.m2);
    total = merged(total, static_cast<double>(done), piece, static_cast<double>(count));
  }
  return total;
}

namespace {

constexpr int64_t kGrain = int64_t{1} << 14, kRows = 64;

struct Job {
  const Loops& f;
  const std::byte* in;
  int64_t size;
  const Layout& layout;
  Moments* out;
  const void* at(int64_t offset) const { return in + offset * size; }
};

/// The moments of one unit of one result, and how many elements it has.
std::pair<Moments, int64_t> unit_moments(const Job& job, const Units& u, const Axes& outer, int64_t row, int64_t unit) {
  if (u.segments > 1) {
    const int64_t begin = unit % u.segments * kPiece, n = std::min(kPiece, u.run - begin);
    Moments m;
    job.f.moments(job.at(row + Walker(outer, unit / u.segments).in() + begin), n, &m.mean, &m.m2);
    return {m, n};
  }
  const int64_t begin = unit * u.group, end = std::min(begin + u.group, u.runs);
  Moments total;
  Walker walk(outer, begin);
  for (int64_t r = begin; r < end; ++r, walk.next()) {
    Moments m;
    job.f.moments(job.at(row + walk.in()), u.run, &m.mean, &m.m2);
    total = merged(total, static_cast<double>((r - begin) * u.run), m, static_cast<double>(u.run));
  }
  return {total, (end - begin) * u.run};
}

void moments_by_rows(const Job& job) {
  const Axes& kept = job.layout.kept;
  const Units u(job.layout.folded, kPiece);
  const Axes outer = without_inner(job.layout.folded);
  const int64_t results = kept.elements();
  const auto parts = std::make_unique_for_overwrite<std::pair<Moments, int64_t>[]>(static_cast<size_t>(results * u.count));
  const int64_t grain = std::max<int64_t>(kGrain / std::min(u.run * u.group, kPiece), 1);
  parallel_for(0, results * u.count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      parts[static_cast<size_t>(t)] = unit_moments(job, u, outer, Walker(kept, t / u.count).in(), t % u.count);
  });
  Walker walk(kept, 0);
  for (int64_t r = 0; r < results; ++r, walk.next()) {
    Moments total;
    int64_t count = 0;
    for (int64_t k = 0; k < u.count; ++k) {
      const auto& [m, n] = parts[static_cast<size_t>(r * u.count + k)];
      total = merged(total, static_cast<double>(count), m, static_cast<double>(n));
      count += n;
    }
    job.out[walk.out()] = total;
  }
}

void moments_by_columns(const Job& job) {
  const Axes& kept = job.layout.kept;
  const Axes kept_outer = without_inner(kept), folded_outer = without_inner(job.layout.folded);
  const Axis rows = job.layout.folded.count ? job.layout.folded.inner() : Axis{1, 0, 0}, columns = kept.inner();
  const int64_t blocks = (rows.size + kRows - 1) / kRows, strips = (columns.size + kStrip - 1) / kStrip, outers = folded_outer.elements();
  const int64_t parts = outers * blocks, tasks = kept_outer.elements() * strips * parts;
  const auto part = std::make_unique_for_overwrite<double[]>(static_cast<size_t>(tasks * 2 * kStrip));
  const auto length = [&](int64_t p) { return std::min(kRows, rows.size - p % blocks * kRows); };
  const int64_t grain = std::max<int64_t>(kGrain / (std::min(rows.size, kRows) * std::min(columns.size, kStrip)), 1);
  parallel_for(0, tasks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t p = t % parts, strip = t / parts % strips, first = strip * kStrip;
      const int64_t base =
          Walker(kept_outer, t / parts / strips).in() + Walker(folded_outer, p / blocks).in() + p % blocks * kRows * rows.in;
      double* const to = &part[static_cast<size_t>(t * 2 * kStrip)];
      job.f.moments_columns(job.at(base + first), length(p), rows.in, std::min(kStrip, columns.size - first), to, to + kStrip);
    }
  });
  parallel_for(0, tasks / parts, std::max<int64_t>(kGrain / 512 / parts, 1), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t first = t % strips * kStrip, out = Walker(kept_outer, t / strips).out();
      for (int64_t c = 0; c < std::min(kStrip, columns.size - first); ++c) {
        Moments total;
        int64_t count = 0;
        for (int64_t p = 0; p < parts; ++p) {
          const double* const from = &part[static_cast<size_t>((t * parts + p) * 2 * kStrip + c)];
          total = merged(total, static_cast<double>(count), {from[0], from[kStrip]}, static_cast<double>(length(p)));
          count += length(p);
        }
        job.out[out + (first + c) * columns.out] = total;
      }
    }
  });
}

}  // namespace

std::unique_ptr<Moments[]> moments_over(TensorArg in, ir::DimMask mask) {
  const ir::TensorSpec result(in.spec->dtype, ir::reduced_sizes(in.spec->sizes, mask, false));
  auto out = std::make_unique<Moments[]>(static_cast<size_t>(result.numel()));
  if (result.numel() == 0) return out;
  if (ir::reduced_count(in.spec->sizes, mask) == 0) {
    std::fill_n(out.get(), result.numel(), Moments{NAN, 0});
    return out;
  }
  const Layout layout = reduce::make_layout(*in.spec, mask, result, false);
  const Job job{loops(in.spec->dtype), in.as<const std::byte>(), element_size(in.spec->dtype), layout, out.get()};
  if (layout.kept.has_inner(1) && !layout.folded.has_inner(1)) {
    moments_by_columns(job);
  } else if (layout.folded.count == 0 || layout.folded.has_inner(1)) {
    moments_by_rows(job);
  } else {
    const ir::TensorSpec dense(in.spec->dtype, in.spec->sizes);
    const DenseInput copied(in, in.spec->dtype);
    return moments_over({const_cast<void*>(copied.as()), &dense}, mask);
  }
  for (int64_t i = 0; layout.repeats != 1 && i < result.numel(); ++i) out[static_cast<size_t>(i)].m2 *= static_cast<double>(layout.repeats);
  return out;
}

}  // namespace tailor::kernels::normalize
