#pragma once
// The compiled forms of one segment in one size.

#include <atomic>
#include <memory>

namespace tailor::follow {

struct Variant;

/// Prepend-only; readers need no lock. Variants live as long as their step.
class VariantList {
 public:
  VariantList() = default;
  ~VariantList();
  const Variant* head() const { return head_.load(std::memory_order_acquire); }
  void push(std::unique_ptr<Variant> variant);  // one thread at a time
  int count() const { return count_.load(std::memory_order_relaxed); }
  std::atomic<bool> failed{false};   // compiling failed once: this segment runs op by op
  std::atomic<bool> waiting{false};  // a variant is being compiled in the background

 private:
  std::atomic<const Variant*> head_{nullptr};
  std::atomic<int> count_{0};
};

}  // namespace tailor::follow
