#pragma once
// Choices that depend on sizes, while one program is made for many sizes.
//
// Passes, fusion and lowering ask here wherever sizes decide between two programs that are both right. As a rule they get what they
// want. While a graph is lowered for several sizes (jit/family.h), the answers given at the first size are recorded and given again at
// the others, so that the programs say the same but for numbers.
//
//   if (choose(numel <= kSmall)) ...                         both ways are right, one is faster
//   if (choose(inside, inside)) skip the bounds check ...    skipping is right only where it holds; not skipping always is

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace tailor::ir {

/// A recorded choice is not right at this size.
class ChoiceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Choices {
 public:
  /// `splits`: long folds are cut into rows (whose number may be no polynomial of the sizes).
  explicit Choices(bool splits = true) : splits_(splits) {}
  /// While it lives, choices on this thread are recorded, or taken from the record where there is one already.
  class Scope {
   public:
    explicit Scope(Choices& choices);
    ~Scope();
    Scope(const Scope&) = delete;

   private:
    Choices* before_;
  };
  static Choices* current() { return current_; }
  int64_t take(int64_t wanted);
  bool splits() const { return splits_; }
  /// Whether folds were cut.
  bool has_split() const { return has_split_; }
  void note_split() { has_split_ = true; }

 private:
  friend class Scope;
  static thread_local Choices* current_;
  bool splits_;
  bool recorded_ = false, has_split_ = false;
  size_t next_ = 0;
  std::vector<int64_t> taken_;
};

[[noreturn]] void refuse_choice();

/// `wanted`, or what was chosen at the first size. Throws ChoiceError when that is yes but not `possible`.
inline bool choose(bool wanted, bool possible = true) {
  if (Choices::current() == nullptr) [[likely]]
    return wanted;
  const bool chosen = Choices::current()->take(wanted) != 0;
  if (chosen && !possible) refuse_choice();
  return chosen;
}

inline int64_t choose_number(int64_t wanted) { return Choices::current() == nullptr ? wanted : Choices::current()->take(wanted); }

/// Whether a program for many sizes is being made.
inline bool sizes_vary() { return Choices::current() != nullptr; }

}  // namespace tailor::ir
