#pragma once
// tailor::bucketed: sizes that vary are padded to a few, so that a few specializations serve them all.
//
//   // x [batch, length, 64], mask bool [length] -> [batch, length, 64]
//   auto fast = tailor::bucketed(encoder, {{
//       .name = "length",
//       .policy = tailor::BucketPolicy::powers_of_two(),
//       .arguments = {{.tensor = 0, .dim = 1, .value = 0}},
//       .mask = 1,                             // this argument becomes true for what is real, false for padding
//       .results = {{.tensor = 0, .dim = 1}},  // cut back to the real length
//   }});
//   Tensor y = fast(x, Tensor());
//   std::cout << fast.padding();
//
// What padding means is the function's business: an element-wise function ignores it, a sum is right with zeros, a maximum with
// -infinity, attention and means need the mask or the length. Padded copies are passed on, so that a function that writes to a padded
// argument writes to the copy. Calls are thread-safe. Sizes that automatic dynamic shapes handle (`CompileOptions::dynamic`) need no
// padding; buckets are for code that is better off with few fixed sizes.

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tailor/compile.h"

namespace tailor {

/// Which size a size is padded to.
class BucketPolicy {
 public:
  /// 1, 2, 4, 8 ..., not below `min`.
  static BucketPolicy powers_of_two(int64_t min = 1);
  /// n, 2n, 3n ... Throws Error unless n is positive.
  static BucketPolicy multiples_of(int64_t n);
  /// These sizes; larger ones are not padded. Throws Error when there are none, or one is negative.
  static BucketPolicy sizes(std::vector<int64_t> sizes);
  /// At most `count` sizes, chosen for the least padding of what has been seen. Powers of two for the first `after` calls; learned then,
  /// and again each time that the calls have doubled if that saves a tenth of the padding. Larger sizes than any seen: powers of two.
  static BucketPolicy learned(int count = 8, int64_t after = 64);

 private:
  friend class BucketChooser;
  enum class Kind : uint8_t { PowersOfTwo, Multiples, Sizes, Learned } kind_ = Kind::PowersOfTwo;
  int64_t number_ = 1, after_ = 0;
  std::vector<int64_t> sizes_;
};

/// One size that varies: where it occurs and what it is padded to. Tensors are numbered in order of traversal among the arguments
/// (members of structs, elements of containers), and among the results.
struct BucketedDim {
  struct Argument {
    int tensor = 0;
    int64_t dim = 0;
    double value = 0;  // of the padding
  };
  struct Result {
    int tensor = 0;
    int64_t dim = 0;
  };
  std::string name = "size";
  BucketPolicy policy = {};
  std::vector<Argument> arguments = {};
  std::optional<int> mask = {};    // this argument is replaced by a bool tensor [bucket]: true for what is real
  std::optional<int> length = {};  // this argument is replaced by an int64 tensor of rank 0: the real size
  std::vector<Result> results = {};
};

/// What padding has cost.
struct PaddingStats {
  struct Bucket {
    int64_t size = 0;
    uint64_t calls = 0;
    int64_t real = 0;  // sum of the sizes that were padded to it
  };
  struct Dim {
    std::string name;
    std::vector<Bucket> buckets;  // ascending
    uint64_t unpadded = 0;        // calls beyond the largest size of BucketPolicy::sizes
    int learned = 0;              // how often buckets were learned
  };
  uint64_t calls = 0;
  int64_t real_elements = 0, padded_elements = 0;  // of the arguments that are padded, before and after
  std::vector<Dim> dims;
  /// Padding over real elements: 0.48 means 48 % more.
  double waste() const;
  std::string text() const;
  std::string json() const;
};
std::ostream& operator<<(std::ostream& out, const PaddingStats& stats);

namespace detail {

/// Finds the tensors of a value, to be changed in place.
struct TensorFinder {
  std::vector<Tensor*>& found;
  void tensor(Tensor& t) { found.push_back(&t); }
  void scalar(const Scalar&) {}
  void number(const auto&) {}
  void text(const auto&) {}
  void presence(const auto&) {}
  void length(const auto&) {}
  void alternative(const auto&) {}
  void keys(const auto&) {}
  void enter(const auto&) {}
  void leave() {}
};

/// The library's side of Bucketed.
class BucketedState {
 public:
  explicit BucketedState(std::vector<BucketedDim> dims);
  ~BucketedState();
  /// Pads the arguments; returns the real size and the bucket of each dim.
  std::vector<std::pair<int64_t, int64_t>> pad(std::span<Tensor* const> arguments);
  void cut(std::span<const std::pair<int64_t, int64_t>> sizes, std::span<Tensor* const> results) const;
  PaddingStats padding() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace detail

template <class Signature>
class Bucketed;

/// A compiled function whose arguments are padded: a handle that shares its state with its copies.
template <class R, class... Args>
class Bucketed<R(Args...)> {
  static_assert(!std::is_void_v<R> && !std::is_reference_v<R>, "tailor::bucketed: the function must return a value");

 public:
  Bucketed(Compiled<R(Args...)> function, std::vector<BucketedDim> dims)
      : function_(std::move(function)), state_(std::make_shared<detail::BucketedState>(std::move(dims))) {}

  R operator()(Args... args) const {
    std::tuple<std::remove_cvref_t<Args>...> own(std::forward<Args>(args)...);
    std::vector<Tensor*> tensors;
    detail::TensorFinder finder{tensors};
    detail::walk(finder, own);
    const auto sizes = state_->pad(tensors);
    R result = std::apply([&](auto&... a) { return function_(static_cast<Args>(a)...); }, own);
    tensors.clear();
    detail::walk(finder, result);
    state_->cut(sizes, tensors);
    return result;
  }

  /// What padding has cost since bucketed().
  PaddingStats padding() const { return state_->padding(); }
  Stats stats() const { return function_.stats(); }
  const Compiled<R(Args...)>& function() const { return function_; }

 private:
  Compiled<R(Args...)> function_;
  std::shared_ptr<detail::BucketedState> state_;
};

/// `function` (already compiled, or anything that compile() accepts) with the sizes in `dims` padded. Throws Error at a call whose
/// arguments or results are not as `dims` say.
template <class R, class... Args>
Bucketed<R(Args...)> bucketed(Compiled<R(Args...)> function, std::vector<BucketedDim> dims) {
  return {std::move(function), std::move(dims)};
}
template <class F>
auto bucketed(F&& fn, std::vector<BucketedDim> dims, CompileOptions options = {},
              std::source_location where = std::source_location::current()) {
  return bucketed(compile(std::forward<F>(fn), std::move(options), where), std::move(dims));
}

}  // namespace tailor
