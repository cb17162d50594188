#pragma once
// Errors of the public functions, with the user's line at the end.

#include <string>

#include "tailor/tensor.h"

namespace tailor {

/// ", at model.cpp:42"; nothing for a place that is not known.
std::string at(const Where& where);

/// As check(), naming the place.
template <class E = Error, class... Parts>
void check_at(const Where& where, bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]]
    detail::raise<E>(parts..., at(where));
}

}  // namespace tailor
