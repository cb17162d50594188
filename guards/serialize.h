#pragma once
// Guards as text and as JSON, there and back.

#include <span>
#include <string>
#include <vector>

#include "guards/guard.h"

namespace tailor::guards {

/// One guard a line: `size: "args[0]" index 0 dim 0 expected 64 at "model.cpp:17"  # args[0].size(0) == 64`
std::string to_text(std::span<const Guard> guards);
/// Reads it back; what follows a `#` is for people. Throws Error with the line that cannot be read.
std::vector<Guard> from_text(const std::string& text);

/// A list of objects with the fields of Guard by name, the kind as its name, and the condition.
std::string to_json(std::span<const Guard> guards);
/// Throws Error for what is no list of guards.
std::vector<Guard> from_json(const std::string& json);

}  // namespace tailor::guards
