#pragma once
// The conjunction of guards that protects one specialization.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "guards/guard.h"
#include "guards/miss.h"
#include "guards/order.h"
#include "guards/predicate.h"

namespace tailor::guards {

/// What a word, or a run of words, of CallDescriptor::structure (or of the scalars) stands for.
struct Part {
  GuardKind kind = GuardKind::Length;  // Alternative, Presence, Length, Keys; ScalarValue, EnumValue, Text
  std::string path;
  int words = 1;
  int key_format = 0;  // Keys: a KeyFormat
};

/// Facts are collected, then sealed: simplified, ordered and compiled to a flat program, the check of every call. The verbose twin
/// keeps every single fact with its path and source line, and says which one a call breaks. Which parts fail, and what each costs,
/// is learned from calls that do not match; the order of checking follows. Checks may run on any number of threads once sealed.
class GuardSet {
 public:
  GuardSet();
  ~GuardSet();
  GuardSet(GuardSet&&) noexcept;
  GuardSet& operator=(GuardSet&&) noexcept;

  // ---- collecting
  void add(Guard guard);
  /// Everything about tensor `index` that its description holds. Sizes of the dimensions in `dynamic` may be anything in their range;
  /// the strides are then those of a dense tensor whose dimensions lie in the order they have in `spec`, or, where `spec` is not dense,
  /// the strides of `spec`. The first call for an index counts. Throws Error when a range names no dimension of `spec` or is empty.
  void require_spec(int index, const ir::TensorSpec* spec, std::string path, std::string source, std::span<const DimRange> dynamic = {});
  void require_scalar(int index, Scalar value, std::string path, std::string source);
  /// All numbers of a call, told apart by `parts`.
  void require_scalars(std::span<const Scalar> scalars, std::span<const Part> parts);
  /// The structure of a call: `words` in the order of `parts`.
  void require_structure(std::span<const int64_t> words, std::span<const Part> parts);
  void require_storage_offset(int index, int64_t offset, std::string path, std::string source);
  /// The storage holds `after` bytes from the tensor's first element on, and `before` bytes before it.
  void require_storage_reach(int index, int64_t after, int64_t before, std::string path, std::string source);
  void require_ambient(uint64_t word);
  void require_module_epoch(uint64_t epoch);
  void require_identity(std::span<const TensorFact> tensors);
  void require_aliasing(std::span<const TensorFact> tensors);
  /// `names`: of the tensors, where they are not args[0], args[1] ...
  void require_predicate(const SizeExpr& left, Comparison comparison, const SizeExpr& right, std::string source,
                         std::span<const std::string> names = {});
  /// The cell has the value it has now.
  void require_cell(GuardKind kind, IntrusivePtr<Cell> cell, uint64_t value, std::string path, std::string source);

  /// Lets a user decide about each fact: nothing drops it.
  using Review = std::function<std::optional<Guard>(const Guard&)>;
  void review(const Review& review);
  /// Simplifies, orders, compiles. Facts added later need sealing again.
  void seal(Order order = Order::Expected);

  // ---- checking
  bool check(const CallDescriptor& call) const;
  /// The first fact that fails, told in full; nothing when all hold.
  std::optional<Miss> explain(const CallDescriptor& call) const;
  /// A followed call has shown that what it reaches through modules is what it was.
  void refresh_module_epoch(uint64_t epoch) const;

  // ---- looking in
  /// Every guard as data, simplified.
  std::vector<Guard> guards() const;
  /// Every fact as it was collected.
  const std::vector<Guard>& facts() const;
  size_t size() const { return guards().size(); }
  /// A part of the conjunction that is checked as a whole.
  struct Unit {
    std::vector<Guard> guards;
    double cost = 0;        // nanoseconds: typical, then measured
    uint64_t failures = 0;  // among `samples` calls that did not match
  };
  /// In the order of checking.
  std::vector<Unit> units() const;
  uint64_t samples() const;

  // ---- learning; check() does this by itself
  /// Counts every part that fails for this call.
  void learn(const CallDescriptor& call) const;
  /// Puts the parts into the best order by what was learned. Costs are measured on `call`; without one the typical ones count.
  void reorder(const CallDescriptor* call) const;

 private:
  struct State;
  bool check_facts(const CallDescriptor& call) const;
  void missed(const CallDescriptor& call) const;
  std::unique_ptr<State> state_;
};

}  // namespace tailor::guards
