#pragma once
// Which tensors of a call are the same, and which share memory.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "guards/descriptor.h"

namespace tailor::guards {

/// For each tensor the first one that shares its storage and the distance between their first elements, in bytes; two numbers
/// a tensor. Equal patterns and equal descriptions mean equal overlap.
std::vector<int64_t> alias_pattern(std::span<const TensorFact> tensors);
/// Whether the tensors have this pattern. Allocates nothing; linear in the number of tensors.
bool has_alias_pattern(std::span<const TensorFact> tensors, std::span<const int64_t> pattern);
/// `args: tensor 1 starts 8 bytes after tensor 0 in the same memory`
std::string alias_text(const std::string& path, std::span<const int64_t> pattern);

/// For each tensor the first one that is the same.
std::vector<int64_t> identity_pattern(std::span<const TensorFact> tensors);
bool has_identity_pattern(std::span<const TensorFact> tensors, std::span<const int64_t> pattern);
/// `args: tensor 1 is tensor 0`
std::string identity_text(const std::string& path, std::span<const int64_t> pattern);

}  // namespace tailor::guards
