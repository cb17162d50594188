#include "guards/guard.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "ir/layout.h"

namespace tailor::guards {
namespace {

const ir::TensorSpec* spec_of(const CallDescriptor& call, int index) {
  return static_cast<size_t>(index) < call.tensors.size() ? call.tensors[static_cast<size_t>(index)].spec : nullptr;
}

std::string value_text(GuardKind kind, int64_t value) {
  std::ostringstream out;
  switch (kind) {
    case GuardKind::Defined:
    case GuardKind::RequiresGrad: out << (value ? "true" : "false"); break;
    case GuardKind::Dtype: out << short_name(static_cast<ScalarType>(value)); break;
    case GuardKind::Device: out << Device(static_cast<DeviceType>(value >> 8), static_cast<int8_t>(value & 0xff)); break;
    case GuardKind::Rank:
    case GuardKind::Size:
    case GuardKind::Stride:
    case GuardKind::SizeRange:
    case GuardKind::Structure:
    case GuardKind::ModuleEpoch:
    case GuardKind::Liveness:
    case GuardKind::Step: out << value; break;
    case GuardKind::Layout: out << "same order of dimensions"; break;
    case GuardKind::ScalarValue: out << value; break;
    case GuardKind::Aliasing: out << "same pattern"; break;
    case GuardKind::Ambient: out << "0x" << std::hex << value; break;
  }
  return out.str();
}

ir::DimOrder order_of(const std::vector<int64_t>& pattern) {
  ir::DimOrder order;
  order.rank = static_cast<uint8_t>(pattern.size());
  std::transform(pattern.begin(), pattern.end(), order.dims.begin(), [](int64_t d) { return static_cast<uint8_t>(d); });
  return order;
}

/// `is_contiguous()`, or `is dense with dimensions in the order (1, 0)`, outermost first.
std::string layout_text(const std::string& path, const std::vector<int64_t>& pattern) {
  if (std::is_sorted(pattern.rbegin(), pattern.rend())) return path + ".is_contiguous()";
  const std::vector<int64_t> outermost_first(pattern.rbegin(), pattern.rend());
  std::ostringstream out;
  out << path << " is dense with its dimensions in the order " << IntArrayRef(outermost_first);
  return out.str();
}

}  // namespace

std::string_view to_string(GuardKind kind) {
  switch (kind) {
    case GuardKind::Defined: return "defined";
    case GuardKind::Dtype: return "dtype";
    case GuardKind::Device: return "device";
    case GuardKind::Rank: return "rank";
    case GuardKind::Size: return "size";
    case GuardKind::Stride: return "stride";
    case GuardKind::SizeRange: return "size range";
    case GuardKind::Layout: return "layout";
    case GuardKind::RequiresGrad: return "requires_grad";
    case GuardKind::ScalarValue: return "scalar value";
    case GuardKind::Structure: return "structure";
    case GuardKind::Aliasing: return "aliasing";
    case GuardKind::Ambient: return "ambient state";
    case GuardKind::ModuleEpoch: return "module epoch";
    case GuardKind::Liveness: return "liveness";
    case GuardKind::Step: return "step";
  }
  return "?";
}

double typical_cost(GuardKind kind) {
  switch (kind) {
    case GuardKind::Defined:
    case GuardKind::Dtype:
    case GuardKind::Device:
    case GuardKind::Rank:
    case GuardKind::Size:
    case GuardKind::Stride:
    case GuardKind::SizeRange:
    case GuardKind::RequiresGrad: return 0.5;
    case GuardKind::Layout: return 2.0;
    case GuardKind::ScalarValue:
    case GuardKind::Structure:
    case GuardKind::Ambient:
    case GuardKind::ModuleEpoch: return 0.4;
    case GuardKind::Liveness: return 1.0;
    case GuardKind::Aliasing: return 5.0;
    case GuardKind::Step: return 10.0;
  }
  return 1.0;
}

bool Guard::holds(const CallDescriptor& call) const {
  switch (kind) {
    case GuardKind::Ambient: return static_cast<int64_t>(call.ambient) == expected;
    case GuardKind::ModuleEpoch: return static_cast<int64_t>(call.module_epoch) == expected;
    case GuardKind::Aliasing: return has_alias_pattern(call.tensors, pattern);
    case GuardKind::Structure:
      return dim < 0 ? static_cast<int64_t>(call.structure.size()) == expected
                     : static_cast<size_t>(dim) < call.structure.size() && call.structure[static_cast<size_t>(dim)] == expected;
    case GuardKind::ScalarValue: {
      if (static_cast<size_t>(index) >= call.scalars.size()) return false;
      const Scalar& s = call.scalars[static_cast<size_t>(index)];
      return s.bits() == expected && static_cast<int>(s.kind()) == dim;
    }
    case GuardKind::Liveness:
    case GuardKind::Step: return true;  // checked where they live: by the entry, by following
    case GuardKind::Defined:
    case GuardKind::Dtype:
    case GuardKind::Device:
    case GuardKind::Rank:
    case GuardKind::Size:
    case GuardKind::Stride:
    case GuardKind::SizeRange:
    case GuardKind::Layout:
    case GuardKind::RequiresGrad: break;
  }
  const ir::TensorSpec* spec = spec_of(call, index);
  if (kind == GuardKind::Defined) return (spec != nullptr) == (expected != 0);
  if (!spec) return false;
  switch (kind) {
    case GuardKind::Dtype: return static_cast<int64_t>(spec->dtype) == expected;
    case GuardKind::Device: return ((static_cast<int64_t>(spec->device.type()) << 8) | (spec->device.index() & 0xff)) == expected;
    case GuardKind::Rank: return spec->rank() == expected;
    case GuardKind::Size: return dim < spec->rank() && spec->sizes[static_cast<size_t>(dim)] == expected;
    case GuardKind::Stride: return dim < spec->rank() && spec->strides[static_cast<size_t>(dim)] == expected;
    case GuardKind::SizeRange: {
      if (dim >= spec->rank()) return false;
      const int64_t size = spec->sizes[static_cast<size_t>(dim)];
      return size >= expected && size <= most;
    }
    case GuardKind::Layout: {
      if (static_cast<size_t>(spec->rank()) != pattern.size()) return false;
      return spec->strides == ir::dense_strides(spec->sizes, order_of(pattern));
    }
    case GuardKind::RequiresGrad: return spec->requires_grad == (expected != 0);
    default: return true;
  }
}

std::string Guard::condition() const {
  switch (kind) {
    case GuardKind::ScalarValue: {
      std::ostringstream out;
      out << path << " == " << Scalar::from_bits(static_cast<Scalar::Kind>(dim), expected);
      return out.str();
    }
    case GuardKind::Aliasing: return path + " share storage as recorded";
    case GuardKind::SizeRange: {
      const std::string above = std::to_string(expected) + " <= " + path;
      return most == INT64_MAX ? above : above + " <= " + std::to_string(most);
    }
    case GuardKind::Layout: return layout_text(path, pattern);
    default: return path + " == " + value_text(kind, expected);
  }
}

std::string Guard::actual(const CallDescriptor& call) const {
  const ir::TensorSpec* spec = spec_of(call, index);
  std::ostringstream out;
  switch (kind) {
    case GuardKind::Ambient: return value_text(kind, static_cast<int64_t>(call.ambient));
    case GuardKind::ModuleEpoch: return std::to_string(call.module_epoch);
    case GuardKind::Aliasing: return "another pattern";
    case GuardKind::Structure:
      return std::to_string(dim < 0                                            ? static_cast<int64_t>(call.structure.size())
                            : static_cast<size_t>(dim) < call.structure.size() ? call.structure[static_cast<size_t>(dim)]
                                                                               : -1);
    case GuardKind::ScalarValue:
      if (static_cast<size_t>(index) < call.scalars.size()) out << call.scalars[static_cast<size_t>(index)];
      return out.str();
    case GuardKind::Defined: return spec ? "true" : "false";
    case GuardKind::Liveness:
    case GuardKind::Step: return "";
    default: break;
  }
  if (!spec) return "undefined";
  switch (kind) {
    case GuardKind::Dtype: return std::string(short_name(spec->dtype));
    case GuardKind::Device: return spec->device.str();
    case GuardKind::Rank: return std::to_string(spec->rank());
    case GuardKind::SizeRange:
    case GuardKind::Size: return dim < spec->rank() ? std::to_string(spec->sizes[static_cast<size_t>(dim)]) : "no such dimension";
    case GuardKind::Stride: return dim < spec->rank() ? std::to_string(spec->strides[static_cast<size_t>(dim)]) : "no such dimension";
    case GuardKind::Layout: {
      std::ostringstream strides;
      strides << "strides " << spec->strides;
      return strides.str();
    }
    case GuardKind::RequiresGrad: return spec->requires_grad ? "true" : "false";
    default: return "";
  }
}

std::string Guard::suggestion() const {
  switch (kind) {
    case GuardKind::Size: return "the size changes between calls: pad to a few sizes, or raise cache_size_limit";
    case GuardKind::SizeRange: return "the size leaves the range it was compiled for: give mark_dynamic a wider one";
    case GuardKind::Layout:
    case GuardKind::Stride: return "the memory layout changes between calls: call contiguous() before";
    case GuardKind::ScalarValue: return "pass the number as tailor::Scalar, or let the function be followed (drop .pure)";
    case GuardKind::Dtype: return "convert the argument to one dtype before the call";
    case GuardKind::RequiresGrad: return "call under NoGradGuard, or detach()";
    case GuardKind::Structure: return "the number of elements of a container changes: each length is a specialization";
    case GuardKind::Aliasing: return "the arguments share memory in another way than before, and the function writes to them";
    case GuardKind::Ambient: return "grad mode, default dtype or another global mode changed";
    case GuardKind::ModuleEpoch: return "a parameter or submodule was replaced";
    case GuardKind::Defined:
    case GuardKind::Device:
    case GuardKind::Rank:
    case GuardKind::Liveness:
    case GuardKind::Step: return "";
  }
  return "";
}

namespace {

/// The first tensor with the storage of tensor `i`, and how many bytes later tensor `i` starts.
std::pair<int64_t, int64_t> alias_of(std::span<const TensorFact> tensors, size_t i) {
  const auto byte_offset = [](const TensorFact& t) { return t.spec ? t.offset * element_size(t.spec->dtype) : 0; };
  for (size_t j = 0; j < i; ++j) {
    if (tensors[j].storage && tensors[j].storage == tensors[i].storage)
      return {static_cast<int64_t>(j), byte_offset(tensors[i]) - byte_offset(tensors[j])};
  }
  return {static_cast<int64_t>(i), 0};
}

}  // namespace

std::vector<int64_t> alias_pattern(std::span<const TensorFact> tensors) {
  std::vector<int64_t> pattern;
  pattern.reserve(2 * tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto [first, distance] = alias_of(tensors, i);
    pattern.push_back(first);
    pattern.push_back(distance);
  }
  return pattern;
}

bool has_alias_pattern(std::span<const TensorFact> tensors, std::span<const int64_t> pattern) {
  if (pattern.size() != 2 * tensors.size()) return false;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto [first, distance] = alias_of(tensors, i);
    if (pattern[2 * i] != first || pattern[2 * i + 1] != distance) return false;
  }
  return true;
}

}  // namespace tailor::guards
