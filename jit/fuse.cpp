#include <algorithm>
#include <set>
#include <utility>

#include "ir/choices.h"
#include "jit/fusion.h"

namespace tailor::jit {

using ir::Graph;
using ir::MemoryId;
using ir::MemoryMap;
using ir::Node;
using ir::Value;
using ir::ValueId;

namespace {

constexpr size_t kMostNodes = 96, kMostBuffers = 24;

/// A node must run after another; `apart`: and not in the same loop nest.
struct Edge {
  int to = -1;
  bool apart = false;
};

// The value behind views: what a node computed or the memory a write left.
ValueId behind_views(const Graph& graph, ValueId v) {
  for (;;) {
    const Node& node = graph.node_of(v);
    if (node.kind != ir::NodeKind::CallOp || node.op->kind != ir::OpKind::View) return v;
    v = node.operands[0].tensor;
  }
}

// What each node must come after.
std::vector<std::vector<Edge>> dependencies(const Graph& graph, const MemoryMap& memory) {
  struct Access {
    int node;
    ValueId value;  // through which view
    bool moves;     // to other coordinates
  };
  std::vector<std::vector<Edge>> edges(graph.nodes.size());
  std::vector<std::vector<Access>> reads(memory.count()), writes(memory.count());
  int last_failing = -1;
  std::vector<int> visible_writes;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const auto number = static_cast<int>(i);
    if (node.kind != ir::NodeKind::CallOp || node.op->kind == ir::OpKind::View) continue;
    const auto add = [&](int to, bool apart) {
      if (to >= 0 && to != number) edges[i].push_back({to, apart});
    };
    const bool writes_memory = writes_first_operand(node), moves = role_of(graph, node) == Role::Moved;
    for (size_t o = 0; o < node.operands.size(); ++o) {
      if (!node.operands[o].is_tensor()) continue;
      const ValueId v = node.operands[o].tensor, source = behind_views(graph, v);
      const auto m = static_cast<size_t>(memory.of(v));
      const int definer = graph.values[static_cast<size_t>(source)].node;
      add(definer, moves);
      // Memory written since the value was named must be read from memory.
      const bool current = writes[m].empty() || writes[m].back().node == definer;
      for (const Access& w : writes[m]) add(w.node, !current || moves);
      reads[m].push_back({number, v, moves});
    }
    if (writes_memory) {
      const ValueId target = node.operands[0].tensor;
      const auto m = static_cast<size_t>(memory.of(target));
      for (const Access& r : reads[m]) add(r.node, r.moves || !memory.same_place(graph, r.value, target));
      for (const Access& w : writes[m]) add(w.node, !memory.same_place(graph, w.value, target));
      writes[m].push_back({number, target, false});
      if (memory.is_external(memory.of(target))) {
        add(last_failing, true);
        visible_writes.push_back(number);
      }
    }
    if (can_fail_on_data(graph, node)) {
      for (int w : visible_writes) add(w, true);
      add(last_failing, true);
      last_failing = number;
    }
  }
  return edges;
}

class Fuser {
 public:
  Fuser(const Graph& graph, const MemoryMap& memory, const FuseOptions& options)
      : graph_(graph),
        memory_(memory),
        options_(options),
        edges_(dependencies(graph, memory)),
        group_of_(graph.nodes.size(), -1),
        users_(graph.nodes.size()) {
    for (size_t n = 0; n < edges_.size(); ++n)
      for (const Edge& e : edges_[n]) users_[static_cast<size_t>(e.to)].push_back(static_cast<int>(n));
  }

  std::vector<Group> run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      Role role = role_of(graph_, graph_.nodes[i]);
      if (role == Role::None) continue;
      if (options_.library.contains(static_cast<int>(i))) role = Role::Library;
      place(static_cast<int>(i), role);
    }
    std::vector<Group> ordered = in_order();
    if (!options_.alone) inline_cheap(ordered);
    for (Group& g : ordered) {
      g.library |= g.nodes.size() == 1 && is_kernel_alone(graph_, graph_.nodes[static_cast<size_t>(g.nodes[0])]);
      g.stored.clear();
    }
    find_stored(ordered);
    return ordered;
  }

 private:
  int part_of(int n) const {
    const auto it = options_.part.find(n);
    return it == options_.part.end() ? 0 : it->second;
  }

  struct Shape {
    std::vector<int64_t> domain;
    uint32_t mask = 0;
    bool reduces = false;
    int64_t row_parts = 0;
  };
  Shape shape_of(int n, Role role) const {
    const Node& node = graph_.nodes[static_cast<size_t>(n)];
    Shape s;
    if (role == Role::Reduction && folds_parts_of_rows(graph_, node)) {
      s.domain = squeezed(graph_.spec(graph_.node_of(node.operands[0].tensor).operands[0].tensor).sizes);
      s.row_parts = graph_.spec(node.operands[0].tensor).sizes[0];
    } else if (role == Role::Reduction) {
      const ir::TensorSpec& operand = graph_.spec(node.operands[0].tensor);
      s.domain = squeezed(operand.sizes);
      s.mask = squeezed_mask(operand.sizes, reduced_mask(graph_, node));
      s.reduces = true;
    } else {
      s.domain = squeezed(graph_.spec(node.outputs[0]).sizes);
    }
    return s;
  }

  static std::vector<int64_t> kept(const Group& g) {
    std::vector<int64_t> result;
    for (size_t d = 0; d < g.domain.size(); ++d)
      if (!(g.mask >> d & 1)) result.push_back(g.domain[d]);
    return result;
  }

  static bool has_reduction(const Group& g) { return g.mask != 0; }

  // Whether a node of this shape can be computed in the group's pass; a domain dim of the group may turn out to be folded.
  static bool fits(const Group& g, const Shape& s) {
    const bool fit = s.reduces && s.mask != 0 ? s.domain == g.domain && (g.mask == 0 || g.mask == s.mask)
                                              : s.domain == g.domain || (has_reduction(g) && s.domain == kept(g));
    return ir::choose(fit, fit);
  }

  void place(int n, Role role) {
    const Shape shape = shape_of(n, role);
    int chosen = -1;
    if (role != Role::Library && !options_.alone) {
      std::vector<int> candidates;
      for (const Edge& e : edges_[static_cast<size_t>(n)]) {
        const int g = group_of_[static_cast<size_t>(e.to)];
        if (g >= 0 && std::find(candidates.begin(), candidates.end(), g) == candidates.end()) candidates.push_back(g);
      }
      std::sort(candidates.rbegin(), candidates.rend());
      for (int g : candidates)
        if (can_join(n, shape, g)) {
          chosen = g;
          break;
        }
      if (chosen < 0 && role != Role::Moved) chosen = sibling(n, shape);
      if (chosen >= 0) {
        join(n, shape, chosen);
        note_newest(chosen);
        for (int g : candidates)
          if (g != chosen && !groups_[static_cast<size_t>(g)].nodes.empty() && can_merge(chosen, g)) {
            merge(chosen, g);
            note_newest(chosen);
          }
        return;
      }
    }
    Group g;
    g.library = role == Role::Library;
    g.domain = shape.domain;
    g.mask = shape.mask;
    g.row_parts = shape.row_parts;
    g.nodes = {n};
    group_of_[static_cast<size_t>(n)] = static_cast<int>(groups_.size());
    groups_.push_back(std::move(g));
    newest_.push_back(-1);
    note_newest(group_of_[static_cast<size_t>(n)]);
  }

  // Brings newest_ up to date after a group has grown, for it and for all groups that must come after it.
  void note_newest(int grown) {
    std::vector<int> work{grown};
    while (!work.empty()) {
      const int g = work.back();
      work.pop_back();
      const Group& group = groups_[static_cast<size_t>(g)];
      int newest = *std::max_element(group.nodes.begin(), group.nodes.end());
      for (int d : direct(g, -1)) newest = std::max(newest, newest_[static_cast<size_t>(d)]);
      if (newest <= newest_[static_cast<size_t>(g)]) continue;
      newest_[static_cast<size_t>(g)] = newest;
      for (int n : group.nodes)
        for (int user : users_[static_cast<size_t>(n)])
          if (const int u = group_of_[static_cast<size_t>(user)]; u >= 0 && u != g) work.push_back(u);
    }
  }

  // A recent group over the same domain that reads something that the node reads.
  int sibling(int n, const Shape& shape) {
    constexpr size_t kLookBack = 12;
    const std::set<ValueId> mine = roots_read(n);
    if (mine.empty()) return -1;
    for (size_t back = 0; back < std::min(kLookBack, groups_.size()); ++back) {
      const size_t g = groups_.size() - 1 - back;
      const Group& group = groups_[g];
      if (group.library || group.nodes.empty()) continue;
      bool shares = false;
      for (int m : group.nodes)
        for (ValueId v : roots_read(m)) shares |= mine.contains(v);
      if (shares && can_join(n, shape, static_cast<int>(g))) return static_cast<int>(g);
    }
    return -1;
  }

  std::set<ValueId> roots_read(int n) const {
    std::set<ValueId> roots;
    for (const Value& v : graph_.nodes[static_cast<size_t>(n)].operands)
      if (v.is_tensor() && graph_.node_of(v.tensor).kind != ir::NodeKind::Scalar) roots.insert(memory_.root(v.tensor));
    return roots;
  }

  bool can_join(int n, const Shape& shape, int g) const {
    const Group& group = groups_[static_cast<size_t>(g)];
    if (group.library || group.nodes.empty() || group.nodes.size() >= kMostNodes || !fits(group, shape)) return false;
    if (part_of(group.nodes.front()) != part_of(n) || !sees_narrow_values_in_place(n, shape, group)) return false;
    for (const Edge& e : edges_[static_cast<size_t>(n)])
      if (e.apart && group_of_[static_cast<size_t>(e.to)] == g) return false;
    if ((shape.row_parts != 0 || group.row_parts != 0) && !one_pass(group, {n}, group.mask | shape.mask, shape.row_parts)) return false;
    if (buffers(group, {n}) > kMostBuffers) return false;
    // No other dependency of the node may itself depend on the group.
    std::vector<int> from;
    for (const Edge& e : edges_[static_cast<size_t>(n)]) {
      const int h = group_of_[static_cast<size_t>(e.to)];
      if (h >= 0 && h != g) from.push_back(h);
    }
    return !reaches(from, g);
  }

  // Whether a group that folds parts of its rows stays a single pass with these nodes: no wide value may need what it folds, and it folds
  // nothing but rows and columns.
  bool one_pass(const Group& group, const std::vector<int>& more, uint32_t mask, int64_t row_parts) const {
    if (group.domain.size() != 2 || (mask != 0 && mask != 2)) return false;
    if (group.row_parts != 0 && row_parts != 0 && group.row_parts != row_parts) return false;
    std::set<int> all(group.nodes.begin(), group.nodes.end());
    all.insert(more.begin(), more.end());
    for (int n : all) {
      const Node& node = graph_.nodes[static_cast<size_t>(n)];
      const Role role = role_of(graph_, node);
      if (role == Role::Effect) return false;
      const bool wide = shape_of(n, role).domain == group.domain;
      for (const Value& o : node.operands) {
        if (!o.is_tensor()) continue;
        const ValueId root = memory_.root(o.tensor);
        const int definer = graph_.values[static_cast<size_t>(root)].node;
        if (!all.contains(definer)) continue;
        const Node& source = graph_.nodes[static_cast<size_t>(definer)];
        if (folds_parts_of_rows(graph_, source) || (wide && squeezed(graph_.spec(root).sizes) != group.domain)) return false;
      }
    }
    return true;
  }

  // What the group's reductions give is at hand at its own outer point alone: a wide node must see it spread over the folded dims.
  bool sees_narrow_values_in_place(int n, const Shape& shape, const Group& group) const {
    if (!has_reduction(group) || shape.domain != group.domain) return true;
    const Node& node = graph_.nodes[static_cast<size_t>(n)];
    const bool reduces = shape.reduces;
    const Dims sizes = graph_.spec(reduces ? node.operands[0].tensor : node.outputs[0]).sizes;
    for (const Value& o : node.operands) {
      if (!o.is_tensor()) continue;
      const ValueId root = memory_.root(o.tensor);
      const int definer = graph_.values[static_cast<size_t>(root)].node;
      if (group_of_[static_cast<size_t>(definer)] < 0 || &groups_[static_cast<size_t>(group_of_[static_cast<size_t>(definer)])] != &group)
        continue;
      if (squeezed(graph_.spec(root).sizes) != kept(group)) continue;
      const ir::TensorSpec& v = graph_.spec(o.tensor);
      const size_t missing = sizes.size() - v.sizes.size();
      int at = 0;
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (sizes[d] == 1) continue;
        const bool spread = d < missing || v.sizes[d - missing] == 1 || v.strides[d - missing] == 0;
        if (spread != static_cast<bool>(group.mask >> at & 1)) return false;
        ++at;
      }
    }
    return true;
  }

  size_t buffers(const Group& group, const std::vector<int>& more) const {
    std::set<ValueId> all;
    const auto add = [&](int n) {
      all.merge(roots_read(n));
      for (ValueId v : graph_.nodes[static_cast<size_t>(n)].outputs)
        if (memory_.is_output(memory_.of(v))) all.insert(memory_.root(v));
    };
    for (int n : group.nodes) add(n);
    for (int n : more) add(n);
    std::set<ValueId> inside;
    for (int n : group.nodes)
      for (ValueId v : graph_.nodes[static_cast<size_t>(n)].outputs)
        if (!memory_.is_output(memory_.of(v))) inside.insert(v);
    size_t count = 0;
    for (ValueId v : all) count += inside.contains(v) ? 0 : 1;
    return count;
  }

  // Whether group `target` can be reached from any of `from` along dependencies.
  bool reaches(std::vector<int> from, int target) const {
    const int first = groups_[static_cast<size_t>(target)].nodes.front();
    std::vector<char> seen(groups_.size(), 0);
    while (!from.empty()) {
      const int h = from.back();
      from.pop_back();
      if (h == target) return true;
      if (std::exchange(seen[static_cast<size_t>(h)], 1)) continue;
      const Group& group = groups_[static_cast<size_t>(h)];
      if (group.nodes.empty() || newest_[static_cast<size_t>(h)] < first) continue;  // all that it needs is older than the target
      for (int n : group.nodes)
        for (const Edge& e : edges_[static_cast<size_t>(n)]) {
          const int d = group_of_[static_cast<size_t>(e.to)];
          if (d >= 0 && d != h) from.push_back(d);
        }
    }
    return false;
  }

  void join(int n, const Shape& shape, int g) {
    Group& group = groups_[static_cast<size_t>(g)];
    group.nodes.push_back(n);
    group_of_[static_cast<size_t>(n)] = g;
    if (shape.reduces) group.mask |= shape.mask;
    group.row_parts = std::max(group.row_parts, shape.row_parts);
  }

  std::vector<int> direct(int g, int without) const {
    std::vector<int> result;
    for (int n : groups_[static_cast<size_t>(g)].nodes)
      for (const Edge& e : edges_[static_cast<size_t>(n)]) {
        const int d = group_of_[static_cast<size_t>(e.to)];
        if (d >= 0 && d != g && d != without) result.push_back(d);
      }
    return result;
  }

  // Whether a node of `g` must not be in one nest with a node of group `h`.
  bool are_apart(const Group& g, int h) const {
    for (int n : g.nodes)
      for (const Edge& e : edges_[static_cast<size_t>(n)])
        if (e.apart && group_of_[static_cast<size_t>(e.to)] == h) return true;
    return false;
  }

  bool can_merge(int a, int b) const {
    const Group &x = groups_[static_cast<size_t>(a)], &y = groups_[static_cast<size_t>(b)];
    if (x.library || y.library || !ir::choose(x.domain == y.domain, x.domain == y.domain) || x.nodes.size() + y.nodes.size() > kMostNodes)
      return false;
    if (part_of(x.nodes.front()) != part_of(y.nodes.front())) return false;
    if (x.mask != y.mask && x.mask != 0 && y.mask != 0) return false;
    if ((x.row_parts != 0 || y.row_parts != 0) && !one_pass(x, y.nodes, x.mask | y.mask, y.row_parts)) return false;
    if (are_apart(x, b) || are_apart(y, a)) return false;
    if (buffers(x, y.nodes) > kMostBuffers) return false;
    return !reaches(direct(a, b), b) && !reaches(direct(b, a), a);
  }

  void merge(int into, int from) {
    Group &x = groups_[static_cast<size_t>(into)], &y = groups_[static_cast<size_t>(from)];
    for (int n : y.nodes) group_of_[static_cast<size_t>(n)] = into;
    x.nodes.insert(x.nodes.end(), y.nodes.begin(), y.nodes.end());
    std::sort(x.nodes.begin(), x.nodes.end());
    x.mask |= y.mask;
    x.row_parts = std::max(x.row_parts, y.row_parts);
    y.nodes.clear();
  }

  // Topological, and by age where free.
  std::vector<Group> in_order() {
    std::vector<std::set<int>> needs(groups_.size()), users(groups_.size());
    for (size_t g = 0; g < groups_.size(); ++g) {
      std::sort(groups_[g].nodes.begin(), groups_[g].nodes.end());
      for (int d : direct(static_cast<int>(g), -1)) needs[g].insert(d), users[static_cast<size_t>(d)].insert(static_cast<int>(g));
    }
    std::set<std::pair<int, int>> ready;  // (oldest node, group)
    for (size_t g = 0; g < groups_.size(); ++g)
      if (!groups_[g].nodes.empty() && needs[g].empty()) ready.emplace(groups_[g].nodes.front(), static_cast<int>(g));
    std::vector<Group> ordered;
    while (!ready.empty()) {
      const auto g = static_cast<size_t>(ready.begin()->second);
      ready.erase(ready.begin());
      for (int u : users[g]) {
        needs[static_cast<size_t>(u)].erase(static_cast<int>(g));
        if (needs[static_cast<size_t>(u)].empty()) ready.emplace(groups_[static_cast<size_t>(u)].nodes.front(), u);
      }
      ordered.push_back(groups_[g]);
    }
    size_t alive = 0;
    for (const Group& g : groups_) alive += g.nodes.empty() ? 0 : 1;
    internal_check(ordered.size() == alive, "fusion made a cycle");
    return ordered;
  }

  // ---- producers that are cheaper to compute again than to keep ----

  int64_t cost(const Node& node) const {
    if (node.op->name == "cat") return static_cast<int64_t>(node.operands.size());
    if (node.op->kind != ir::OpKind::Pointwise) return 1;
    static constexpr std::string_view cheap[] = {"add",     "sub",     "rsub", "mul",         "neg",         "abs",        "to",
                                                 "eq",      "ne",      "lt",   "le",          "gt",          "ge",         "where",
                                                 "maximum", "minimum", "relu", "logical_not", "logical_and", "logical_or", "square"};
    for (std::string_view name : cheap)
      if (node.op->name == name) return 1;
    return node.op->name == "div" || node.op->name == "sqrt" ? 4 : 10;
  }

  /// The part of a group that a value is computed from.
  struct Cone {
    std::vector<int> nodes;
    std::set<ValueId> loads;
    int64_t work = 0;
    bool plain = true;  // elementwise, and of memory that nobody writes
  };
  Cone cone_of(const Group& group, ValueId v) const {
    Cone cone;
    std::vector<int> work{graph_.values[static_cast<size_t>(v)].node};
    while (!work.empty()) {
      const int n = work.back();
      work.pop_back();
      if (std::find(cone.nodes.begin(), cone.nodes.end(), n) != cone.nodes.end()) continue;
      cone.nodes.push_back(n);
      const Node& node = graph_.nodes[static_cast<size_t>(n)];
      const Role role = role_of(graph_, node);
      cone.plain &= role == Role::Elementwise || role == Role::Moved;
      cone.work += cost(node);
      for (const Value& o : node.operands) {
        if (!o.is_tensor()) continue;
        if (memory_.is_written(memory_.of(o.tensor))) cone.plain = false;
        const ValueId root = memory_.root(o.tensor);
        const int definer = graph_.values[static_cast<size_t>(root)].node;
        if (std::find(group.nodes.begin(), group.nodes.end(), definer) != group.nodes.end())
          work.push_back(definer);
        else if (graph_.spec(root).numel() > 1)
          cone.loads.insert(root);
      }
    }
    std::sort(cone.nodes.begin(), cone.nodes.end());
    return cone;
  }

  // Whether all that `user` sees of `v` is its elements in their order, in whatever shape.
  bool reads_in_order(const Group& user, ValueId v) const {
    for (int n : user.nodes)
      for (const Value& o : graph_.nodes[static_cast<size_t>(n)].operands)
        if (o.is_tensor() && memory_.root(o.tensor) == v &&
            (graph_.spec(o.tensor).numel() != graph_.spec(v).numel() || !graph_.spec(o.tensor).is_contiguous() ||
             !graph_.spec(v).is_contiguous()))
          return false;
    return true;
  }

  // At how many places of `v` each point of `user` looks.
  int64_t places(const Group& user, ValueId v) const {
    std::set<std::pair<ValueId, int>> seen;
    for (int n : user.nodes) {
      const Node& node = graph_.nodes[static_cast<size_t>(n)];
      for (const Value& o : node.operands)
        if (o.is_tensor() && memory_.root(o.tensor) == v) seen.emplace(o.tensor, role_of(graph_, node) == Role::Moved ? n : -1);
    }
    return static_cast<int64_t>(seen.size());
  }

  static int64_t points(const Group& g) {
    int64_t count = 1;
    for (int64_t s : g.domain) count *= s;
    return count;
  }

  // How many points of a folding group that differ in their field alone see one element of `v`: the loop over a few fields is written
  // out (unroll_fields), so that they compute it once.
  int64_t fields_sharing(const Group& user, ValueId v) const {
    if (!has_reduction(user) || kept(user).size() < 2 || user.mask >> (user.domain.size() - 1) & 1) return 1;
    const int64_t fields = user.domain.back();
    if (fields > kMostFields) return 1;
    for (int n : user.nodes)
      for (const Value& o : graph_.nodes[static_cast<size_t>(n)].operands) {
        if (!o.is_tensor() || memory_.root(o.tensor) != v) continue;
        const ir::TensorSpec& spec = graph_.spec(o.tensor);
        if (spec.rank() == 0 || (spec.sizes[spec.rank() - 1] != 1 && spec.strides[spec.rank() - 1] != 0)) return 1;
      }
    return fields;
  }

  bool worth_computing_again(const Cone& cone, ValueId v, const Group& user, bool moves) const {
    if (user.library || part_of(user.nodes.front()) != part_of(cone.nodes.front()) || user.nodes.size() + cone.nodes.size() > kMostNodes ||
        buffers(user, cone.nodes) > kMostBuffers)
      return false;
    const int64_t size = graph_.spec(v).numel();
    const int64_t times = points(user) * places(user, v) / fields_sharing(user, v) / std::max<int64_t>(size, 1);
    // A stream that every layer adds to would be summed up anew by each, from ever more operands.
    if (ir::choose(points(user) * cone.work <= 16384 && cone.loads.size() <= 2)) return true;
    const bool once = ir::choose(times <= 1);
    // Across a transpose each load would be strided.
    if (once && !reads_in_order(user, v) && cone.nodes.size() > 2) return false;
    return (cone.work <= 2 && cone.loads.size() <= 2) || (once && moves);
  }

  void inline_cheap(std::vector<Group>& ordered) {
    find_stored(ordered);
    for (size_t p = 0; p < ordered.size(); ++p) {
      if (ordered[p].library) continue;
      for (ValueId v : std::vector<ValueId>(ordered[p].stored)) {
        if (memory_.is_output(memory_.of(v)) || memory_.is_written(memory_.of(v))) continue;
        const Cone cone = cone_of(ordered[p], v);
        if (!cone.plain) continue;
        std::vector<size_t> users;
        bool reinterpreted = false;
        for (size_t u = p + 1; u < ordered.size(); ++u) {
          bool uses = false;
          for (int n : ordered[u].nodes)
            for (const Value& o : graph_.nodes[static_cast<size_t>(n)].operands)
              if (o.is_tensor() && memory_.root(o.tensor) == v) {
                uses = true;
                reinterpreted |= graph_.spec(o.tensor).dtype != graph_.spec(v).dtype;
              }
          if (uses) users.push_back(u);
        }
        // Alone in reading it, the user takes the computation over, unless the group needs it for something else.
        const bool moves = users.size() == 1 && work_kept(ordered[p], cone, v) <= 2;
        const bool fine = !reinterpreted && !users.empty() && std::all_of(users.begin(), users.end(), [&](size_t u) {
          return worth_computing_again(cone, v, ordered[u], moves);
        });
        if (!fine) continue;
        std::erase(ordered[p].stored, v);
        for (size_t u : users) {
          std::vector<int>& nodes = ordered[u].nodes;
          for (int n : cone.nodes)
            if (std::find(nodes.begin(), nodes.end(), n) == nodes.end()) nodes.push_back(n);
          std::sort(nodes.begin(), nodes.end());
        }
      }
    }
    find_stored(ordered);
    for (Group& g : ordered)
      if (!g.library) drop_unneeded(g);
    std::erase_if(ordered, [](const Group& g) { return g.nodes.empty(); });
  }

  // The nodes that a stored value other than `without` or a write of the group needs.
  std::set<int> needed_nodes(const Group& g, ValueId without) const {
    std::set<int> needed;
    std::vector<int> work;
    for (ValueId v : g.stored)
      if (v != without) work.push_back(graph_.values[static_cast<size_t>(v)].node);
    for (int n : g.nodes)
      if (writes_first_operand(graph_.nodes[static_cast<size_t>(n)])) work.push_back(n);
    while (!work.empty()) {
      const int n = work.back();
      work.pop_back();
      if (std::find(g.nodes.begin(), g.nodes.end(), n) == g.nodes.end() || !needed.insert(n).second) continue;
      for (const Value& o : graph_.nodes[static_cast<size_t>(n)].operands)
        if (o.is_tensor()) work.push_back(graph_.values[static_cast<size_t>(behind_views(graph_, o.tensor))].node);
    }
    return needed;
  }

  // What of a cone the group has to compute also when it no longer stores `v`.
  int64_t work_kept(const Group& g, const Cone& cone, ValueId v) const {
    const std::set<int> needed = needed_nodes(g, v);
    int64_t work = 0;
    for (int n : cone.nodes) work += needed.contains(n) ? cost(graph_.nodes[static_cast<size_t>(n)]) : 0;
    return work;
  }

  void drop_unneeded(Group& g) const {
    const std::set<int> needed = needed_nodes(g, -1);
    std::erase_if(g.nodes, [&](int n) { return !needed.contains(n); });
  }

  // A fresh value is kept in memory when someone outside of its group looks at it, or at its memory.
  void find_stored(std::vector<Group>& ordered) const {
    std::vector<char> wanted(graph_.values.size(), 0);
    for (ValueId v : graph_.outputs) wanted[static_cast<size_t>(memory_.root(v))] = 1;
    for (size_t g = 0; g < ordered.size(); ++g) {
      std::set<int> inside(ordered[g].nodes.begin(), ordered[g].nodes.end());
      for (int n : ordered[g].nodes)
        for (const Value& v : graph_.nodes[static_cast<size_t>(n)].operands) {
          if (!v.is_tensor()) continue;
          const ValueId root = memory_.root(v.tensor);
          const bool reinterpreted = graph_.spec(v.tensor).dtype != graph_.spec(root).dtype;
          if (!inside.contains(graph_.values[static_cast<size_t>(root)].node) || reinterpreted || ordered[g].library ||
              memory_.is_written(memory_.of(root)))
            wanted[static_cast<size_t>(root)] = 1;
        }
    }
    for (Group& g : ordered) {
      g.stored.clear();
      if (g.library) continue;
      for (int n : g.nodes) {
        const Node& node = graph_.nodes[static_cast<size_t>(n)];
        if (writes_first_operand(node)) continue;
        for (ValueId v : node.outputs)
          if (wanted[static_cast<size_t>(v)]) g.stored.push_back(v);
      }
    }
  }

  const Graph& graph_;
  const MemoryMap& memory_;
  const FuseOptions& options_;
  std::vector<std::vector<Edge>> edges_;
  std::vector<int> group_of_;
  std::vector<Group> groups_;
  std::vector<std::vector<int>> users_;  // of each node: the nodes that must run after it
  std::vector<int> newest_;              // of each group: the newest node of it and of all groups that must come before it
};

}  // namespace

std::vector<Group> fuse(const Graph& graph, const MemoryMap& memory, const FuseOptions& options) {
  return Fuser(graph, memory, options).run();
}

}  // namespace tailor::jit
