#include "runtime/dims.h"

namespace tailor {

std::ostream& operator<<(std::ostream& out, IntArrayRef list) {
  out << '[';
  for (size_t i = 0; i < list.size(); ++i) out << (i == 0 ? "" : ", ") << list[i];
  return out << ']';
}

}  // namespace tailor
