#include "frontend/compile/bucket_chooser.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace tailor {

BucketPolicy BucketPolicy::powers_of_two(int64_t min) {
  check(min >= 0, "bucketed: the smallest size must not be negative, got ", min);
  BucketPolicy policy;
  policy.number_ = min;
  return policy;
}

BucketPolicy BucketPolicy::multiples_of(int64_t n) {
  check(n > 0, "bucketed: multiples of a positive number, got ", n);
  BucketPolicy policy;
  policy.kind_ = Kind::Multiples;
  policy.number_ = n;
  return policy;
}

BucketPolicy BucketPolicy::sizes(std::vector<int64_t> sizes) {
  check(!sizes.empty(), "bucketed: no sizes are given");
  std::sort(sizes.begin(), sizes.end());
  check(sizes.front() >= 0, "bucketed: a size is negative: ", sizes.front());
  BucketPolicy policy;
  policy.kind_ = Kind::Sizes;
  policy.sizes_ = std::move(sizes);
  return policy;
}

BucketPolicy BucketPolicy::learned(int count, int64_t after) {
  check(count > 0 && after > 0, "bucketed: learns a positive number of sizes after a positive number of calls, got ", count, " and ",
        after);
  BucketPolicy policy;
  policy.kind_ = Kind::Learned;
  policy.number_ = count;
  policy.after_ = after;
  return policy;
}

namespace {

int64_t power_of_two(int64_t size) { return size <= 0 ? 0 : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(size))); }

/// The smallest of the sorted `buckets` that is not below `size`, or -1.
int64_t next_of(const std::vector<int64_t>& buckets, int64_t size) {
  const auto at = std::lower_bound(buckets.begin(), buckets.end(), size);
  return at == buckets.end() ? -1 : *at;
}

int64_t padding_with(const std::vector<int64_t>& buckets, const std::map<int64_t, int64_t>& seen) {
  int64_t padding = 0;
  for (const auto& [size, calls] : seen) {
    const int64_t bucket = next_of(buckets, size);
    padding += calls * ((bucket < 0 ? power_of_two(size) : bucket) - size);
  }
  return padding;
}

}  // namespace

int64_t BucketChooser::choose(int64_t size) {
  using Kind = BucketPolicy::Kind;
  switch (policy_.kind_) {
    case Kind::PowersOfTwo: return std::max(power_of_two(size), policy_.number_);
    case Kind::Multiples: return (size + policy_.number_ - 1) / policy_.number_ * policy_.number_;
    case Kind::Sizes: {
      const int64_t bucket = next_of(buckets_, size);
      return bucket < 0 ? size : bucket;
    }
    case Kind::Learned: {
      ++seen_[size];
      if (learn_at_ == 0) learn_at_ = policy_.after_;
      if (++calls_ > learn_at_) learn();
      const int64_t bucket = next_of(buckets_, size);
      return bucket < 0 ? power_of_two(size) : bucket;
    }
  }
  detail::raise<InternalError>("internal error, please report: unknown policy of buckets");
}

// New buckets are new specializations: they have to save something.
void BucketChooser::learn() {
  learn_at_ *= 2;
  std::vector<int64_t> best = best_buckets(seen_, static_cast<int>(policy_.number_));
  if (best == buckets_ || padding_with(best, seen_) * 10 > padding_with(buckets_, seen_) * 9) return;
  buckets_ = std::move(best);
  ++learned_;
}

std::vector<int64_t> best_buckets(const std::map<int64_t, int64_t>& calls_by_size, int count) {
  // Dynamic programming over the sorted sizes: cost[j] with k buckets, the last of them sizes[j].
  std::vector<int64_t> sizes, calls{0}, sums{0};  // the latter two up to each size
  for (const auto& [size, n] : calls_by_size) {
    sizes.push_back(size);
    calls.push_back(calls.back() + n);
    sums.push_back(sums.back() + n * size);
  }
  const size_t n = sizes.size();
  if (n == 0) return {};
  const auto padding = [&](size_t from, size_t to) {  // of sizes [from, to] padded to the last
    return (calls[to + 1] - calls[from]) * sizes[to] - (sums[to + 1] - sums[from]);
  };
  const size_t most = std::min(static_cast<size_t>(count), n);
  std::vector<int64_t> cost(n);
  std::vector<std::vector<size_t>> begins(most, std::vector<size_t>(n, 0));  // of the last bucket
  for (size_t j = 0; j < n; ++j) cost[j] = padding(0, j);
  for (size_t k = 1; k < most; ++k) {
    std::vector<int64_t> next = cost;
    begins[k] = begins[k - 1];
    for (size_t j = k; j < n; ++j) {
      int64_t best = std::numeric_limits<int64_t>::max();
      for (size_t i = k; i <= j; ++i) {
        const int64_t with = cost[i - 1] + padding(i, j);
        if (with < best) best = with, begins[k][j] = i;
      }
      next[j] = best;
    }
    cost = std::move(next);
  }
  std::vector<int64_t> buckets;
  size_t end = n;
  for (size_t k = most; k-- > 0 && end > 0;) {
    buckets.push_back(sizes[end - 1]);
    end = k == 0 ? 0 : begins[k][end - 1];
  }
  std::reverse(buckets.begin(), buckets.end());
  return buckets;
}

}  // namespace tailor
