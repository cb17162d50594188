#pragma once
// What user code reads of sizes in a call of a pure function: the record that says in which other sizes it would do the same.
//
// Sizes are read through Tensor's methods, by user code and by the library's own compositions alike; each read is noted here. Ops'
// shape rules read descriptions as well, but run again for every size, so that nothing is noted while an op is dispatched. A plain
// read is the fact that the size is what it was. A SymInt is an expression over sizes: comparing it is a predicate, and what an op
// takes from it is noted with the op.

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "frontend/tensor_impl.h"
#include "tailor/sym_int.h"

namespace tailor {

struct OpCall;
struct SymUse;

/// Who a tensor is in a call: an argument, or a value that the call has computed.
struct SizedTensor {
  enum class Kind : uint8_t { Argument, Slot } kind = Kind::Argument;
  int index = -1;
  friend auto operator<=>(const SizedTensor&, const SizedTensor&) = default;
};

class TensorDirectory {
 public:
  virtual ~TensorDirectory() = default;
  /// Nothing for tensors that are neither: what a pure function captures does not change.
  virtual std::optional<SizedTensor> find(const TensorImpl& tensor) const = 0;
};

/// The record, as data.
struct SizeFacts {
  /// An expression; operands come before it.
  struct Node {
    detail::SymCode code = detail::SymCode::Constant;
    int64_t a = 0, b = 0;  // Constant: the value. Size: dimension `b` of `tensor`. Otherwise: the operands' numbers
    SizedTensor tensor = {};
    friend auto operator<=>(const Node&, const Node&) = default;
  };
  /// Has come out true.
  struct Predicate {
    detail::SymComparison comparison;
    int left, right;
    std::string source;
    friend bool operator==(const Predicate&, const Predicate&) = default;
  };
  /// Whether the tensor can be seen in other sizes without a copy, or is contiguous where there are none.
  struct Layout {
    SizedTensor tensor;
    std::optional<std::vector<int>> shape;
    bool outcome;
    std::string source;
    friend bool operator==(const Layout&, const Layout&) = default;
  };
  /// Strides, where they were read.
  struct Strides {
    SizedTensor tensor;
    Dims strides;
    friend bool operator==(const Strides&, const Strides&) = default;
  };
  /// A number that op `step` of the path takes from an expression.
  struct Use {
    size_t step;
    int operand = -1;    // a scalar operand, or
    int attribute = -1;  // an attribute, of which
    int element = -1;    // this one, where it is a list
    int node;
    friend bool operator==(const Use&, const Use&) = default;
  };
  friend bool operator==(const SizeFacts&, const SizeFacts&) = default;
  std::vector<Node> nodes;
  std::vector<Predicate> predicates;
  std::vector<Layout> layouts;
  std::vector<Strides> strides;
  std::vector<Use> uses;
};

/// The values of a record's expressions in a call of other sizes.
class SizeValues {
 public:
  using SpecOf = const ir::TensorSpec* (*)(const void* context, SizedTensor tensor);
  SizeValues(const SizeFacts& facts, SpecOf spec_of, const void* context)
      : facts_(facts), spec_of_(spec_of), context_(context), known_(facts.nodes.size()) {}
  /// Nothing where arithmetic fails or a tensor is not there.
  std::optional<int64_t> operator()(int node);
  /// The first thing that is not what it was: what it says and what it is now; nothing where all holds.
  struct Difference {
    std::string fact, actual, source;
  };
  std::optional<Difference> difference(const std::vector<std::string>& tensor_names);

 private:
  std::optional<bool> outcome(const SizeFacts::Layout& layout);
  const SizeFacts& facts_;
  SpecOf spec_of_;
  const void* context_;
  std::vector<std::optional<int64_t>> known_;
};

/// `args[0].size(0) % 4`; tensors of the call are "value 3".
std::string text_of(const SizeFacts& facts, int node, const std::vector<std::string>& argument_names);

struct SizeFactText {
  std::string fact, source;
};
/// What is known about values that the call computes, rather than about arguments alone.
std::vector<SizeFactText> texts_of_computed(const SizeFacts& facts, const std::vector<std::string>& argument_names);

class SizeReads {
 public:
  explicit SizeReads(const TensorDirectory& tensors);
  SizeReads(const SizeReads&) = delete;
  SizeReads& operator=(const SizeReads&) = delete;
  ~SizeReads();

  // ---- plain reads
  void size_read(const TensorImpl& tensor, size_t dim, std::source_location where);
  void sizes_read(const TensorImpl& tensor, std::source_location where = {});
  void strides_read(const TensorImpl& tensor);
  void count_read(const TensorImpl& tensor, std::source_location where = {});
  void contiguity_read(const TensorImpl& tensor);
  /// Whether `tensor` can be seen as `shape` without a copy was asked.
  void viewability_read(const TensorImpl& tensor, const SymIntArrayRef& shape, bool outcome, std::source_location where);

  // ---- expressions
  SymInt size_of(const TensorImpl& tensor, size_t dim);
  SymInt expression(detail::SymCode code, const SymInt& a, const SymInt& b);
  bool predicate(detail::SymComparison comparison, const SymInt& a, const SymInt& b, std::source_location where);
  /// The value of an expression is what it is now.
  void fix_value(const SymInt& value, const char* file, int64_t line);
  bool owns(const SymInt& value) const { return value.symbol() == 0 || value.symbol() >> 32 == serial_; }

  // ---- ops
  /// A scalar operand of the op that is dispatched next.
  void operand_noted(const SymInt& value);
  /// Step `step` of the path is this op.
  void dispatched(const OpCall& call, std::span<const SymUse> uses, size_t step);
  /// Something has happened that depends on sizes in a way that is not known.
  void give_up() noexcept { given_up_.store(true, std::memory_order_relaxed); }
  /// Gives up whichever record `value` is of, on whatever thread.
  static void give_up_of(const SymInt& value);

  /// The record; null where it was given up.
  const SizeFacts* facts() const { return given_up_.load(std::memory_order_relaxed) ? nullptr : &facts_; }

 private:
  int node(const SizeFacts::Node& node, size_t weight);
  int node_of(const SymInt& value);
  SymInt symbol(int node, int64_t value) const;
  void require(detail::SymComparison comparison, int left, int right, std::string source);
  void fix_leaves(int node, const std::string& source);

  const TensorDirectory& tensors_;
  const uint64_t serial_;
  std::atomic<bool> given_up_{false};
  SizeFacts facts_;
  std::vector<size_t> weights_;  // of each node: how many nodes its text has
  std::vector<int64_t> values_;  // of each node, in this call
  std::map<SizeFacts::Node, int> known_;
  std::vector<std::pair<int, int64_t>> pending_;  // scalar operands noted: expression, value
};

/// The record of the call under way on this thread; null where there is none, and while an op is dispatched.
extern constinit thread_local SizeReads* current_size_reads;

/// Sets the thread's record for a scope.
class SizeReadsScope {
 public:
  explicit SizeReadsScope(SizeReads* reads) : before_(std::exchange(current_size_reads, reads)) {}
  SizeReadsScope(const SizeReadsScope&) = delete;
  SizeReadsScope& operator=(const SizeReadsScope&) = delete;
  ~SizeReadsScope() { current_size_reads = before_; }

 private:
  SizeReads* before_;
};

}  // namespace tailor
