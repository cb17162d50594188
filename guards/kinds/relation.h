#pragma once
// Facts about several arguments at once.

#include "guards/alias.h"
#include "guards/definition.h"
#include "guards/predicate.h"

namespace tailor::guards::kinds {

inline constexpr Definition identity = {
    .kind = GuardKind::Identity,
    .name = "identity",
    .typical_cost = 1.0,
    .holds = [](const Guard& g, const CallDescriptor& call) { return has_identity_pattern(call.tensors, g.words); },
    .condition = [](const Guard& g) { return identity_text(g.path, g.words); },
    .actual = [](const Guard& g, const CallDescriptor& call) { return identity_text(g.path, identity_pattern(call.tensors)); },
    .suggestion = "the same tensor is passed twice in some calls only",
};

inline constexpr Definition aliasing = {
    .kind = GuardKind::Aliasing,
    .name = "aliasing",
    .typical_cost = 2.0,
    .holds = [](const Guard& g, const CallDescriptor& call) { return has_alias_pattern(call.tensors, g.words); },
    .condition = [](const Guard& g) { return alias_text(g.path, g.words); },
    .actual = [](const Guard& g, const CallDescriptor& call) { return alias_text(g.path, alias_pattern(call.tensors)); },
    .suggestion = "the arguments share memory in another way than before, and the function writes to them",
};

inline constexpr Definition predicate = {
    .kind = GuardKind::Predicate,
    .name = "predicate",
    .typical_cost = 3.0,
    .holds = [](const Guard& g, const CallDescriptor& call) { return holds_over_sizes(static_cast<Comparison>(g.dim), g.words, call); },
    .condition = [](const Guard& g) { return predicate_text(static_cast<Comparison>(g.dim), g.words, g.path); },
    .actual = [](const Guard& g, const CallDescriptor& call) { return predicate_values(static_cast<Comparison>(g.dim), g.words, call); },
    .suggestion = "a branch on sizes goes another way: each way is a specialization",
};

}  // namespace tailor::guards::kinds
