#include "jit/ahead.h"

#include <algorithm>
#include <numeric>

#include "jit/fold_affine.h"
#include "kernels/epilogue.h"

namespace tailor::jit {

using ir::Graph;
using ir::Node;
using ir::NodeKind;
using ir::Value;
using ir::ValueId;

namespace {

bool is_contraction(const Node& node) {
  return node.kind == NodeKind::CallOp && !node.inplace && kernels::find_contraction(*node.op) != nullptr;
}

// A contraction, or what is done to its result first.
bool takes_weights(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::CallOp || node.inplace) return false;
  if (is_contraction(node)) return true;
  return node.op->kind == ir::OpKind::Pointwise && std::any_of(node.operands.begin(), node.operands.end(), [&](const Value& v) {
           return v.is_tensor() && is_contraction(graph.node_of(v.tensor));
         });
}

}  // namespace

std::set<int> nodes_ahead(const Graph& graph, const std::vector<bool>& steady) {
  std::set<int> ahead;
  if (std::none_of(steady.begin(), steady.end(), [](bool s) { return s; })) return ahead;
  const std::vector<bool> values = steady_values(graph, steady);
  std::vector<int> work;
  const auto need = [&](ValueId v) {
    const int n = graph.values[static_cast<size_t>(v)].node;
    if (graph.nodes[static_cast<size_t>(n)].kind == NodeKind::CallOp && ahead.insert(n).second) work.push_back(n);
  };
  for (const Node& node : graph.nodes) {
    if (!takes_weights(graph, node)) continue;
    const bool itself = std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return values[static_cast<size_t>(v)]; });
    for (const Value& v : node.operands)
      if (!itself && v.is_tensor() && values[static_cast<size_t>(v.tensor)]) need(v.tensor);
  }
  while (!work.empty()) {
    const Node& node = graph.nodes[static_cast<size_t>(work.back())];
    work.pop_back();
    for (const Value& v : node.operands)
      if (v.is_tensor()) need(v.tensor);
  }
  return ahead;
}

namespace {

class Units {
 public:
  Units(const Program& program, std::span<const Launch> launches, const std::vector<bool>& steady)
      : program_(program), launches_(launches), steady_(steady), writer_(program.blocks.size(), kNobody) {}

  std::vector<AheadUnit> find() {
    std::vector<bool> ahead = program_.ahead;
    // Whatever a launch reads that is not there ahead of it, or memory that others write too, takes it out.
    for (bool again = true; again;) {
      again = false;
      std::fill(writer_.begin(), writer_.end(), kNobody);
      for (size_t i = 0; i < launches_.size(); ++i) {
        if (!ahead[i]) each_written(i, [&](const Pointer& p) { spoil(p); });
      }
      for (size_t i = 0; i < launches_.size(); ++i) {
        if (!ahead[i] || comes_ahead(i)) continue;
        ahead[i] = false;
        again = true;
      }
    }
    std::vector<int> unit_of(launches_.size());
    std::iota(unit_of.begin(), unit_of.end(), 0);
    const auto root = [&](int i) {
      while (unit_of[static_cast<size_t>(i)] != i) i = unit_of[static_cast<size_t>(i)];
      return i;
    };
    std::vector<int> toucher(program_.blocks.size(), -1);
    for (size_t i = 0; i < launches_.size(); ++i) {
      if (!ahead[i]) continue;
      each(i, [&](const Pointer& p) {
        if (!is_block(p)) return;
        int& first = toucher[static_cast<size_t>(p.place)];
        if (first < 0) first = static_cast<int>(i);
        unit_of[static_cast<size_t>(root(static_cast<int>(i)))] = root(first);
      });
    }
    std::vector<AheadUnit> units;
    std::vector<int> number(launches_.size(), -1);
    for (size_t i = 0; i < launches_.size(); ++i) {
      if (!ahead[i]) continue;
      int& n = number[static_cast<size_t>(root(static_cast<int>(i)))];
      if (n < 0) n = static_cast<int>(units.size()), units.emplace_back();
      AheadUnit& unit = units[static_cast<size_t>(n)];
      unit.launches.push_back(static_cast<int>(i));
      each(i, [&](const Pointer& p) {
        if (is_block(p)) unit.blocks.push_back(p.place);
        if (p.base < program_.inputs) unit.inputs.push_back(p.base);
      });
    }
    for (AheadUnit& unit : units)
      for (std::vector<int>* list : {&unit.inputs, &unit.blocks}) {
        std::sort(list->begin(), list->end());
        list->erase(std::unique(list->begin(), list->end()), list->end());
      }
    return units;
  }

 private:
  enum Writer : char { kNobody, kAhead, kOthers };

  bool is_block(const Pointer& p) const { return p.base == program_.arena_base(); }
  void spoil(const Pointer& p) {
    if (is_block(p)) writer_[static_cast<size_t>(p.place)] = kOthers;
  }

  template <class F>
  void each(size_t launch, F&& f) const {
    std::visit([&](const auto& l) { each_pointer(l, f); }, launches_[launch]);
  }
  template <class F>
  void each_of_nest(const NestLaunch& nest, bool written, F&& f) const {
    const std::vector<NestMemory>& memory = program_.nests[static_cast<size_t>(nest.index)].memory;
    for (size_t b = 0; b < nest.buffers.size(); ++b)
      if (memory[b].written == written) f(nest.buffers[b]);
  }
  template <class F>
  void each_written(size_t launch, F&& f) const {
    if (const auto* nest = std::get_if<NestLaunch>(&launches_[launch])) return each_of_nest(*nest, true, f);
    const auto* contraction = std::get_if<ContractionLaunch>(&launches_[launch]);
    if (contraction != nullptr) each_of_nest(contraction->tail, true, f);
    const LibraryLaunch& call = contraction != nullptr ? contraction->call : std::get<LibraryLaunch>(launches_[launch]);
    for (const LibraryLaunch::Argument& a : call.outputs) f(a.pointer);
  }

  bool comes_ahead(size_t launch) {
    bool fine = true;
    each_written(launch, [&](const Pointer& p) {
      fine = fine && is_block(p) && writer_[static_cast<size_t>(p.place)] != kOthers;
      if (fine) writer_[static_cast<size_t>(p.place)] = kAhead;
    });
    each(launch, [&](const Pointer& p) {
      if (is_block(p))
        fine = fine && writer_[static_cast<size_t>(p.place)] == kAhead;
      else
        fine = fine && (p.base < program_.inputs ? steady_[static_cast<size_t>(p.base)] : p.base > program_.arena_base());
      fine = fine && p.scalar < 0;
    });
    if (!fine) each_written(launch, [&](const Pointer& p) { spoil(p); });
    return fine;
  }

  const Program& program_;
  std::span<const Launch> launches_;
  const std::vector<bool>& steady_;
  std::vector<char> writer_;  // by block
};

}  // namespace

std::vector<AheadUnit> ahead_units(const Program& program, std::span<const Launch> launches, const std::vector<bool>& steady) {
  if (std::find(program.ahead.begin(), program.ahead.end(), true) == program.ahead.end()) return {};
  return Units(program, launches, steady).find();
}

std::string unit_name(const AheadUnit& unit, std::span<const Launch> launches, std::span<const Block> blocks, int first_scalar,
                      std::span<const int64_t> more_scalars) {
  std::string name = "ahead";
  const auto add = [&](int64_t n) { name += " " + std::to_string(n); };
  for (const int b : unit.blocks) add(blocks[static_cast<size_t>(b)].bytes);
  for (const int i : unit.launches) {
    add(i);
    const Launch& launch = launches[static_cast<size_t>(i)];
    std::visit([&](const auto& l) { each_pointer(l, [&](const Pointer& p) { add(p.byte_offset); }); }, launch);
    if (const auto* nest = std::get_if<NestLaunch>(&launch)) {
      add(nest->extent);
      for (int64_t s = 0; s < nest->nest->size_params; ++s) add(nest->sizes[s]);
      for (const Expr& e : nest->nest->exprs)  // those of other launches may follow from sizes that these weights have nothing to do with
        if (e.kind == ExprKind::Param && e.param >= first_scalar) add(more_scalars[static_cast<size_t>(e.param - first_scalar)]);
    } else if (const auto* call = std::get_if<LibraryLaunch>(&launch)) {
      for (const auto* list : {&call->operands, &call->outputs})
        for (const LibraryLaunch::Argument& a : *list) {
          if (a.kind == LibraryLaunch::Argument::Kind::Scalar) add(a.scalar.bits());
          for (const Dims* dims : {&a.spec.sizes, &a.spec.strides})
            for (const int64_t d : *dims) add(d);
        }
      for (const ir::Attr& attr : call->attrs) {
        ir::Attr words = attr;
        if (const ir::AttrRef ref = words.ref(); ref.kind != ir::AttrRef::Kind::Ints && words.words().empty()) add(ref.word);
        for (const int64_t w : words.words()) add(w);
      }
    }
  }
  return name;
}

}  // namespace tailor::jit
