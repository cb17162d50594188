#include "ir/located_error.h"

#include <string>

#include "runtime/error.h"

namespace tailor::ir {

void rethrow_at(std::string_view place) {
  if (place.empty()) throw;
  const std::string ending = ", at " + std::string(place);
  const auto located = [&](const Error& e) {
    const std::string_view text = e.what();
    return std::string(text) + (text.ends_with(ending) ? "" : ending);
  };
  try {
    throw;
  } catch (const IndexError& e) { throw IndexError(located(e)); } catch (const NotImplementedError& e) {
    throw NotImplementedError(located(e));
  } catch (const OutOfMemoryError& e) { throw OutOfMemoryError(located(e)); } catch (const Error& e) {
    throw Error(located(e));
  }
}

}  // namespace tailor::ir
