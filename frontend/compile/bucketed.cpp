#include "tailor/bucketed.h"

#include <iomanip>
#include <mutex>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "frontend/compile/bucket_chooser.h"
#include "tailor/ops/creation.h"
#include "tailor/ops/view.h"

namespace tailor {

double PaddingStats::waste() const {
  return real_elements ? static_cast<double>(padded_elements - real_elements) / static_cast<double>(real_elements) : 0;
}

std::string PaddingStats::text() const {
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << calls << " calls, " << real_elements << " elements padded to " << padded_elements << ": "
      << 100 * waste() << " % more\n";
  for (const Dim& dim : dims) {
    out << dim.name << ": " << dim.buckets.size() << " sizes";
    if (dim.learned) out << ", learned " << dim.learned << " times";
    if (dim.unpadded) out << ", " << dim.unpadded << " calls not padded";
    out << "\n";
    for (const Bucket& b : dim.buckets) {
      const double mean = b.calls ? static_cast<double>(b.real) / static_cast<double>(b.calls) : 0;
      out << "  " << std::setw(8) << b.size << std::setw(10) << b.calls << " calls, on average " << mean << "\n";
    }
  }
  return out.str();
}

std::string PaddingStats::json() const {
  nlohmann::ordered_json all{{"calls", calls}, {"real_elements", real_elements}, {"padded_elements", padded_elements}, {"waste", waste()}};
  all["dims"] = nlohmann::ordered_json::array();
  for (const Dim& dim : dims) {
    nlohmann::ordered_json j{{"name", dim.name}, {"unpadded", dim.unpadded}, {"learned", dim.learned}};
    j["buckets"] = nlohmann::ordered_json::array();
    for (const Bucket& b : dim.buckets) j["buckets"].push_back({{"size", b.size}, {"calls", b.calls}, {"real", b.real}});
    all["dims"].push_back(std::move(j));
  }
  return all.dump(2);
}

std::ostream& operator<<(std::ostream& out, const PaddingStats& stats) { return out << stats.text(); }

namespace detail {

struct BucketedState::Impl {
  std::vector<BucketedDim> dims;
  mutable std::mutex mutex;  // guards what follows
  std::vector<BucketChooser> choosers;
  std::vector<std::map<int64_t, PaddingStats::Bucket>> buckets;
  std::vector<uint64_t> unpadded;
  uint64_t calls = 0;
  int64_t real_elements = 0, padded_elements = 0;

  const Tensor& tensor(std::span<Tensor* const> all, int number, const char* what) const {
    check(number >= 0 && static_cast<size_t>(number) < all.size(), "bucketed: ", what, " tensor ", number, " is named, but there are ",
          all.size());
    return *all[static_cast<size_t>(number)];
  }
};

BucketedState::BucketedState(std::vector<BucketedDim> dims) : impl_(std::make_unique<Impl>()) {
  for (const BucketedDim& dim : dims) {
    check(!dim.arguments.empty(), "bucketed: ", dim.name, " occurs in no argument");
    impl_->choosers.emplace_back(dim.policy);
  }
  impl_->buckets.resize(dims.size());
  impl_->unpadded.resize(dims.size());
  impl_->dims = std::move(dims);
}
BucketedState::~BucketedState() = default;

std::vector<std::pair<int64_t, int64_t>> BucketedState::pad(std::span<Tensor* const> arguments) {
  Impl& s = *impl_;
  std::vector<std::pair<int64_t, int64_t>> sizes;
  for (const BucketedDim& dim : s.dims) {
    int64_t size = -1;
    for (const BucketedDim::Argument& a : dim.arguments) {
      const Tensor& t = s.tensor(arguments, a.tensor, "argument");
      check(t.defined(), "bucketed: argument tensor ", a.tensor, " is undefined");
      check(a.dim >= -t.dim() && a.dim < t.dim(), "bucketed: argument tensor ", a.tensor, " has rank ", t.dim(), ", dim ", a.dim,
            " is named");
      const int64_t here = t.size(a.dim);
      check(size < 0 || here == size, "bucketed: ", dim.name, " is ", size, " in argument tensor ", dim.arguments[0].tensor, " but ", here,
            " in tensor ", a.tensor);
      size = here;
    }
    sizes.emplace_back(size, size);
  }
  // What each tensor is padded by, and with.
  struct Pads {
    std::vector<int64_t> after;  // last dim first, two numbers each
    double value = 0;
  };
  std::map<int, Pads> pads;
  {
    std::lock_guard lock(s.mutex);
    for (size_t d = 0; d < s.dims.size(); ++d) {
      auto& [size, bucket] = sizes[d];
      bucket = s.choosers[d].choose(size);
      if (s.choosers[d].beyond(size)) {
        ++s.unpadded[d];
        continue;
      }
      PaddingStats::Bucket& count = s.buckets[d][bucket];
      count.size = bucket;
      ++count.calls;
      count.real += size;
    }
    ++s.calls;
  }
  for (size_t d = 0; d < s.dims.size(); ++d) {
    for (const BucketedDim::Argument& a : s.dims[d].arguments) {
      const Tensor& t = *arguments[static_cast<size_t>(a.tensor)];
      Pads& p = pads[a.tensor];
      p.after.resize(2 * static_cast<size_t>(t.dim()));
      const int64_t dim = a.dim < 0 ? a.dim + t.dim() : a.dim;
      p.after[2 * static_cast<size_t>(t.dim() - 1 - dim) + 1] = sizes[d].second - sizes[d].first;
      p.value = a.value;
    }
  }
  int64_t real = 0, padded = 0;
  for (const auto& [number, p] : pads) {
    Tensor& t = *arguments[static_cast<size_t>(number)];
    real += t.numel();
    if (std::any_of(p.after.begin(), p.after.end(), [](int64_t n) { return n != 0; })) t = constant_pad_nd(t, p.after, p.value);
    padded += t.numel();
  }
  for (size_t d = 0; d < s.dims.size(); ++d) {
    const auto [size, bucket] = sizes[d];
    if (s.dims[d].mask) {
      s.tensor(arguments, *s.dims[d].mask, "mask");
      *arguments[static_cast<size_t>(*s.dims[d].mask)] = arange(bucket, kInt64) < size;
    }
    if (s.dims[d].length) {
      s.tensor(arguments, *s.dims[d].length, "length");
      *arguments[static_cast<size_t>(*s.dims[d].length)] = scalar_tensor(size, kInt64);
    }
  }
  std::lock_guard lock(s.mutex);
  s.real_elements += real;
  s.padded_elements += padded;
  return sizes;
}

void BucketedState::cut(std::span<const std::pair<int64_t, int64_t>> sizes, std::span<Tensor* const> results) const {
  for (size_t d = 0; d < sizes.size(); ++d) {
    const auto [size, bucket] = sizes[d];
    for (const BucketedDim::Result& r : impl_->dims[d].results) {
      const Tensor& t = impl_->tensor(results, r.tensor, "result");
      check(r.dim >= -t.dim() && r.dim < t.dim(), "bucketed: result tensor ", r.tensor, " has rank ", t.dim(), ", dim ", r.dim,
            " is named");
      check(t.size(r.dim) == bucket, "bucketed: result tensor ", r.tensor, " has ", t.size(r.dim), " in dim ", r.dim, ", where ",
            impl_->dims[d].name, " was padded to ", bucket);
      if (size != bucket) *results[static_cast<size_t>(r.tensor)] = t.narrow(r.dim, 0, size);
    }
  }
}

PaddingStats BucketedState::padding() const {
  const Impl& s = *impl_;
  std::lock_guard lock(s.mutex);
  PaddingStats all{s.calls, s.real_elements, s.padded_elements, {}};
  for (size_t d = 0; d < s.dims.size(); ++d) {
    PaddingStats::Dim dim{s.dims[d].name, {}, s.unpadded[d], s.choosers[d].learned()};
    for (const auto& [size, bucket] : s.buckets[d]) dim.buckets.push_back(bucket);
    all.dims.push_back(std::move(dim));
  }
  return all;
}

}  // namespace detail
}  // namespace tailor
