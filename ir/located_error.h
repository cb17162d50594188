#pragma once
// Errors that name the user's line: "mm: expected a matrix, got 3 dimensions, at model.cpp:42".

#include <string_view>

namespace tailor::ir {

/// In a handler of Error: throws the error again, of the class that it has, with ", at PLACE" behind its text. An error that names this
/// place already, or one for which `place` is empty, stays as it is.
[[noreturn]] void rethrow_at(std::string_view place);

}  // namespace tailor::ir
