#pragma once
// The conjunction of guards that protects one specialization.

#include <atomic>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "guards/guard.h"
#include "guards/miss.h"
#include "ir/layout.h"

namespace tailor::guards {

/// Two forms of the same facts: whole descriptions compared at once (the fast check), and single guards with paths and source
/// lines (the verbose twin, made from them when a check fails or somebody looks).
class GuardSet {
 public:
  /// Everything about tensor `index` that its description holds. Sizes of the dimensions in `dynamic` may be anything in their range;
  /// the strides are then those of a dense tensor whose dimensions lie in the order they have in `spec`, or, where `spec` is not dense,
  /// the strides of `spec`. The first call for an index counts. Throws Error when a range names no dimension of `spec` or is empty.
  void require_spec(int index, const ir::TensorSpec* spec, std::string path, std::string source, std::span<const DimRange> dynamic = {});
  void require_scalar(int index, Scalar value, std::string path, std::string source);
  void require_structure(std::span<const int64_t> words);
  void require_ambient(uint64_t word);
  void require_module_epoch(uint64_t epoch);
  void require_aliasing(std::vector<int64_t> pattern);

  bool check(const CallDescriptor& call) const;
  /// The first guard that fails, told in full; nothing when all hold.
  std::optional<Miss> explain(const CallDescriptor& call) const;
  /// Every guard as data, in the order of checking.
  std::vector<Guard> guards() const;
  size_t size() const { return guards().size(); }
  void refresh_module_epoch(uint64_t epoch) { module_epoch_ = epoch; }

 private:
  struct SpecGuard {
    int index;
    bool defined;
    ir::TensorSpec spec;
    std::string path, source;
    std::vector<DimRange> dynamic;
    std::optional<ir::DimOrder> order;        // dynamic and dense
    mutable std::atomic<uint64_t> passed{0};  // the id of the tensor that passed last: ids are never used twice
    SpecGuard(int i, bool d, ir::TensorSpec s, std::string p, std::string src)
        : index(i), defined(d), spec(std::move(s)), path(std::move(p)), source(std::move(src)) {}
    SpecGuard(const SpecGuard& o) : SpecGuard(o.index, o.defined, o.spec, o.path, o.source) {
      dynamic = o.dynamic;
      order = o.order;
    }
    SpecGuard& operator=(const SpecGuard&) = delete;
    const DimRange* range(int dim) const;
    bool holds(const ir::TensorSpec& got) const;
  };
  struct ScalarGuard {
    int index;
    Scalar value;
    std::string path, source;
  };
  std::deque<SpecGuard> specs_;
  std::vector<ScalarGuard> scalars_;
  std::vector<int64_t> structure_;
  std::optional<uint64_t> ambient_, module_epoch_;
  std::optional<std::vector<int64_t>> aliasing_;
};

}  // namespace tailor::guards
