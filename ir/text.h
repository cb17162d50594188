#pragma once
// The text of single things, for messages; graphs: graph.h.

#include <string>

#include "ir/op.h"

namespace tailor::ir {

/// As in a graph's text: 3, true, 0.5, f32, [1, 2], none.
std::string to_string(const AttrRef& attr);

}  // namespace tailor::ir
