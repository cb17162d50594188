#include "jit/program_numbers.h"

#include <algorithm>
#include <utility>

namespace tailor::jit {
namespace {

// ---- one walk for all visitors -------------------------------------------------------------------------------------
//
//   v.word(w)       structure
//   v.number(n)     a whole number       v.real(bits)    a double
//   v.size(s)       a nest's Size        v.literal(e)    a nest's literal

template <class V, class E>
void word(V& v, E e) {
  v.word(static_cast<int64_t>(e));
}

template <class V>
void walk(V& v, tailor::Scalar& s) {
  word(v, s.kind());
  if (s.is_boolean()) return v.word(s.bits());
  int64_t bits = s.bits();
  s.is_integral() ? v.number(bits) : v.real(bits);
  if (bits != s.bits()) s = tailor::Scalar::from_bits(s.kind(), bits);
}

template <class V>
void walk(V& v, Dims& dims) {
  word(v, dims.size());
  for (int64_t& d : dims) v.number(d);
}

template <class V>
void walk(V& v, ir::TensorSpec& spec) {
  word(v, spec.dtype);
  v.word(static_cast<int64_t>(spec.device.type()) << 8 | static_cast<uint8_t>(spec.device.index()));
  word(v, spec.requires_grad);
  walk(v, spec.sizes);
  walk(v, spec.strides);
}

template <class V>
void walk(V& v, std::vector<ir::Attr>& attrs) {
  word(v, attrs.size());
  for (ir::Attr& a : attrs) {
    const ir::AttrRef ref = a.ref();
    word(v, ref.kind);
    const std::span<int64_t> words = a.words();
    word(v, words.size());
    if (words.empty()) v.word(ref.word);
    for (int64_t& w : words) ref.kind == ir::AttrRef::Kind::Double ? v.real(w) : v.number(w);
  }
}

template <class V>
void walk(V& v, const std::vector<int>& list) {
  word(v, list.size());
  for (int i : list) v.word(i);
}

// ---- launches ------------------------------------------------------------------------------------------------------

template <class V>
void walk(V& v, Pointer& p) {
  v.word(static_cast<int64_t>(p.base) << 32 | static_cast<uint32_t>(p.place));
  v.word(static_cast<int64_t>(p.scalar) << 32 | static_cast<uint32_t>(p.width));
  v.number(p.byte_offset);
}

template <class V>
void walk(V& v, NestLaunch& l) {
  v.word(l.index);
  word(v, l.whole_vectors);
  word(v, l.buffers.size());
  for (Pointer& p : l.buffers) walk(v, p);
  v.number(l.extent);
  v.number(l.work);
}

template <class V>
void walk(V& v, LibraryLaunch::Argument& a) {
  word(v, a.kind);
  v.word(a.parameter);
  if (a.kind == LibraryLaunch::Argument::Kind::Scalar) walk(v, a.scalar);
  if (a.kind == LibraryLaunch::Argument::Kind::Parameter) word(v, a.scalar.kind());
  if (a.kind != LibraryLaunch::Argument::Kind::Tensor) return;
  walk(v, a.pointer);
  walk(v, a.spec);
}

template <class V>
void walk(V& v, LibraryLaunch& l) {
  v.word(reinterpret_cast<int64_t>(l.op));
  word(v, l.operands.size());
  for (auto& a : l.operands) walk(v, a);
  word(v, l.outputs.size());
  for (auto& a : l.outputs) walk(v, a);
  walk(v, l.attrs);
}

template <class V>
void walk(V& v, ContractionLaunch& l) {
  walk(v, l.call);
  walk(v, l.tail);
  word(v, l.shifts.size());
  for (TailShift& s : l.shifts) v.number(s.batch), v.number(s.column);
  v.number(l.rows);
  v.number(l.columns);
}

template <class V>
void walk(V& v, OutputPlan& o) {
  word(v, o.kind);
  v.word(o.index);
  v.word(o.offset_scalar);
  word(v, o.memory_bytes >= 0);
  v.number(o.offset);
  if (o.memory_bytes >= 0) v.number(o.memory_bytes);
  walk(v, o.spec);
}

template <class V>
void walk(V& v, std::vector<Launch>& launches, std::vector<OutputPlan>& outputs, std::vector<Block>& blocks) {
  word(v, launches.size());
  for (Launch& l : launches) {
    word(v, l.index());
    std::visit([&](auto& launch) { walk(v, launch); }, l);
  }
  word(v, outputs.size());
  for (OutputPlan& o : outputs) walk(v, o);
  word(v, blocks.size());
  for (Block& b : blocks) {
    v.word(b.first), v.word(b.last);
    v.number(b.bytes);
  }
}

// ---- nests ---------------------------------------------------------------------------------------------------------

template <class V>
void walk(V& v, IndexMap& m) {
  v.size(m.offset);
  word(v, m.strides.size());
  for (Size& s : m.strides) v.size(s);
}

template <class V>
void walk(V& v, Access& a) {
  v.word(a.buffer);
  walk(v, a.index);
  word(v, a.bounds.size());
  for (Bound& b : a.bounds) walk(v, b.coordinate), v.size(b.low), v.size(b.high);
}

template <class V>
void walk(V& v, Expr& e) {
  word(v, e.kind), word(v, e.type), word(v, e.compute);
  v.word(reinterpret_cast<int64_t>(e.op));
  v.word(e.param);
  walk(v, std::as_const(e.args));
  if (e.kind == ExprKind::Load) {
    walk(v, e.access);
    walk(v, e.otherwise);
  }
  if (e.kind == ExprKind::Index) walk(v, e.index);
  if (e.kind == ExprKind::Param) word(v, e.literal.kind());
  if (e.kind == ExprKind::Literal) v.literal(e);
}

template <class V>
void walk(V& v, LoopNest& n) {
  word(v, n.dims.size());
  for (LoopDim& d : n.dims) v.size(d.extent), word(v, d.inner), word(v, d.unrolled);
  v.word(n.vector_dim);
  word(v, n.buffers.size());
  for (Buffer& b : n.buffers) word(v, b.kind), word(v, b.dtype), v.size(b.elements);
  word(v, n.exprs.size());
  for (Expr& e : n.exprs) walk(v, e);
  word(v, n.reductions.size());
  for (Reduction& r : n.reductions) word(v, r.op), v.word(r.value), v.word(r.index), word(v, r.accumulate);
  word(v, n.stages.size());
  for (Stage& s : n.stages) {
    walk(v, std::as_const(s.dims)), walk(v, std::as_const(s.exprs)), walk(v, std::as_const(s.reductions));
    word(v, s.stores.size());
    for (Store& store : s.stores) walk(v, store.access), v.word(store.value);
  }
  v.word(n.size_params), v.word(n.scalar_params);
  word(v, n.nontemporal);
}

// ---- the graph -----------------------------------------------------------------------------------------------------

template <class V>
void walk(V& v, ir::Graph& g) {
  word(v, g.nodes.size());
  for (ir::Node& node : g.nodes) {
    word(v, node.kind);
    v.word(reinterpret_cast<int64_t>(node.op));
    word(v, node.inplace);
    v.word(node.alias_group);
    word(v, node.operands.size());
    for (ir::Value& o : node.operands) {
      word(v, o.kind);
      v.word(o.tensor);
      if (o.is_scalar()) walk(v, o.scalar);
    }
    walk(v, node.attrs);
    walk(v, std::as_const(node.outputs));
    if (node.kind == ir::NodeKind::Constant) v.constant(node.constant);
    if (node.kind == ir::NodeKind::Scalar) word(v, node.scalar.kind());  // the value may vary
  }
  word(v, g.values.size());
  for (ir::ValueInfo& value : g.values) walk(v, value.spec);
  walk(v, std::as_const(g.outputs));
}

// ---- visitors ------------------------------------------------------------------------------------------------------

struct Reader {
  ProgramText& text;
  void word(int64_t w) { text.words.push_back(w); }
  void number(int64_t& n) { text.numbers.push_back(n), text.real.push_back(0); }
  void real(int64_t& bits) { text.numbers.push_back(bits), text.real.push_back(1); }
  void size(Size& s) {
    word(s.param);
    if (s.is_static()) number(s.value);
  }
  void literal(Expr& e) { walk(*this, e.literal); }
  void constant(const std::shared_ptr<const ir::ConstantData>& data) { text.constants.push_back(data); }
};

struct Writer {
  std::span<const NumberPatch> patches;
  std::span<const int64_t> values;
  size_t next = 0;
  void word(int64_t) {}
  void number(int64_t& n) {
    if (!patches.empty() && patches.front().number == next) {
      n = values[static_cast<size_t>(patches.front().value)];
      patches = patches.subspan(1);
    }
    ++next;
  }
  void real(int64_t& bits) { number(bits); }
  void size(Size&) {}
  void literal(Expr&) {}
  void constant(const std::shared_ptr<const ir::ConstantData>&) {}
};

struct Parameteriser {
  std::span<const int> value_of;
  LoopNest& nest;
  int first_scalar;
  std::vector<int>& scalars;
  NestParameters& parameters;
  bool possible = true;
  size_t next = 0;

  static int64_t place_of(std::vector<int>& list, int value) {
    const auto it = std::find(list.begin(), list.end(), value);
    if (it != list.end()) return it - list.begin();
    list.push_back(value);
    return static_cast<int64_t>(list.size()) - 1;
  }
  int take() { return value_of[next++]; }
  void word(int64_t) {}
  void number(int64_t&) { possible &= take() < 0; }
  void real(int64_t& bits) { number(bits); }
  void size(Size& s) {
    if (!s.is_static()) return;
    if (const int value = take(); value >= 0) s = Size::parameter(static_cast<int>(nest.size_params + place_of(parameters.sizes, value)));
  }
  void literal(Expr& e) {
    if (e.literal.is_boolean()) return;
    const int value = take();
    if (value < 0) return;
    e.kind = ExprKind::Param;
    e.param = first_scalar + static_cast<int>(place_of(scalars, value));
    nest.scalar_params = std::max<int64_t>(nest.scalar_params, e.param + 1);
  }
};

}  // namespace

bool ProgramText::same_structure(const ProgramText& other) const {
  return words == other.words && numbers.size() == other.numbers.size() && real == other.real &&
         std::equal(constants.begin(), constants.end(), other.constants.begin(), other.constants.end(),
                    [](const auto& a, const auto& b) { return a == b || a->bytes == b->bytes; });
}

ProgramText read_program(const Program& program) {
  ProgramText text;
  Reader reader{text};
  auto& p = const_cast<Program&>(program);  // a reader changes nothing
  walk(reader, p.launches, p.outputs, p.blocks);
  for (LoweredNest& n : p.nests) {
    text.nests.push_back(text.numbers.size());
    walk(reader, n.nest);
  }
  text.graph = text.numbers.size();
  walk(reader, p.graph);
  return text;
}

void write_launches(std::vector<Launch>& launches, std::vector<OutputPlan>& outputs, std::vector<Block>& blocks,
                    std::span<const NumberPatch> patches, std::span<const int64_t> values) {
  Writer writer{patches, values};
  walk(writer, launches, outputs, blocks);
  for (Launch& l : launches) {
    LibraryLaunch* call = std::get_if<LibraryLaunch>(&l);
    if (auto* contraction = std::get_if<ContractionLaunch>(&l)) call = &contraction->call;
    if (call != nullptr) call->refs.assign(call->attrs.begin(), call->attrs.end());
  }
}

void write_graph(ir::Graph& graph, size_t first, std::span<const NumberPatch> patches, std::span<const int64_t> values) {
  Writer writer{patches, values, first};
  walk(writer, graph);
}

bool parameterise(LoopNest& nest, std::span<const int> value_of, int first_scalar, std::vector<int>& scalars, NestParameters& parameters) {
  Parameteriser p{value_of, nest, first_scalar, scalars, parameters};
  walk(p, nest);
  nest.size_params += static_cast<int64_t>(parameters.sizes.size());
  return p.possible;
}

}  // namespace tailor::jit
