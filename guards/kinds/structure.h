#pragma once
// How the arguments are put together: which alternative, whether there is something, how many, which keys.

#include <bit>
#include <cstring>
#include <sstream>

#include "guards/definition.h"

namespace tailor::guards {

/// How the keys of a map are stored behind its length (Guard::dim): numbers as their bits, texts as a length and eight characters a word.
enum class KeyFormat : int8_t { Integer, Text, Other };

namespace kinds {

inline bool word_is_expected(const Guard& g, const CallDescriptor& call) {
  return static_cast<size_t>(g.index) < call.structure.size() && call.structure[static_cast<size_t>(g.index)] == g.expected;
}
inline std::string word_text(const Guard& g, const CallDescriptor& call) {
  return static_cast<size_t>(g.index) < call.structure.size() ? std::to_string(call.structure[static_cast<size_t>(g.index)])
                                                              : "no such argument";
}

/// Reads a text packed as its length and its characters; moves `words` past it. False when it is cut off.
inline bool take_text(std::span<const int64_t>& words, std::string* out) {
  if (words.empty() || words[0] < 0) return false;
  const auto length = static_cast<size_t>(words[0]), count = (length + 7) / 8;
  if (count > words.size() - 1) return false;
  out->assign(reinterpret_cast<const char*>(words.data() + 1), length);
  words = words.subspan(1 + count);
  return true;
}

/// `{"b", "w"}`, `{1, 2}`, `3 keys` of a format without text.
inline std::string keys_text(std::span<const int64_t> words, KeyFormat format) {
  if (words.empty()) return "no such argument";
  const int64_t count = words[0];
  if (format == KeyFormat::Other) return std::to_string(count) + " keys";
  words = words.subspan(1);
  std::string all = "{";
  for (int64_t i = 0; i < count && !words.empty(); ++i) {
    if (i) all += ", ";
    if (format == KeyFormat::Text) {
      std::string key;
      if (!take_text(words, &key)) break;
      all += '"' + key + '"';
    } else {
      all += std::to_string(words[0]);
      words = words.subspan(1);
    }
  }
  return all + "}";
}

inline constexpr Definition alternative = {
    .kind = GuardKind::Alternative,
    .name = "alternative",
    .reads = ".index()",
    .typical_cost = 0.4,
    .holds = word_is_expected,
    .condition = [](const Guard& g) { return g.subject() + " == " + std::to_string(g.expected); },
    .actual = word_text,
    .suggestion = "a variant holds another alternative: each is a specialization",
    .protects_memory = true,
};

inline constexpr Definition presence = {
    .kind = GuardKind::Presence,
    .name = "presence",
    .reads = ".has_value()",
    .typical_cost = 0.4,
    .holds = word_is_expected,
    .condition = [](const Guard& g) { return g.subject() + " == " + (g.expected ? "true" : "false"); },
    .actual =
        [](const Guard& g, const CallDescriptor& call) {
          if (static_cast<size_t>(g.index) >= call.structure.size()) return std::string("no such argument");
          return std::string(call.structure[static_cast<size_t>(g.index)] ? "true" : "false");
        },
    .suggestion = "an optional is given in some calls only: with and without it are two specializations",
    .protects_memory = true,
};

inline constexpr Definition length = {
    .kind = GuardKind::Length,
    .name = "length",
    .reads = ".size()",
    .typical_cost = 0.4,
    .holds = word_is_expected,
    .condition = [](const Guard& g) { return g.subject() + " == " + std::to_string(g.expected); },
    .actual = word_text,
    .suggestion = "the number of elements of a container changes: each length is a specialization; pad the list, or split the function",
    .protects_memory = true,
};

inline constexpr Definition keys = {
    .kind = GuardKind::Keys,
    .name = "keys",
    .reads = " keys",
    .typical_cost = 1.0,
    .holds =
        [](const Guard& g, const CallDescriptor& call) {
          const auto at = static_cast<size_t>(g.index);
          return at <= call.structure.size() && g.words.size() <= call.structure.size() - at &&
                 std::equal(g.words.begin(), g.words.end(), call.structure.begin() + g.index);
        },
    .condition = [](const Guard& g) { return g.path + " has keys " + keys_text(g.words, static_cast<KeyFormat>(g.dim)); },
    .actual =
        [](const Guard& g, const CallDescriptor& call) {
          const auto at = static_cast<size_t>(g.index);
          return at < call.structure.size() ? keys_text(call.structure.subspan(at), static_cast<KeyFormat>(g.dim))
                                            : std::string("no such argument");
        },
    .suggestion = "a map comes with other keys: each set of keys is a specialization",
    .protects_memory = true,
};

}  // namespace kinds
}  // namespace tailor::guards
