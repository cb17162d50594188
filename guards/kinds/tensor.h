#pragma once
// One tensor: whether it is there and what its description says.

#include <algorithm>
#include <sstream>

#include "guards/definition.h"
#include "ir/layout.h"
#include "runtime/storage.h"

namespace tailor::guards::kinds {

inline const TensorFact* fact_of(const Guard& g, const CallDescriptor& call) {
  return static_cast<size_t>(g.index) < call.tensors.size() ? &call.tensors[static_cast<size_t>(g.index)] : nullptr;
}
inline const ir::TensorSpec* spec_of(const Guard& g, const CallDescriptor& call) {
  const TensorFact* fact = fact_of(g, call);
  return fact ? fact->spec : nullptr;
}

/// A kind that looks at a description: false, and "undefined", where there is none.
template <auto Holds>
bool of_spec(const Guard& g, const CallDescriptor& call) {
  const ir::TensorSpec* spec = spec_of(g, call);
  return spec != nullptr && Holds(g, *spec);
}
template <auto Text>
std::string text_of_spec(const Guard& g, const CallDescriptor& call) {
  const ir::TensorSpec* spec = spec_of(g, call);
  return spec ? Text(g, *spec) : std::string("undefined");
}
template <class T>
std::string streamed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}
inline std::string flag_text(bool on) { return on ? "true" : "false"; }

inline constexpr Definition defined = {
    .kind = GuardKind::Defined,
    .name = "defined",
    .reads = ".defined()",
    .typical_cost = 0.5,
    .holds = [](const Guard& g, const CallDescriptor& call) { return (spec_of(g, call) != nullptr) == (g.expected != 0); },
    .condition = [](const Guard& g) { return g.subject() + " == " + flag_text(g.expected != 0); },
    .actual = [](const Guard& g, const CallDescriptor& call) { return flag_text(spec_of(g, call) != nullptr); },
    .suggestion = "a tensor is defined in some calls only: with and without it are two specializations",
    .protects_memory = true,
};

inline constexpr Definition dtype = {
    .kind = GuardKind::Dtype,
    .name = "dtype",
    .reads = ".dtype()",
    .typical_cost = 0.5,
    .holds = of_spec<[](const Guard& g, const ir::TensorSpec& s) { return static_cast<int64_t>(s.dtype) == g.expected; }>,
    .condition = [](const Guard& g) { return g.subject() + " == " + std::string(short_name(static_cast<ScalarType>(g.expected))); },
    .actual = text_of_spec<[](const Guard&, const ir::TensorSpec& s) { return std::string(short_name(s.dtype)); }>,
    .suggestion = "convert the argument to one dtype before the call",
    .protects_memory = true,
};

inline int64_t device_word(Device device) { return (static_cast<int64_t>(device.type()) << 8) | (device.index() & 0xff); }
inline constexpr Definition device = {
    .kind = GuardKind::Device,
    .name = "device",
    .reads = ".device()",
    .typical_cost = 0.5,
    .holds = of_spec<[](const Guard& g, const ir::TensorSpec& s) { return device_word(s.device) == g.expected; }>,
    .condition =
        [](const Guard& g) {
          return g.subject() + " == " + Device(static_cast<DeviceType>(g.expected >> 8), static_cast<int8_t>(g.expected & 0xff)).str();
        },
    .actual = text_of_spec<[](const Guard&, const ir::TensorSpec& s) { return s.device.str(); }>,
    .suggestion = "move the argument to one device before the call",
    .protects_memory = true,
};

inline constexpr Definition rank = {
    .kind = GuardKind::Rank,
    .name = "rank",
    .reads = ".dim()",
    .typical_cost = 0.5,
    .holds = of_spec<[](const Guard& g, const ir::TensorSpec& s) { return s.rank() == g.expected; }>,
    .condition = [](const Guard& g) { return g.subject() + " == " + std::to_string(g.expected); },
    .actual = text_of_spec<[](const Guard&, const ir::TensorSpec& s) { return std::to_string(s.rank()); }>,
    .suggestion = "the number of dimensions changes: each is a specialization",
    .protects_memory = true,
};

inline std::string of_dim(const Guard& g, const ir::TensorSpec& s, const Dims& list) {
  return g.dim < s.rank() ? std::to_string(list[static_cast<size_t>(g.dim)]) : std::string("no such dimension");
}

inline constexpr Definition size = {
    .kind = GuardKind::Size,
    .name = "size",
    .reads = ".size({})",
    .typical_cost = 0.5,
    .holds = of_spec<[](const Guard& g, const ir::TensorSpec& s) {
      return g.dim < s.rank() && s.sizes[static_cast<size_t>(g.dim)] == g.expected;
    }>,
    .condition = [](const Guard& g) { return g.subject() + " == " + std::to_string(g.expected); },
    .actual = text_of_spec<[](const Guard& g, const ir::TensorSpec& s) { return of_dim(g, s, s.sizes); }>,
    .suggestion =
        "the size changes between calls: let it be dynamic (Dynamic::Automatic, mark_dynamic), bucket it (tailor::bucketed), raise "
        "cache_size_limit, or split the function",
    .protects_memory = true,
};

inline constexpr Definition size_range = {
    .kind = GuardKind::SizeRange,
    .name = "size range",
    .reads = ".size({})",
    .typical_cost = 0.7,
    .holds = of_spec<[](const Guard& g, const ir::TensorSpec& s) {
      if (g.dim >= s.rank()) return false;
      const int64_t size = s.sizes[static_cast<size_t>(g.dim)];
      return size >= g.expected && size <= g.most;
    }>,
    .condition =
        [](const Guard& g) {
          const std::string above = std::to_string(g.expected) + " <= " + g.subject();
          return g.most == INT64_MAX ? above : above + " <= " + std::to_string(g.most);
        },
    .actual = text_of_spec<[](const Guard& g, const ir::TensorSpec& s) { return of_dim(g, s, s.sizes); }>,
    .suggestion = "the size leaves the range it was compiled for: give mark_dynamic a wider one",
    .protects_memory = true,
};

inline constexpr Definition stride = {
    .kind = GuardKind::Stride,
    .name = "stride",
    .reads = ".stride({})",
    .typical_cost = 0.5,
    .holds = of_spec<[](const Guard& g, const ir::TensorSpec& s) {
      return g.dim < s.rank() && s.strides[static_cast<size_t>(g.dim)] == g.expected;
    }>,
    .condition = [](const Guard& g) { return g.subject() + " == " + std::to_string(g.expected); },
    .actual = text_of_spec<[](const Guard& g, const ir::TensorSpec& s) { return of_dim(g, s, s.strides); }>,
    .suggestion = "the memory layout changes between calls: call contiguous() before",
    .protects_memory = true,
};

inline ir::DimOrder order_of(const Guard& g) {
  ir::DimOrder order;
  order.rank = static_cast<uint8_t>(g.words.size());
  std::transform(g.words.begin(), g.words.end(), order.dims.begin(), [](int64_t d) { return static_cast<uint8_t>(d); });
  return order;
}

inline constexpr Definition layout = {
    .kind = GuardKind::Layout,
    .name = "layout",
    .reads = ".is_contiguous()",
    .typical_cost = 2.0,
    .holds = of_spec<[](const Guard& g, const ir::TensorSpec& s) {
      return static_cast<size_t>(s.rank()) == g.words.size() && s.strides == ir::dense_strides(s.sizes, order_of(g));
    }>,
    .condition =
        [](const Guard& g) {
          if (std::is_sorted(g.words.rbegin(), g.words.rend())) return g.path + ".is_contiguous()";
          const std::vector<int64_t> outermost_first(g.words.rbegin(), g.words.rend());
          return g.path + " is dense with its dimensions in the order " + streamed(IntArrayRef(outermost_first));
        },
    .actual = text_of_spec<[](const Guard&, const ir::TensorSpec& s) {
      return "sizes " + streamed(s.sizes) + " and strides " + streamed(s.strides);
    }>,
    .suggestion = "the memory layout changes between calls: call contiguous() before",
    .protects_memory = true,
};

inline constexpr Definition requires_grad = {
    .kind = GuardKind::RequiresGrad,
    .name = "requires_grad",
    .reads = ".requires_grad()",
    .typical_cost = 0.5,
    .holds = of_spec<[](const Guard& g, const ir::TensorSpec& s) { return s.requires_grad == (g.expected != 0); }>,
    .condition = [](const Guard& g) { return g.subject() + " == " + flag_text(g.expected != 0); },
    .actual = text_of_spec<[](const Guard&, const ir::TensorSpec& s) { return flag_text(s.requires_grad); }>,
    .suggestion = "call under NoGradGuard, or detach()",
};

// Compiled code takes the address of the first element of each call and loads without regard to alignment: it relies on neither. User
// code can ask for the offset, though.
inline constexpr Definition storage_offset = {
    .kind = GuardKind::StorageOffset,
    .name = "storage offset",
    .reads = ".storage_offset()",
    .typical_cost = 0.5,
    .holds =
        [](const Guard& g, const CallDescriptor& call) {
          const TensorFact* fact = fact_of(g, call);
          return fact != nullptr && fact->spec != nullptr && fact->offset == g.expected;
        },
    .condition = [](const Guard& g) { return g.subject() + " == " + std::to_string(g.expected); },
    .actual =
        [](const Guard& g, const CallDescriptor& call) {
          return spec_of(g, call) ? std::to_string(fact_of(g, call)->offset) : std::string("undefined");
        },
    .suggestion = "the function reads storage_offset(), which changes between calls",
};

// A view that as_strided() makes may look anywhere in the storage: that it is there is not told by sizes and strides.
inline int64_t bytes_before(const TensorFact& fact) { return fact.offset * element_size(fact.spec->dtype); }
inline int64_t bytes_after(const TensorFact& fact) {
  return static_cast<int64_t>(static_cast<const Storage*>(fact.storage)->bytes()) - bytes_before(fact);
}
inline constexpr Definition storage_reach = {
    .kind = GuardKind::StorageReach,
    .name = "storage reach",
    .reads = "'s storage",
    .typical_cost = 1.0,
    .holds =
        [](const Guard& g, const CallDescriptor& call) {
          const TensorFact* fact = fact_of(g, call);
          return fact != nullptr && fact->spec != nullptr && fact->storage != nullptr && bytes_after(*fact) >= g.expected &&
                 bytes_before(*fact) >= g.most;
        },
    .condition =
        [](const Guard& g) {
          const std::string before = g.most > 0 ? " and " + std::to_string(g.most) + " before it" : "";
          return "the storage of " + g.path + " holds " + std::to_string(g.expected) + " bytes from its first element on" + before;
        },
    .actual =
        [](const Guard& g, const CallDescriptor& call) {
          const TensorFact* fact = fact_of(g, call);
          if (fact == nullptr || fact->spec == nullptr || fact->storage == nullptr) return std::string("undefined");
          return std::to_string(bytes_after(*fact)) + (g.most > 0 ? " and " + std::to_string(bytes_before(*fact)) : "");
        },
    .suggestion = "the function calls as_strided() on a tensor whose memory is smaller in some calls",
    .protects_memory = true,
};

}  // namespace tailor::guards::kinds
