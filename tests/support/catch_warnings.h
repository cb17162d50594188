#pragma once
// What the library warns of, as data for tests.

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tailor/tailor.h"

namespace tailor::testing {

inline std::mutex warnings_mutex;
inline std::vector<std::string> warnings;

/// Collects warnings while it lives.
struct CatchWarnings {
  CatchWarnings() {
    warnings.clear();
    set_warning_sink([](std::string_view, std::string_view text) {
      std::lock_guard lock(warnings_mutex);
      warnings.emplace_back(text);
    });
  }
  ~CatchWarnings() { set_warning_sink(nullptr); }
};

}  // namespace tailor::testing
