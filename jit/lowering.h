#pragma once
// How a group becomes a nest: values are written where they are wanted, at the coordinates at which they are wanted. Private to
// jit/lower*.cpp.

#include <map>
#include <optional>
#include <span>
#include <utility>

#include "jit/lower.h"

namespace tailor::jit {

/// Where in the nest something is computed. Wide stages loop over the inner dims; the narrow stage before wide stage k is the place
/// for what reductions up to k have given.
struct Place {
  int level = 0;
  bool wide = true;
  int order() const { return wide ? 2 * level : 2 * level - 1; }
};

class Lowering {
 public:
  Lowering(const ir::Graph& graph, const ir::MemoryMap& memory, const Group& group, const std::vector<int>& scalar_index,
           std::vector<std::vector<int64_t>> factors, bool scheduled);

  /// Which domain dim a loop belongs to, and its place among that dim's factors.
  std::pair<size_t, size_t> factor_of(size_t loop) const;

  LoweredNest run();

 private:
  struct PendingStore {
    ir::ValueId value;   // what is stored
    ir::ValueId target;  // whose memory and layout
    int level;
    bool wide, effect;
  };
  /// What is loaded must lie where low <= coordinate < high: elsewhere nobody looks at the value.
  struct Guard {
    Affine coordinate;
    int64_t low, high;
    friend bool operator==(const Guard&, const Guard&) = default;
  };
  struct AccessIndex {
    Affine index;
    std::vector<Guard> bounds;
  };
  struct Range {
    int64_t least, most;
  };

  LoopNest& nest() { return out_.nest; }
  const ir::Node& node(int n) const { return graph_.nodes[static_cast<size_t>(n)]; }
  bool is_member(ir::ValueId v) const { return member_[static_cast<size_t>(graph_.values[static_cast<size_t>(v)].node)] != 0; }

  // ---- what has to be computed, and when ----

  // The number of reductions passed on the way to a value.
  int level(ir::ValueId v);
  bool is_wide(IntArrayRef sizes) const { return squeezed(sizes) == group_.domain; }
  void collect();
  void emit_stores(Place place);
  void emit_wide(int level);
  Stage& stage(Place place);
  // The coordinates of a wide or narrow value at the current point.
  Coordinates here(IntArrayRef sizes, bool wide) const;
  Affine zero() const { return Affine::constant(0, extents_.size()); }

  // ---- memory ----

  int buffer_of(ir::ValueId v, bool written);
  Affine element_index(ir::ValueId v, const Coordinates& at) const;

  // ---- expressions ----

  int add(Expr e, Place place, AccessIndex index = {});
  int literal(const tailor::Scalar& s, ScalarType type, Place place);
  int cast(int value, ScalarType type, Place place);
  // Where the guards do not hold: `otherwise`.
  int load(ir::ValueId v, const Coordinates& at, Place place, tailor::Scalar otherwise = tailor::Scalar(0));
  /// The value `v` at coordinates `at`.
  int emit(ir::ValueId v, const Coordinates& at, Place place);
  // Whether a view leads to something that this group computes.
  bool computes(ir::ValueId v) const;
  Coordinates through_view(const ir::Node& n, const Coordinates& at);
  int parameter(ir::ValueId v, ScalarType type, Place place);
  int constant(const ir::Node& n, ScalarType type, Place place);
  // A wide value that costs much and was computed in an earlier stage is read back: from where it is stored, else from scratch.
  std::optional<int> again(ir::ValueId v, const Coordinates& at, Place place);
  std::optional<int> from_scratch(ir::ValueId v, int earlier, Place from, Place place);
  // What evaluating a value from memory takes.
  int64_t cost(ir::ValueId v);
  int compute(ir::ValueId v, const ir::Node& n, const Coordinates& at, Place place);
  /// An operand of a call whose result has `sizes`, at the result's coordinates, in `type` (Undefined: its own).
  int operand(const ir::Value& o, IntArrayRef sizes, const Coordinates& at, ScalarType type, Place place);

  // ---- movement ----

  // Over all points of the loops.
  Range range_of(const Affine& a) const;
  // The guards that do not hold everywhere.
  std::vector<Guard> live_guards() const;
  int guarded(const Guard& guard, ir::ValueId v, const Coordinates& at, Place place);
  // `yes` where coordinate < bound, else `no`.
  int below(Affine coordinate, int64_t bound, int yes, int no, Place place);
  int moved(ir::ValueId v, const ir::Node& n, const Coordinates& at, Place place);
  int padded(ir::ValueId v, const ir::Node& n, const Coordinates& at, Place place);
  int concatenated(ir::ValueId v, const ir::Node& n, const Coordinates& at, Place place);
  int triangle(ir::ValueId v, const ir::Node& n, const Coordinates& at, Place place);
  int counted(ir::ValueId v, const ir::Node& n, const Coordinates& at, Place place);
  // Tells values apart that are the same but for where they are wanted.
  std::vector<int64_t> key_of(ir::ValueId v, const Coordinates& at, int order) const;

  // ---- reductions ----

  static ScalarType folded_type(const ir::Node& n, ScalarType result);
  static ReduceOp reduce_op(const ir::Node& n, int output);
  void open_reduction(ir::ValueId v, Place place);
  int reduced(ir::ValueId v, const ir::Node& n, const Coordinates& at, Place place);
  // Over one element only.
  int of_one(ir::ValueId v, const ir::Node& n, const Coordinates& at, Place place);
  // The operand's coordinates: those of the result, and `folded` (in order) along the folded dims.
  Coordinates operand_coordinates(const ir::Node& n, const Coordinates& at, std::span<const int64_t> folded) const;
  // A reduction over few elements, written out.
  int expanded(const ir::Node& n, const Coordinates& at, Place place);

  // ---- both dims of a matrix (lower_both_ways.cpp) ----

  LoweredNest run_both_ways();
  Coordinates part_coordinates(ir::ValueId v) const;
  int fold_row(ir::ValueId v, int total, Place place);
  int total_so_far(ir::ValueId v, Place place);

  // ---- stores ----

  void emit_store(const PendingStore& s, Place place);
  // The group reads memory that it overwrites: every such read must be of the very element written, and not after the write.
  void check_hazards() const;
  IndexMap map_of(const Affine& a) const;
  void finish();
  void begin_buffers_where_they_are_read();
  void name();

  struct StoreIndex {
    int order;
    size_t store;
    Affine index;
  };
  struct EffectStore {
    int order;
    int buffer;
    Affine index;
  };

  const ir::Graph& graph_;
  const ir::MemoryMap& memory_;
  const Group& group_;
  const std::vector<int>& scalar_index_;
  std::vector<std::vector<int64_t>> factors_;  // of each domain dim, outermost first
  const bool scheduled_;
  std::vector<char> member_;
  std::vector<int64_t> extents_;
  std::vector<char> inner_;
  std::vector<size_t> domain_dim_;
  Coordinates domain_;
  std::vector<PendingStore> stores_;
  std::map<ir::ValueId, int> levels_, reductions_, reduction_ids_;
  std::map<ir::ValueId, int64_t> costs_;
  std::vector<ir::ValueId> row_folds_;
  int deepest_ = 0;
  std::map<int, Stage> stages_;
  std::map<std::tuple<ir::ValueId, ScalarType, ir::ValueId, int64_t>, int> buffers_;
  std::map<ir::ValueId, int> scratch_;
  std::map<std::vector<int64_t>, int> known_, emitted_;
  std::vector<AccessIndex> indices_;
  std::vector<Guard> guards_;  // of the values being written
  std::vector<StoreIndex> store_indices_;
  std::vector<EffectStore> effects_;
  LoweredNest out_;
};

}  // namespace tailor::jit
