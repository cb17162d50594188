#pragma once
// Numbers by kind and bits, ranges of them, enumerators, texts.

#include <sstream>

#include "guards/definition.h"
#include "guards/kinds/structure.h"

namespace tailor::guards::kinds {

inline const Scalar* scalar_of(const Guard& g, const CallDescriptor& call) {
  return static_cast<size_t>(g.index) < call.scalars.size() ? &call.scalars[static_cast<size_t>(g.index)] : nullptr;
}
/// Enough digits to tell any two values apart; -0 and 0 look different, and so do 1 and 1.0.
inline std::string number_text(const Scalar& s) {
  std::ostringstream out;
  out << s;
  if (s.is_floating_point() && Scalar(std::strtod(out.str().c_str(), nullptr)) != s) {
    out.str("");
    out.precision(17);
    out << s.to_double();
  }
  return out.str();
}
inline std::string scalar_text(const Guard& g, const CallDescriptor& call) {
  const Scalar* s = scalar_of(g, call);
  return s ? number_text(*s) : std::string("no such argument");
}
inline Scalar::Kind kind_of(const Guard& g) { return static_cast<Scalar::Kind>(g.dim); }

inline constexpr Definition scalar_value = {
    .kind = GuardKind::ScalarValue,
    .name = "scalar value",
    .typical_cost = 0.4,
    .holds =
        [](const Guard& g, const CallDescriptor& call) {
          const Scalar* s = scalar_of(g, call);
          return s && s->bits() == g.expected && s->kind() == kind_of(g);
        },
    .condition = [](const Guard& g) { return g.path + " == " + number_text(Scalar::from_bits(kind_of(g), g.expected)); },
    .actual = scalar_text,
    .suggestion = "pass it as a tensor of one element, or let the function be followed (drop .pure), where numbers vary freely",
};

inline constexpr Definition scalar_range = {
    .kind = GuardKind::ScalarRange,
    .name = "scalar range",
    .typical_cost = 0.5,
    .holds =
        [](const Guard& g, const CallDescriptor& call) {
          const Scalar* s = scalar_of(g, call);
          return s && s->is_integral() && s->bits() >= g.expected && s->bits() <= g.most;
        },
    .condition = [](const Guard& g) { return std::to_string(g.expected) + " <= " + g.path + " <= " + std::to_string(g.most); },
    .actual = scalar_text,
    .suggestion = "the number leaves the range that relax() gave it",
};

inline constexpr Definition enum_value = {
    .kind = GuardKind::EnumValue,
    .name = "enum",
    .typical_cost = 0.4,
    .holds = scalar_value.holds,
    .condition = [](const Guard& g) { return g.path + " == enumerator " + std::to_string(g.expected); },
    .actual =
        [](const Guard& g, const CallDescriptor& call) {
          const Scalar* s = scalar_of(g, call);
          return s ? "enumerator " + std::to_string(s->bits()) : std::string("no such argument");
        },
    .suggestion = "each enumerator that a skipped function is called with is a specialization",
};

inline constexpr Definition text = {
    .kind = GuardKind::Text,
    .name = "text",
    .typical_cost = 1.0,
    .holds =
        [](const Guard& g, const CallDescriptor& call) {
          const auto at = static_cast<size_t>(g.index);
          if (at > call.scalars.size() || g.words.size() > call.scalars.size() - at) return false;
          return std::equal(g.words.begin(), g.words.end(), call.scalars.begin() + g.index,
                            [](int64_t word, const Scalar& s) { return s.is_integral() && s.bits() == word; });
        },
    .condition =
        [](const Guard& g) {
          std::span<const int64_t> words = g.words;
          std::string all;
          take_text(words, &all);
          return g.path + " == \"" + all + '"';
        },
    .actual =
        [](const Guard& g, const CallDescriptor& call) {
          std::vector<int64_t> packed;
          for (size_t i = static_cast<size_t>(g.index); i < call.scalars.size(); ++i) packed.push_back(call.scalars[i].bits());
          std::span<const int64_t> words = packed;
          std::string all;
          return take_text(words, &all) ? '"' + all + '"' : std::string("no such argument");
        },
    .suggestion = "each text that a skipped function is called with is a specialization",
};

}  // namespace tailor::guards::kinds
