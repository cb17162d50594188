#include "frontend/compile/facts.h"

#include "guards/kinds/structure.h"

namespace tailor::detail {
namespace {

guards::Part part_of(const PartName& name) {
  using guards::GuardKind;
  using guards::KeyFormat;
  const auto part = [&](GuardKind kind, KeyFormat format = KeyFormat::Other) {
    return guards::Part{kind, name.path, name.words, static_cast<int>(format)};
  };
  switch (name.role) {
    case PartName::Role::Number: return part(GuardKind::ScalarValue);
    case PartName::Role::Enumerator: return part(GuardKind::EnumValue);
    case PartName::Role::Text: return part(GuardKind::Text);
    case PartName::Role::Presence: return part(GuardKind::Presence);
    case PartName::Role::Length: return part(GuardKind::Length);
    case PartName::Role::Alternative: return part(GuardKind::Alternative);
    case PartName::Role::IntegerKeys: return part(GuardKind::Keys, KeyFormat::Integer);
    case PartName::Role::TextKeys: return part(GuardKind::Keys, KeyFormat::Text);
    case PartName::Role::OtherKeys: return part(GuardKind::Keys);
  }
  raise<InternalError>("internal error, please report: unknown part of an argument");
}

std::vector<guards::Part> parts_of(const std::vector<PartName>& names) {
  std::vector<guards::Part> parts;
  for (const PartName& name : names) parts.push_back(part_of(name));
  return parts;
}

}  // namespace

void require_scalars(guards::GuardSet& guards, std::span<const Scalar> scalars, const ArgumentNames& names) {
  std::vector<guards::Part> parts = parts_of(names.scalars);
  size_t at = 0;
  for (guards::Part& part : parts) {  // the names are those of the recorded call; a text may have another length now
    if (part.kind == guards::GuardKind::Text && at < scalars.size()) part.words = static_cast<int>(1 + (scalars[at].bits() + 7) / 8);
    at += static_cast<size_t>(part.words);
  }
  guards.require_scalars(scalars, parts);
}
void require_structure(guards::GuardSet& guards, std::span<const int64_t> words, const ArgumentNames& names) {
  // The words may be the first of those that have names.
  std::vector<guards::Part> parts;
  size_t named = 0;
  for (const PartName& name : names.structure) {
    if (named >= words.size()) break;
    parts.push_back(part_of(name));
    named += static_cast<size_t>(name.words);
  }
  guards.require_structure(words, parts);
}

void require_reads(guards::GuardSet& guards, std::span<const HostRead> reads, const guards::CallDescriptor& call,
                   std::span<TensorHead* const> arguments, const ArgumentNames& names) {
  for (const HostRead& read : reads) {
    switch (read.what) {
      case HostRead::What::StorageOffset:
        for (size_t i = 0; i < arguments.size(); ++i) {
          if (arguments[i] == read.tensor) guards.require_storage_offset(static_cast<int>(i), call.tensors[i].offset, names.tensors[i], "");
        }
        break;
      case HostRead::What::StorageReach:
        for (size_t i = 0; i < arguments.size(); ++i) {
          if (arguments[i] == read.tensor) guards.require_storage_reach(static_cast<int>(i), read.after, read.before, names.tensors[i], "");
        }
        break;
      case HostRead::What::Identity:
      case HostRead::What::Version:
      case HostRead::What::Unseen:
      case HostRead::What::Random: break;  // not skipped, where it matters
      case HostRead::What::Aliasing: guards.require_aliasing(call.tensors); break;
      case HostRead::What::Watched:
        guards.require_cell(guards::GuardKind::Watched, read.cell, read.version, read.name.empty() ? "a watched value" : read.name, "");
        break;
    }
  }
}

}  // namespace tailor::detail
