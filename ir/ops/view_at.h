#pragma once
// `view_at(self, offset; sizes, strides)`: the view of `self`'s storage with these sizes and strides whose first element lies `offset`
// elements after self's first. Unlike every other view its offset is a scalar operand, so that a position that changes between
// calls (`cache.narrow(2, pos, 1)` in a decode loop) is a run-time argument of the compiled segment. Made by the follower when it
// lifts the offset of a view; its OpDef::view gives the view for offset 0.

#include "ir/op.h"

namespace tailor::ir {

const OpDef& view_at();

}  // namespace tailor::ir
