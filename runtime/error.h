#pragma once
// Errors of the library. `Error` is the user's mistake; `InternalError` is ours.
//
//   check(x.dim() == 2, "mm: expected a matrix, got ", x.dim(), " dimensions");
//
// The arguments after the condition are only formatted when it is false.

#include <sstream>
#include <stdexcept>
#include <string>

namespace tailor {

/// A mistake in the call: shapes, dtypes, arguments, files. Catchable; the program state is as before the call.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An index outside its dimension (torch: IndexError).
class IndexError : public Error {
 public:
  using Error::Error;
};

/// Something this build or this machine cannot do (torch: NotImplementedError).
class NotImplementedError : public Error {
 public:
  using Error::Error;
};

/// Memory that could not be had.
class OutOfMemoryError : public Error {
 public:
  using Error::Error;
};

/// A fault of the library itself; please report it with the text.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace detail {
template <class E = Error, class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void raise(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw E(text.str());
}
}  // namespace detail

/// Throws `E` with the concatenated parts unless `condition` holds.
template <class E = Error, class... Parts>
inline void check(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]]
    detail::raise<E>(parts...);
}

/// An invariant of the library.
template <class... Parts>
inline void internal_check(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]]
    detail::raise<InternalError>("internal error, please report: ", parts...);
}

}  // namespace tailor
