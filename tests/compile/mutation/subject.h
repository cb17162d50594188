#pragma once
// The functions under test: each reads facts in a way of its own.

#include "compile/mutation/fact.h"

namespace tailor::mutation {

struct Subject {
  std::string_view name;
  Groups reads;
  Body body;
  bool exact = true;  // the same bits as eager; else within tolerance, for sums and products of matrices
  bool pure = false;  // keeps the promise of CompileOptions::pure, as long as only what `pure` functions may rely on is changed
};

std::span<const Subject> subjects();

/// What a pure function may rely on: a change of anything else breaks its promise.
Groups promised();

}  // namespace tailor::mutation
