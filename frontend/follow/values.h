#pragma once
// The tensors of a call by their numbers along its path.

#include <algorithm>
#include <utility>

#include "frontend/follow/instance.h"
#include "runtime/own_vector.h"

namespace tailor {
struct TensorImpl;
}

namespace tailor::follow {

struct Value {
  TensorImpl* tensor = nullptr;
  uint64_t id = 0;    // it has as long as its description stays
  uint64_t like = 0;  // serial of the instance whose description it was made for, or was compared with; 0 where there is no tensor
};

/// A row with slots from the middle on and externals before it.
class Values {
 public:
  Value& at(int place) const noexcept { return middle_[place]; }
  Value& slot(int number) const noexcept { return at(place_of_slot(number)); }
  Value& external(int number) const noexcept { return at(place_of_external(number)); }
  /// There is room for so many.
  int slots() const noexcept { return static_cast<int>(all_.size()) - externals_; }
  int externals() const noexcept { return externals_; }
  void make_room(int slots, int externals) {
    if (slots <= this->slots() && externals <= externals_) return;
    const auto grown = [](int has, int needs) { return needs <= has ? has : std::max(needs, 2 * has); };
    const int more_slots = grown(this->slots(), slots), more_externals = grown(externals_, externals);
    OwnVector<Value> all(static_cast<size_t>(more_slots + more_externals));
    std::copy(all_.begin(), all_.end(), all.begin() + (more_externals - externals_));
    all_ = std::move(all);
    externals_ = more_externals;
    middle_ = all_.data() + externals_;
  }

 private:
  OwnVector<Value> all_;
  int externals_ = 0;
  Value* middle_ = nullptr;
};

}  // namespace tailor::follow
