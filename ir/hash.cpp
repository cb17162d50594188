#include "ir/graph.h"

namespace tailor::ir {
namespace {

// Two multiplications a word; a collision would run wrong code, so every field goes in with its length.
class Hasher {
 public:
  void word(uint64_t v) {
    state_ = (state_ ^ v) * 0x9E3779B97F4A7C15ull;
    state_ ^= state_ >> 32;
    state_ *= 0xD6E8FEB86659FD93ull;
    state_ ^= state_ >> 29;
  }
  void bytes(const void* data, size_t n) {
    word(n);
    const auto* p = static_cast<const unsigned char*>(data);
    for (; n >= 8; n -= 8, p += 8) {
      uint64_t v;
      std::memcpy(&v, p, 8);
      word(v);
    }
    uint64_t rest = 0;
    if (n > 0) std::memcpy(&rest, p, n);  // `p` of nothing may be null
    word(rest);
  }
  void ints(IntArrayRef list) { bytes(list.data(), list.size() * sizeof(int64_t)); }
  void scalar(const tailor::Scalar& s) {
    word(static_cast<uint64_t>(s.kind()));
    word(static_cast<uint64_t>(s.bits()));
  }
  void spec(const TensorSpec& s) {
    word(static_cast<uint64_t>(s.dtype));
    word(static_cast<uint64_t>(s.device.type()) << 8 | static_cast<uint8_t>(s.device.index()));
    word(s.requires_grad);
    ints(s.sizes);
    ints(s.strides);
  }
  void attr(const AttrRef& a) {
    word(static_cast<uint64_t>(a.kind));
    if (a.kind == AttrRef::Kind::Ints)
      ints(a.as_ints());
    else
      word(static_cast<uint64_t>(a.word));
  }
  uint64_t result() const { return state_; }

 private:
  uint64_t state_ = 0x243F6A8885A308D3ull;
};

}  // namespace

uint64_t content_hash(const Graph& graph) {
  Hasher h;
  h.word(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    h.word(static_cast<uint64_t>(node.kind));
    if (node.op) h.bytes(node.op->name.data(), node.op->name.size());
    h.word(node.inplace);
    h.word(static_cast<uint64_t>(node.alias_group));
    h.word(node.operands.size());
    for (const Value& v : node.operands) {
      h.word(static_cast<uint64_t>(v.kind));
      if (v.is_tensor()) h.word(static_cast<uint64_t>(v.tensor));
      if (v.is_scalar()) h.scalar(v.scalar);
    }
    h.word(node.attrs.size());
    for (const Attr& a : node.attrs) h.attr(a);
    if (node.constant) h.bytes(node.constant->bytes.data(), node.constant->bytes.size());
    if (node.kind == NodeKind::Scalar) h.word(static_cast<uint64_t>(node.scalar.kind()));  // the value may vary
    h.word(node.outputs.size());
    for (ValueId v : node.outputs) {
      h.word(static_cast<uint64_t>(v));
      h.spec(graph.spec(v));
    }
  }
  h.word(graph.outputs.size());
  for (ValueId v : graph.outputs) h.word(static_cast<uint64_t>(v));
  return h.result();
}

}  // namespace tailor::ir
