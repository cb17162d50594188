#pragma once
// Files of conformance cases: FAMILY.jsonl with one case a line, FAMILY.safetensors with the tensors that the lines name.

#include <filesystem>
#include <nlohmann/json.hpp>

#include "conform/value.h"

namespace tailor::conform {

using Json = nlohmann::json;

class CaseFile {
 public:
  /// Throws Error when a file is missing or malformed.
  explicit CaseFile(const std::filesystem::path& jsonl);
  const std::vector<Json>& cases() const { return cases_; }
  /// A copy of a stored tensor.
  Tensor tensor(const std::string& name) const;

 private:
  struct Stored {
    ScalarType dtype;
    std::vector<int64_t> sizes;
    size_t begin, end;
  };
  std::vector<Json> cases_;
  std::map<std::string, Stored> tensors_;
  std::vector<std::byte> bytes_;
};

/// Makes the values of one case anew: each reader gives fresh memory, and values that share a storage in the case share it here.
class ValueReader {
 public:
  explicit ValueReader(const CaseFile& file) : file_(file) {}
  Value read(const Json& json);
  Arguments read_arguments(const Json& call);

 private:
  const CaseFile& file_;
  std::map<int64_t, Tensor> shared_;
};

ScalarType dtype_from_name(const std::string& name);

}  // namespace tailor::conform
