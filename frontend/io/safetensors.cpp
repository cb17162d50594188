// safetensors: 8 bytes with the header's length N (little endian), N bytes of JSON
//   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {"key": "value"}}
// then the tensors' bytes; offsets count from there. Nothing is allocated from a size that has not been checked against the file's.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "frontend/call.h"
#include "tailor/io.h"
#include "tailor/ops/creation.h"

namespace tailor::io {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxHeader = 100'000'000;  // the format's own limit

struct DtypeName {
  std::string_view name;
  ScalarType type;
};
constexpr DtypeName kDtypes[] = {{"F32", kFloat32}, {"F64", kFloat64}, {"F16", kFloat16}, {"BF16", kBFloat16}, {"I64", kInt64},
                                 {"I32", kInt32},   {"I16", kInt16},   {"I8", kInt8},     {"U8", kUInt8},      {"BOOL", kBool}};

/// An open file of known size.
class File {
 public:
  explicit File(const std::string& path) : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    check(descriptor_ >= 0, path, ": cannot be opened: ", std::strerror(errno));
    struct stat info {};
    const bool ok = ::fstat(descriptor_, &info) == 0 && S_ISREG(info.st_mode);
    if (!ok) ::close(descriptor_);
    check(ok, path, ": not a regular file");
    size_ = static_cast<uint64_t>(info.st_size);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { ::close(descriptor_); }
  uint64_t size() const { return size_; }
  void read(void* to, uint64_t bytes, uint64_t at) const {
    auto* p = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t got = ::pread(descriptor_, p, std::min<uint64_t>(bytes, 1u << 30), static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      check(got > 0, path_, ": cannot be read: ", got == 0 ? "the file ends early" : std::strerror(errno));
      p += got;
      bytes -= static_cast<uint64_t>(got);
      at += static_cast<uint64_t>(got);
    }
  }

 private:
  std::string path_;
  int descriptor_;
  uint64_t size_ = 0;
};

struct Entry {
  std::string name;
  ScalarType dtype;
  std::vector<int64_t> shape;
  uint64_t begin, end;  // from the start of the data
};

struct Header {
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;
  uint64_t data_start;
};

uint64_t unsigned_number(const json& value, const std::string& what) {
  check(value.is_number_unsigned(), what, " is not a non-negative integer");
  return value.get<uint64_t>();
}

Entry read_entry(const std::string& path, const std::string& name, const json& value, uint64_t data_bytes) {
  const std::string who = path + ": tensor '" + name + "'";
  check(value.is_object() && value.contains("dtype") && value.contains("shape") && value.contains("data_offsets"), who,
        ": expected an object with dtype, shape and data_offsets");
  Entry entry{name, {}, {}, 0, 0};
  check(value["dtype"].is_string(), who, ": dtype is not a string");
  const auto dtype = value["dtype"].get<std::string>();
  const auto* known = std::find_if(std::begin(kDtypes), std::end(kDtypes), [&](const DtypeName& d) { return d.name == dtype; });
  check(known != std::end(kDtypes), who, ": unknown dtype '", dtype, "'");
  entry.dtype = known->type;
  const json &shape = value["shape"], &offsets = value["data_offsets"];
  check(shape.is_array() && shape.size() <= Dims::kMaxDims, who, ": shape is not a list of at most ", Dims::kMaxDims, " sizes");
  uint64_t bytes = static_cast<uint64_t>(element_size(entry.dtype));
  bool empty = false, overflow = false;
  for (const json& size : shape) {
    const uint64_t n = unsigned_number(size, who + ": a size");
    overflow |= n > INT64_MAX;
    empty |= n == 0;
    entry.shape.push_back(static_cast<int64_t>(n));
  }
  for (int64_t n : entry.shape)
    if (!empty) overflow |= __builtin_mul_overflow(bytes, static_cast<uint64_t>(n), &bytes);
  if (empty) bytes = 0;
  check(!overflow, who, ": the sizes are too large");
  check(offsets.is_array() && offsets.size() == 2, who, ": data_offsets is not a pair");
  entry.begin = unsigned_number(offsets[0], who + ": an offset");
  entry.end = unsigned_number(offsets[1], who + ": an offset");
  check(entry.begin <= entry.end && entry.end <= data_bytes, who, ": data_offsets [", entry.begin, ", ", entry.end,
        "] lie outside of the file's ", data_bytes, " bytes of data");
  check(entry.end - entry.begin == bytes, who, ": data_offsets span ", entry.end - entry.begin, " bytes, but ", dtype, " ",
        IntArrayRef(entry.shape), " takes ", bytes);
  return entry;
}

Header read_header(const std::string& path, const File& file) {
  check(file.size() >= 8, path, ": too short for a safetensors file (", file.size(), " bytes)");
  unsigned char length_bytes[8];
  file.read(length_bytes, 8, 0);
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | length_bytes[i];
  check(length <= kMaxHeader, path, ": the header is too large (", length, " bytes; at most ", kMaxHeader, ")");
  check(length <= file.size() - 8, path, ": cut short: the header has ", length, " bytes, the file ", file.size());
  std::string text(length, '\0');
  file.read(text.data(), length, 8);

  json root;
  try {
    // The same name twice would silently lose a tensor.
    std::vector<std::vector<std::string>> names;
    root = json::parse(text, [&](int, json::parse_event_t event, json& parsed) {
      if (event == json::parse_event_t::object_start) names.emplace_back();
      if (event == json::parse_event_t::object_end) names.pop_back();
      if (event == json::parse_event_t::key) {
        const auto key = parsed.get<std::string>();
        if (names.size() == 1) {
          if (std::find(names[0].begin(), names[0].end(), key) != names[0].end())
            detail::raise(path, ": the name '", key, "' occurs twice");
          names[0].push_back(key);
        }
      }
      return true;
    });
  } catch (const json::exception& e) { detail::raise(path, ": the header is no valid JSON: ", e.what()); }
  check(root.is_object(), path, ": the header is no JSON object");

  Header header{{}, {}, 8 + length};
  const uint64_t data_bytes = file.size() - header.data_start;
  for (const auto& [name, value] : root.items()) {
    if (name == "__metadata__") {
      check(value.is_object(), path, ": __metadata__ is no object");
      for (const auto& [key, entry] : value.items()) {
        check(entry.is_string(), path, ": __metadata__ holds something other than strings");
        header.metadata[key] = entry.get<std::string>();
      }
      continue;
    }
    header.entries.push_back(read_entry(path, name, value, data_bytes));
  }
  std::sort(header.entries.begin(), header.entries.end(),
            [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  uint64_t expected = 0;
  for (const Entry& e : header.entries) {
    check(e.begin >= expected, path, ": tensor '", e.name, "': its data overlaps another tensor's");
    check(e.begin == expected, path, ": tensor '", e.name, "': a gap of ", e.begin - expected, " bytes before its data");
    expected = e.end;
  }
  check(expected == data_bytes, path, ": ", data_bytes - expected, " bytes after the last tensor");
  return header;
}

}  // namespace

TensorMap load_safetensors(const std::string& path) {
  const File file(path);
  const Header header = read_header(path, file);
  TensorMap tensors;
  for (const Entry& e : header.entries) {
    Tensor tensor(make_tensor(ir::TensorSpec(e.dtype, e.shape)));
    file.read(impl_of(tensor).data(), e.end - e.begin, header.data_start + e.begin);
    tensors.emplace(e.name, tensor);
  }
  return tensors;
}

std::map<std::string, std::string> load_safetensors_metadata(const std::string& path) {
  const File file(path);
  return read_header(path, file).metadata;
}

void save_safetensors(const std::string& path, const TensorMap& tensors, const std::map<std::string, std::string>& metadata) {
  json root = json::object();
  if (!metadata.empty()) root["__metadata__"] = metadata;
  // Larger elements first, so that every tensor is aligned to its element; then by name.
  std::vector<std::pair<std::string, Tensor>> order;
  for (const auto& [name, tensor] : tensors) {
    check(tensor.defined(), "save: tensor '", name, "' is undefined");
    check(name != "__metadata__", "save: a tensor may not be called __metadata__");
    order.emplace_back(name, tensor.detach().contiguous());
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.element_size() > b.second.element_size(); });
  uint64_t at = 0;
  for (const auto& [name, tensor] : order) {
    const auto* dtype = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                     [&, type = tensor.scalar_type()](const DtypeName& d) { return d.type == type; });
    root[name] = {{"dtype", dtype->name}, {"shape", tensor.sizes().vec()}, {"data_offsets", {at, at + tensor.nbytes()}}};
    at += tensor.nbytes();
  }
  std::string text;
  try {
    text = root.dump();
  } catch (const json::exception& e) { detail::raise("save: a name is no valid UTF-8: ", e.what()); }
  text.append((8 - text.size() % 8) % 8, ' ');

  const std::string temporary = path + ".tmp" + std::to_string(::getpid());
  std::FILE* out = std::fopen(temporary.c_str(), "wb");
  check(out != nullptr, path, ": cannot be written: ", std::strerror(errno));
  unsigned char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(text.size() >> (8 * i));
  bool ok = std::fwrite(length, 1, 8, out) == 8 && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  for (const auto& [name, tensor] : order) {
    const size_t bytes = tensor.nbytes();
    if (bytes > 0) ok = ok && std::fwrite(tensor.const_data_ptr(), 1, bytes, out) == bytes;
  }
  ok = std::fclose(out) == 0 && ok;
  ok = ok && std::rename(temporary.c_str(), path.c_str()) == 0;
  const int error = errno;
  if (!ok) std::remove(temporary.c_str());
  check(ok, path, ": cannot be written: ", std::strerror(error));
}

}  // namespace tailor::io
