#pragma once
// The bucket of a size, for each policy; learns where it is asked to. Callers lock.

#include <map>

#include "tailor/bucketed.h"

namespace tailor {

class BucketChooser {
 public:
  explicit BucketChooser(BucketPolicy policy) : policy_(std::move(policy)), buckets_(policy_.sizes_) {}
  /// At least `size`; `size` itself where no bucket is large enough.
  int64_t choose(int64_t size);
  /// Larger than all sizes that were given.
  bool beyond(int64_t size) const { return policy_.kind_ == BucketPolicy::Kind::Sizes && size > policy_.sizes_.back(); }
  int learned() const { return learned_; }

 private:
  void learn();
  BucketPolicy policy_;
  std::vector<int64_t> buckets_;
  std::map<int64_t, int64_t> seen_;  // size -> calls
  int64_t calls_ = 0, learn_at_ = 0;
  int learned_ = 0;
};

/// At most `count` of the sizes (the largest among them) that need the least padding when every size goes up to the next one.
std::vector<int64_t> best_buckets(const std::map<int64_t, int64_t>& calls_by_size, int count);

}  // namespace tailor
