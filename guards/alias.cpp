#include "guards/alias.h"

#include <array>

namespace tailor::guards {
namespace {

int64_t byte_offset(const TensorFact& t) { return t.spec ? t.offset * element_size(t.spec->dtype) : 0; }

/// The first of the tensors up to `i` with the key of tensor `i`; keys of 0 are never shared.
template <class Key>
size_t first_with(std::span<const TensorFact> tensors, size_t i, const Key& key) {
  if (key(tensors[i]) == 0) return i;
  for (size_t j = 0; j < i; ++j) {
    if (key(tensors[j]) == key(tensors[i])) return j;
  }
  return i;
}

/// Whether `first(i)` is the first tensor with the key of tensor `i`, for all of them.
template <class Key, class First>
bool firsts_are(std::span<const TensorFact> tensors, const Key& key, const First& first) {
  constexpr size_t kFew = 8, kSlots = 256;
  if (tensors.size() <= kFew || tensors.size() > kSlots / 2) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (first_with(tensors, i, key) != first(i)) return false;
    }
    return true;
  }
  // A table of the first ones, by key.
  std::array<uint8_t, kSlots> table{};  // 1 + number of the tensor
  for (size_t i = 0; i < tensors.size(); ++i) {
    const uint64_t k = key(tensors[i]);
    size_t found = i;
    if (k != 0) {
      size_t slot = (k * 0x9E3779B97F4A7C15u) >> 56;
      while (table[slot] != 0 && key(tensors[table[slot] - 1u]) != k) slot = (slot + 1) % kSlots;
      if (table[slot] == 0)
        table[slot] = static_cast<uint8_t>(i + 1);
      else
        found = table[slot] - 1u;
    }
    if (found != first(i)) return false;
  }
  return true;
}

constexpr auto storage_key = [](const TensorFact& t) { return reinterpret_cast<uint64_t>(t.storage); };
constexpr auto id_key = [](const TensorFact& t) { return t.spec ? t.id : 0; };

}  // namespace

std::vector<int64_t> alias_pattern(std::span<const TensorFact> tensors) {
  std::vector<int64_t> pattern;
  pattern.reserve(2 * tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const size_t first = first_with(tensors, i, storage_key);
    pattern.push_back(static_cast<int64_t>(first));
    pattern.push_back(byte_offset(tensors[i]) - byte_offset(tensors[first]));
  }
  return pattern;
}

bool has_alias_pattern(std::span<const TensorFact> tensors, std::span<const int64_t> pattern) {
  if (pattern.size() != 2 * tensors.size()) return false;
  if (!firsts_are(tensors, storage_key, [&](size_t i) { return static_cast<size_t>(pattern[2 * i]); })) return false;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto first = static_cast<size_t>(pattern[2 * i]);
    if (first != i && byte_offset(tensors[i]) - byte_offset(tensors[first]) != pattern[2 * i + 1]) return false;
  }
  return true;
}

std::string alias_text(const std::string& path, std::span<const int64_t> pattern) {
  std::string all;
  for (size_t i = 0; 2 * i + 1 < pattern.size(); ++i) {
    if (pattern[2 * i] == static_cast<int64_t>(i)) continue;
    const int64_t distance = pattern[2 * i + 1];
    all += (all.empty() ? "" : ", ") + ("tensor " + std::to_string(i)) + " starts ";
    all += distance == 0 ? "at" : std::to_string(std::abs(distance)) + (distance > 0 ? " bytes after" : " bytes before");
    all += " tensor " + std::to_string(pattern[2 * i]) + " in the same memory";
  }
  return path + ": " + (all.empty() ? "no shared memory" : all);
}

std::vector<int64_t> identity_pattern(std::span<const TensorFact> tensors) {
  std::vector<int64_t> pattern;
  for (size_t i = 0; i < tensors.size(); ++i) pattern.push_back(static_cast<int64_t>(first_with(tensors, i, id_key)));
  return pattern;
}

bool has_identity_pattern(std::span<const TensorFact> tensors, std::span<const int64_t> pattern) {
  return pattern.size() == tensors.size() && firsts_are(tensors, id_key, [&](size_t i) { return static_cast<size_t>(pattern[i]); });
}

std::string identity_text(const std::string& path, std::span<const int64_t> pattern) {
  std::string all;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == static_cast<int64_t>(i)) continue;
    all += (all.empty() ? "" : ", ") + ("tensor " + std::to_string(i)) + " is tensor " + std::to_string(pattern[i]);
  }
  return path + ": " + (all.empty() ? "different tensors" : all);
}

}  // namespace tailor::guards
