#include "jit/contraction.h"

#include <algorithm>
#include <array>
#include <map>

#include "jit/loop_interpreter.h"

namespace tailor::jit {

using ir::Graph;
using ir::MemoryMap;
using ir::Node;
using ir::TensorSpec;
using ir::ValueId;

namespace {

constexpr size_t kMostTailBuffers = 32;
constexpr int64_t kFirstRows = 16, kFirstColumns = 192;  // of a product: about what its tail sees first
constexpr int64_t kLine = 64;                            // bytes of a cache line

const Node& node_at(const Graph& graph, int n) { return graph.nodes[static_cast<size_t>(n)]; }

bool is_anchor(const Graph& graph, const MemoryMap& memory, const Node& node) {
  if (node.kind != ir::NodeKind::CallOp || node.inplace || node.outputs.size() != 1 || kernels::find_contraction(*node.op) == nullptr)
    return false;
  const ValueId v = node.outputs[0];
  const TensorSpec& spec = graph.spec(v);
  if (!is_floating_point(spec.dtype) || spec.rank() < 2 || spec.numel() == 0 || !spec.is_contiguous()) return false;
  if (memory.root(v) != v || memory.is_output(memory.of(v)) || memory.is_written(memory.of(v))) return false;
  // The call moves to where its result is read: nothing it reads may change on the way.
  return std::none_of(node.operands.begin(), node.operands.end(),
                      [&](const ir::Value& o) { return o.is_tensor() && memory.is_written(memory.of(o.tensor)); });
}

// The only group that reads the memory of `v`, or -1.
int only_reader(const Graph& graph, const MemoryMap& memory, const std::vector<Group>& groups, ValueId v) {
  int reader = -1;
  for (size_t g = 0; g < groups.size(); ++g)
    for (int n : groups[g].nodes)
      for (const ir::Value& o : node_at(graph, n).operands)
        if (o.is_tensor() && memory.root(o.tensor) == v) {
          if (reader >= 0 && reader != static_cast<int>(g)) return -1;
          reader = static_cast<int>(g);
        }
  return reader;
}

/// How the loops of an unscheduled nest make up batches, rows and columns: dims [0, row), [row, column), [column, end).
struct Parts {
  size_t row = 0, column = 0, end = 0;
};

Parts parts_of(const LoopNest& nest, const kernels::ResultExtents& extents) {
  Parts p;
  p.end = nest.dims.size();
  const auto first_of = [&](size_t end, int64_t wanted) {
    int64_t count = 1;
    while (end > 0 && count < wanted) count *= nest.dims[--end].extent.value;
    if (count != wanted) throw LoweringError("loops do not make up the rows and columns of a contraction");
    return end;
  };
  p.column = first_of(p.end, extents.columns);
  p.row = first_of(p.column, extents.rows);
  first_of(p.row, extents.batches);
  return p;
}

// The one stride with which a map walks through dims [first, last).
int64_t stride_through(const LoopNest& nest, const IndexMap& map, size_t first, size_t last) {
  if (first == last) return 0;
  for (size_t d = last - 1; d-- > first;)
    if (map.strides[d].value != map.strides[d + 1].value * nest.dims[d + 1].extent.value)
      throw LoweringError("an operand of a contraction's tail has no single stride");
  return map.strides[last - 1].value;
}

bool is_row_major(const LoopNest& nest, const IndexMap& map) {
  int64_t stride = 1;
  for (size_t d = nest.dims.size(); d-- > 0; stride *= nest.dims[d].extent.value)
    if (map.strides[d].value != stride && nest.dims[d].extent.value != 1) return false;
  return map.offset.value == 0;
}

class TailLowering {
 public:
  TailLowering(const Graph& graph, const MemoryMap& memory, const Group& group, const std::vector<int>& scalar_index)
      : graph_(graph), anchor_(node_at(graph, group.anchor)), out_(anchor_.outputs[0]) {
    Group tail = group;
    tail.anchor = -1;
    std::erase(tail.nodes, group.anchor);
    std::erase(tail.stored, out_);
    from_ = lower(graph, memory, tail, scalar_index, false);
    extents_ = kernels::result_extents(kernels::find_contraction(*anchor_.op)->layout, graph.spec(out_).sizes);
  }

  LoweredTail run() {
    check_shape();
    parts_ = parts_of(from_.nest, extents_);
    choose_result();
    LoweredTail t;
    t.result = result_;
    t.nest.points = from_.points;
    t.nest.work = from_.work;
    LoopNest& nest = t.nest.nest;
    nest = from_.nest;
    nest.name = std::string(anchor_.op->name) + "_" + nest.name;
    nest.buffers.clear();
    for (Expr& e : nest.exprs)
      if (e.kind == ExprKind::Load) rewrite(e.access, t);
    for (Stage& s : nest.stages)
      for (Store& store : s.stores) rewrite(store.access, t);
    if (nest.buffers.size() > kMostTailBuffers) throw LoweringError("a contraction's tail has too many operands");
    nest.dims = {{Size::parameter(0)}, {Size::parameter(1)}};
    nest.size_params = 2;
    nest.vector_dim = 1;
    return t;
  }

 private:
  void check_shape() const {
    const LoopNest& nest = from_.nest;
    const bool pointwise = nest.reductions.empty() && nest.stages.size() == 1 && nest.stages[0].dims.empty();
    if (!pointwise) throw LoweringError("a contraction's tail is not pointwise");
    for (const Buffer& b : nest.buffers)
      if (b.kind == BufferKind::Scratch) throw LoweringError("a contraction's tail has scratch memory");
    for (const Store& s : nest.stages[0].stores)
      if (!s.access.bounds.empty()) throw LoweringError("a contraction's tail looks at its position");
    bool reads = false;
    for (const Expr& e : nest.exprs) {
      // Points are told by where their operands lie, not by their number.
      if (e.kind == ExprKind::Index || (e.kind == ExprKind::Load && !e.access.bounds.empty()))
        throw LoweringError("a contraction's tail looks at its position");
      if (e.kind != ExprKind::Load || !of_anchor(e.access)) continue;
      reads = true;
      if (!is_row_major(nest, e.access.index) || from_.memory[static_cast<size_t>(e.access.buffer)].byte_offset != 0 ||
          e.type != graph_.spec(out_).dtype)
        throw LoweringError("a contraction's result is read out of order");
    }
    if (!reads) throw LoweringError("a contraction's tail does not read its result");
  }

  bool of_anchor(const Access& a) const { return from_.memory[static_cast<size_t>(a.buffer)].root == out_; }

  // A fresh value of the same elements in the same order takes the place of the contraction's result.
  void choose_result() {
    result_ = out_;
    for (const Store& s : from_.nest.stages[0].stores) {
      const NestMemory& m = from_.memory[static_cast<size_t>(s.access.buffer)];
      const TensorSpec& spec = graph_.spec(m.root);
      const Node& definer = graph_.node_of(m.root);
      if (definer.kind != ir::NodeKind::CallOp || m.byte_offset != 0 || m.offset_scalar >= 0 || spec.dtype != graph_.spec(out_).dtype ||
          spec.numel() != graph_.spec(out_).numel() || !is_row_major(from_.nest, s.access.index))
        continue;
      const auto same = [&](const Access& a) { return from_.memory[static_cast<size_t>(a.buffer)].root == m.root; };
      const bool read = std::any_of(from_.nest.exprs.begin(), from_.nest.exprs.end(),
                                    [&](const Expr& e) { return e.kind == ExprKind::Load && same(e.access); });
      if (read) continue;
      result_ = m.root;
      in_place_ = s.access.buffer;
      return;
    }
  }

  // One buffer for each memory and way of walking through batches and columns.
  void rewrite(Access& a, LoweredTail& t) {
    const int old = of_anchor(a) && in_place_ >= 0 ? in_place_ : a.buffer;
    const TailShift shift{stride_through(from_.nest, a.index, 0, parts_.row),
                          stride_through(from_.nest, a.index, parts_.column, parts_.end)};
    const int64_t row = stride_through(from_.nest, a.index, parts_.row, parts_.column);
    a.index.strides = {Size(row), Size(shift.column)};
    const auto [it, fresh] = buffers_.try_emplace({old, shift.batch, shift.column}, static_cast<int>(t.nest.nest.buffers.size()));
    if (fresh) {
      t.nest.nest.buffers.push_back(from_.nest.buffers[static_cast<size_t>(old)]);
      t.nest.memory.push_back(from_.memory[static_cast<size_t>(old)]);
      t.shifts.push_back(shift);
    }
    a.buffer = it->second;
  }

  const Graph& graph_;
  const Node& anchor_;
  const ValueId out_;
  LoweredNest from_;
  kernels::ResultExtents extents_;
  Parts parts_;
  ValueId result_ = -1;
  int in_place_ = -1;
  std::map<std::array<int64_t, 3>, int> buffers_;
};

// What an epilogue is called with.
struct Context {
  const ContractionLaunch& launch;
  const int64_t* scalars;
  std::array<std::byte*, kMostTailBuffers> first;

  static void call(void* context, const kernels::Region& r) {
    const Context& self = *static_cast<const Context*>(context);
    const ContractionLaunch& launch = self.launch;
    const LoopNest& nest = *launch.tail.nest;
    std::array<void*, kMostTailBuffers> buffers;
    for (size_t i = 0; i < launch.shifts.size(); ++i) {
      const int64_t elements = r.batch * launch.shifts[i].batch + r.column * launch.shifts[i].column;
      buffers[i] = self.first[i] + elements * element_size(nest.buffers[i].dtype);
    }
    std::array<int64_t, kMostTailSizes> sizes;
    sizes[0] = launch.rows, sizes[1] = r.columns;
    std::copy_n(launch.tail.sizes, nest.size_params - 2, sizes.begin() + 2);
    int64_t begin = r.row, end = r.row + r.rows;
    if (launch.flat_columns == r.columns && r.column == 0 && r.column_stride == 1 && r.row_stride == r.columns) {
      for (size_t i = 0; i < launch.shifts.size(); ++i)
        buffers[i] =
            static_cast<std::byte*>(buffers[i]) + r.row * r.columns * launch.shifts[i].column * element_size(nest.buffers[i].dtype);
      sizes[1] = r.rows * r.columns;
      begin = 0, end = 1;
    }
    if (launch.tail.kernel != nullptr)
      launch.tail.kernel(buffers.data(), sizes.data(), self.scalars, begin, end);
    else
      interpret_nest(nest, buffers.data(), sizes.data(), self.scalars, begin, end);
    if (!launch.ahead.empty()) self.fetch_after(r, sizes.data());
  }

  // Parts come row after row, and then further columns. A wrong guess costs next to nothing.
  void fetch_after(const kernels::Region& r, const int64_t* sizes) const {
    kernels::Region next = r;
    next.row += r.rows;
    if (next.row >= launch.rows) next.row = 0, next.column += r.columns;
    if (next.column >= launch.columns) return;
    next.rows = std::min(r.rows, launch.rows - next.row), next.columns = std::min(r.columns, launch.columns - next.column);
    fetch(next, sizes);
  }

  // What the tail reads beside this part of the product.
  void fetch(const kernels::Region& part, const int64_t* sizes) const {
    for (const ContractionLaunch::Ahead& a : launch.ahead) {
      const int64_t row = a.row.is_static() ? a.row.value : sizes[a.row.param];
      const int64_t width = element_size(launch.tail.nest->buffers[a.buffer].dtype);
      const std::byte* line =
          first[a.buffer] + (part.batch * launch.shifts[a.buffer].batch + part.row * row + part.column * a.column) * width;
      for (int64_t i = 0; i < part.rows; ++i, line += row * width)
        for (int64_t at = 0; at < part.columns * a.column * width; at += kLine) __builtin_prefetch(line + at, 0, 2);
    }
  }
};

}  // namespace

void attach_tails(const Graph& graph, const MemoryMap& memory, const std::set<int>& plain, std::vector<Group>& groups) {
  // The last contraction that a group reads is its anchor: the others are done by then.
  for (size_t g = groups.size(); g-- > 0;) {
    if (!groups[g].library || groups[g].nodes.size() != 1) continue;
    const int n = groups[g].nodes[0];
    if (plain.contains(n) || !is_anchor(graph, memory, node_at(graph, n))) continue;
    const ValueId v = node_at(graph, n).outputs[0];
    const int reader = only_reader(graph, memory, groups, v);
    if (reader < 0) continue;
    Group& tail = groups[static_cast<size_t>(reader)];
    int64_t points = 1;
    for (int64_t s : tail.domain) points *= s;
    if (tail.library || tail.anchor >= 0 || tail.mask != 0 || tail.row_parts != 0 || points != graph.spec(v).numel()) continue;
    tail.anchor = n;
    tail.nodes.insert(std::lower_bound(tail.nodes.begin(), tail.nodes.end(), n), n);
    groups[g].nodes.clear();
  }
  std::erase_if(groups, [](const Group& g) { return g.nodes.empty(); });
}

LoweredTail lower_tail(const Graph& graph, const MemoryMap& memory, const Group& group, const std::vector<int>& scalar_index) {
  return TailLowering(graph, memory, group, scalar_index).run();
}

void ContractionLaunch::choose_flat_columns() {
  int64_t columns = 0;
  const auto fits = [&](const Access& a) {
    const Size &row = a.index.strides[0], &column = a.index.strides[1];
    if (!row.is_static() || !column.is_static()) return false;
    if (row.value == 0 && column.value == 0) return true;
    if (column.value <= 0 || row.value <= 0 || row.value % column.value != 0) return false;
    if (columns == 0) columns = row.value / column.value;
    return row.value == columns * column.value;
  };
  for (const Expr& e : tail.nest->exprs)
    if (e.kind == ExprKind::Load && !fits(e.access)) return;
  for (const Stage& s : tail.nest->stages)
    for (const Store& store : s.stores)
      if (!fits(store.access)) return;
  flat_columns = columns;
}

void ContractionLaunch::choose_ahead() {
  std::set<int> written;
  for (const Stage& s : tail.nest->stages)
    for (const Store& store : s.stores) written.insert(store.access.buffer);
  ahead.clear();
  for (const Expr& e : tail.nest->exprs) {
    if (e.kind != ExprKind::Load || !written.insert(e.access.buffer).second) continue;
    const Size &row = e.access.index.strides[0], &column = e.access.index.strides[1];
    if (row != Size(0) && column.is_static() && column.value == 1)
      ahead.push_back({static_cast<size_t>(e.access.buffer), row, column.value});
  }
}

void ContractionLaunch::run(std::byte* const* bases, const int64_t* scalars, const Packs& packs) const {
  Context context{*this, scalars, {}};
  for (size_t i = 0; i < tail.buffers.size(); ++i) context.first[i] = tail.buffers[i].resolve(bases, scalars);
  // The first part is fetched while the product is computed; what comes after it, a part ahead.
  if (!ahead.empty()) {
    std::array<int64_t, kMostTailSizes> sizes{rows, columns};
    std::copy_n(tail.sizes, tail.nest->size_params - 2, sizes.begin() + 2);
    context.fetch({nullptr, 0, 0, std::min(rows, kFirstRows), 0, std::min(columns, kFirstColumns), 0, 0}, sizes.data());
  }
  const kernels::Epilogue epilogue{Context::call, &context};
  call.run(bases, scalars, packs, [&](const kernels::Call& c) { kernel(c, epilogue); });
}

}  // namespace tailor::jit
