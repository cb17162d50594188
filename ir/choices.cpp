#include "ir/choices.h"

#include <utility>

namespace tailor::ir {

thread_local Choices* Choices::current_ = nullptr;

Choices::Scope::Scope(Choices& choices) : before_(std::exchange(current_, &choices)) { choices.next_ = 0; }

Choices::Scope::~Scope() {
  current_->recorded_ = true;
  current_ = before_;
}

int64_t Choices::take(int64_t wanted) {
  if (!recorded_) {
    taken_.push_back(wanted);
    return wanted;
  }
  if (next_ == taken_.size()) throw ChoiceError("more choices than at the first size");
  return taken_[next_++];
}

void refuse_choice() { throw ChoiceError("what was chosen at the first size is not right at this one"); }

}  // namespace tailor::ir
