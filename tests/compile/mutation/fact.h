#pragma once
// A fact that a function can rely on, and how it is changed.

#include <bitset>
#include <span>
#include <string_view>

#include "compile/mutation/world.h"

namespace tailor::mutation {

/// Who reads a fact: bodies name the groups they read, and a change of anything else may not cost a thing.
enum class Group : uint8_t {
  X,      // the first argument: description, value
  Y,      // the second
  Alias,  // which memory is shared with which
  Scale,  // numbers among the arguments, each its own
  Ratio,
  Alpha,
  Times,
  Flag,
  Style,
  Text,
  Bias,
  Eps,
  Extra,
  Weights,
  Table,
  Choice,
  Both,
  Pair,
  Inner,
  Captured,  // a captured tensor
  Number,    // a captured number
  Integer,
  Switch,  // a captured flag
  Global,
  Behaviour,  // a virtual call, a function pointer
  Parameter,  // of the net: value, handle, requires_grad
  Buffer,
  Submodule,  // which module a holder holds
  Member,     // plain members of modules, modules that are not registered
  Training,
  GradMode,
  DefaultDtype,
  Process,  // determinism, thread count: change no results
  Fail,     // the body throws
  Count_
};
using Groups = std::bitset<static_cast<size_t>(Group::Count_)>;
constexpr size_t kGroups = static_cast<size_t>(Group::Count_);

inline Groups groups(std::initializer_list<Group> list) {
  Groups all;
  for (Group g : list) all.set(static_cast<size_t>(g));
  return all;
}

struct Fact {
  std::string_view name;
  Group group;
  void (*change)(World&, Random&);
};

std::span<const Fact> facts();
std::string_view to_string(Group group);

}  // namespace tailor::mutation
