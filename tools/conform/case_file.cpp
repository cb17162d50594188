#include "conform/case_file.h"

#include <fstream>
#include <sstream>

#include "tailor/ops/creation.h"

namespace tailor::conform {

Value::Value(Scalar s) {
  if (s.is_boolean()) {
    kind = Kind::Bool, integer = s.to<bool>();
  } else if (s.is_integral()) {
    kind = Kind::Int, integer = s.to<int64_t>();
  } else {
    kind = Kind::Double, number = s.to<double>();
  }
}

Scalar Value::scalar() const {
  switch (kind) {
    case Kind::Bool: return Scalar(integer != 0);
    case Kind::Int: return Scalar(integer);
    case Kind::Double: return Scalar(number);
    default: throw Unsupported("a value that is no number where a number belongs");
  }
}

ScalarType dtype_from_name(const std::string& name) {
  static const std::map<std::string, ScalarType> names{
      {"float32", kFloat32}, {"float64", kFloat64}, {"float16", kFloat16}, {"bfloat16", kBFloat16}, {"int8", kInt8},
      {"uint8", kUInt8},     {"int16", kInt16},     {"int32", kInt32},     {"int64", kInt64},       {"bool", kBool},
      {"F32", kFloat32},     {"F64", kFloat64},     {"F16", kFloat16},     {"BF16", kBFloat16},     {"I8", kInt8},
      {"U8", kUInt8},        {"I16", kInt16},       {"I32", kInt32},       {"I64", kInt64},         {"BOOL", kBool}};
  const auto found = names.find(name);
  if (found == names.end()) throw Unsupported("dtype " + name);
  return found->second;
}

namespace {

std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  check(in.good(), "cannot read ", path.string());
  std::vector<std::byte> bytes(static_cast<size_t>(in.tellg()));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

std::optional<int64_t> optional_int(const Json& json) { return json.is_null() ? std::nullopt : std::optional(json.get<int64_t>()); }

}  // namespace

CaseFile::CaseFile(const std::filesystem::path& jsonl) {
  std::ifstream in(jsonl);
  check(in.good(), "cannot read ", jsonl.string());
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) cases_.push_back(Json::parse(line));
  }
  std::filesystem::path tensors = jsonl;
  bytes_ = read_bytes(tensors.replace_extension(".safetensors"));
  uint64_t length = 0;
  check(bytes_.size() >= sizeof(length), tensors.string(), " is too short");
  std::memcpy(&length, bytes_.data(), sizeof(length));
  check(length <= bytes_.size() - sizeof(length), tensors.string(), " is cut off");
  const char* text = reinterpret_cast<const char*>(bytes_.data()) + sizeof(length);
  const size_t start = sizeof(length) + length;
  const Json header = Json::parse(text, text + length);
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const auto offsets = entry.at("data_offsets").get<std::vector<size_t>>();
    Stored stored{dtype_from_name(entry.at("dtype")), entry.at("shape").get<std::vector<int64_t>>(), start + offsets.at(0),
                  start + offsets.at(1)};
    check(stored.begin <= stored.end && stored.end <= bytes_.size(), tensors.string(), ": tensor ", name, " lies outside of the file");
    tensors_.emplace(name, std::move(stored));
  }
}

Tensor CaseFile::tensor(const std::string& name) const {
  const Stored& stored = tensors_.at(name);
  Tensor result = empty(stored.sizes, stored.dtype);
  check(result.nbytes() == stored.end - stored.begin, "tensor ", name, " has another size than its shape says");
  if (result.nbytes() != 0) std::memcpy(result.data_ptr(), bytes_.data() + stored.begin, result.nbytes());
  return result;
}

Value ValueReader::read(const Json& json) {
  Value value;
  if (json.is_null()) return value;
  if (json.is_boolean()) return Value(Scalar(json.get<bool>()));
  if (json.is_number_integer()) return Value(Scalar(json.get<int64_t>()));
  if (json.is_number()) return Value(Scalar(json.get<double>()));
  if (json.is_string()) {
    value.kind = Value::Kind::Text;
    value.text = json.get<std::string>();
    return value;
  }
  if (json.is_array()) {
    value.kind = Value::Kind::List;
    for (const Json& item : json) value.list.push_back(read(item));
    return value;
  }
  if (json.contains("t")) {
    value.kind = Value::Kind::Tensor;
    if (json.contains("share")) {
      auto [slot, fresh] = shared_.try_emplace(json.at("share").get<int64_t>());
      if (fresh) slot->second = file_.tensor(json.at("t"));
      value.base = slot->second;
    } else {
      value.base = file_.tensor(json.at("t"));
    }
    value.tensor = value.base;
    if (json.contains("size")) {
      value.tensor = value.base.as_strided(json.at("size").get<std::vector<int64_t>>(), json.at("stride").get<std::vector<int64_t>>(),
                                           json.at("offset").get<int64_t>());
    }
  } else if (json.contains("f")) {
    const std::string text = json.at("f");
    const double infinity = std::numeric_limits<double>::infinity();
    value = Value(Scalar(text == "nan" ? std::numeric_limits<double>::quiet_NaN() : text == "inf" ? infinity : -infinity));
  } else if (json.contains("dtype")) {
    value.kind = Value::Kind::Dtype;
    value.dtype = dtype_from_name(json.at("dtype"));
  } else if (json.contains("slice")) {
    value.kind = Value::Kind::Slice;
    for (int i = 0; i < 3; ++i) value.parts[i] = optional_int(json.at("slice").at(i));
  } else if (json.contains("ellipsis")) {
    value.kind = Value::Kind::Ellipsis;
  } else if (json.contains("v")) {
    value.kind = Value::Kind::Reference;
    const Json& where = json.at("v");
    value.integer = where.is_array() ? where.at(0).get<int64_t>() : where.get<int64_t>();
    if (where.is_array()) value.parts[0] = where.at(1).get<int64_t>();
  } else {
    throw Unsupported("a value of unknown form: " + json.dump());
  }
  return value;
}

Arguments ValueReader::read_arguments(const Json& call) {
  Arguments arguments;
  for (const Json& json : call.at("args")) arguments.positional.push_back(read(json));
  if (call.contains("kwargs")) {
    for (const auto& [name, json] : call.at("kwargs").items()) arguments.named.emplace(name, read(json));
  }
  return arguments;
}

}  // namespace tailor::conform
