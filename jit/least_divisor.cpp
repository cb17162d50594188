#include "jit/least_divisor.h"

#include <algorithm>
#include <map>
#include <optional>

#include "jit/program_numbers.h"
#include "runtime/error.h"

namespace tailor::jit {
namespace {

/// Of smaller sizes what is said differs for other reasons.
constexpr int64_t kTypical = 31;

class Looks {
 public:
  explicit Looks(const DivisorSearch& search) : search_(search) {
    const int64_t start = std::clamp(std::max(search.hint, kTypical), search.min, search.max);
    first_ = search.hint + (start - search.hint) / search.unit * search.unit;
  }

  /// Of the sizes that leave the rest of the first one plus `offset`.
  bool is_polynomial(int64_t offset, int64_t divisor) {
    const ProgramText* texts[4];
    for (int64_t k = 0; k < 4; ++k) {
      texts[k] = at(offset + k * divisor);
      if (texts[k] == nullptr) return true;
      if (k > 0 && !texts[k]->same_structure(*texts[0])) return false;
    }
    for (size_t n = 0; n < texts[0]->numbers.size(); ++n) {
      if (texts[0]->real[n] != 0) continue;
      const auto number = [&](int k) { return static_cast<uint64_t>(texts[k]->numbers[n]); };
      if (number(3) - 3 * number(2) + 3 * number(1) - number(0) != 0) return false;
    }
    return true;
  }

 private:
  const ProgramText* at(int64_t steps) {
    const int64_t size = first_ + steps * search_.unit;
    if (size < search_.min || size > search_.max) return nullptr;
    const auto [it, fresh] = texts_.try_emplace(size);
    if (fresh) {
      try {
        Program program;
        program.graph = search_.graph_at(size);
        it->second = read_program(program);
      } catch (const Error&) {}
    }
    return it->second ? &*it->second : nullptr;
  }

  const DivisorSearch& search_;
  int64_t first_ = 0;
  std::map<int64_t, std::optional<ProgramText>> texts_;
};

}  // namespace

int64_t least_divisor(const DivisorSearch& search, int64_t most, int tries, const std::function<bool(int64_t divisor)>& accept) {
  Looks looks(search);
  for (int64_t divisor = 1; divisor <= most && tries > 0; ++divisor) {
    bool fits = true;
    for (int64_t offset = 0; fits && offset < most; ++offset)  // a quotient by more than this shows at one of them
      fits = looks.is_polynomial(offset, divisor);
    if (!fits) continue;
    if (accept(divisor)) return divisor;
    --tries;
  }
  return 0;
}

}  // namespace tailor::jit
