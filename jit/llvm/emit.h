#pragma once
// One loop nest as one LLVM function. Private to jit/llvm.
//
// While emitting, the loops around the current position form a list of levels: level 0 is the function's entry, then one level a
// loop. An expression is emitted once, at the end of the outermost level at which its operands and indices are known: this hoists
// invariants without any pass. Values that do not vary along the vector dim stay scalar and are splatted where they were made.

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Module.h>

#include <map>
#include <vector>

#include "jit/llvm/convert.h"
#include "jit/loop_nest.h"

namespace tailor::jit {

/// How many lanes one iteration has. More than a register's worth makes several registers of each value: independent chains for
/// folds, whole cache lines for columns.
struct Schedule {
  unsigned native = 1;              // lanes of one register
  unsigned outer = 1;               // when the vector dim is an outer one
  std::vector<unsigned> per_stage;  // when it is an inner one
  /// Folds along columns (the vector dim is outer): blocks of this many columns whose accumulators live in memory, so that rows are
  /// read as they lie. 0: one column vector at a time, in registers.
  int64_t column_block = 0;
  std::vector<unsigned> rows_at_once;  // a stage
  /// Loads that are contiguous along this outer dim instead of the vector dim: square tiles are transposed in registers. -1: none.
  int tile_dim = -1;
  std::vector<int> tiled;  // those loads
  /// Loads of a computing stage that an earlier stage has brought into the cache: beside them, those of the next outer point are
  /// prefetched, so that memory works while the stage computes.
  std::vector<int> prefetched;
};
Schedule choose_schedule(const LoopNest& nest, const Target& target);

class NestEmitter {
 public:
  NestEmitter(llvm::Module& module, const LoopNest& nest, const Target& target, const std::string& symbol, bool fast_math);
  void emit();

 private:
  struct Level {
    int dim = -1;
    llvm::Value* index = nullptr;  // of the first lane, i64
    llvm::BasicBlock* block = nullptr;
    bool unrolled = false;
  };
  struct Slot {
    Datum datum, splat;
    int level = -1;  // -1: not emitted
  };
  struct Accumulator {
    llvm::AllocaInst *value = nullptr, *index = nullptr;                // registers once promoted
    llvm::AllocaInst *column_value = nullptr, *column_index = nullptr;  // memory of a block of columns
    unsigned lanes = 1;
  };
  using Body = llvm::function_ref<void()>;
  class At;

  // emit.cpp: the function, its loops and its parameters
  void declare_buffers();
  void outer_loops(size_t position);
  void stages();
  void loop(int dim, llvm::Value* begin, llvm::Value* end, Body body);
  void counted_loop(int dim, llvm::Value* begin, llvm::Value* end, int64_t step, Body body);
  void unrolled_loop(int dim, int64_t extent, Body body);
  void push_level(int dim, llvm::Value* index, bool unrolled);
  void pop_level();
  void branch(llvm::Value* condition, Body then, Body otherwise);
  int total_cost() const;
  bool has_short_rows() const;
  void rows_by_length();
  void set_vector_mask(llvm::Value* index, llvm::Value* end);
  llvm::Value* size(const Size& size);
  llvm::AllocaInst* stack_slot(llvm::Type* type, unsigned count = 1);
  llvm::Value* scalar_parameter(int index);
  int level_of(int dim) const { return dim_level_[static_cast<size_t>(dim)]; }
  int top() const { return static_cast<int>(levels_.size()) - 1; }
  bool vector_active() const { return nest_.vector_dim >= 0 && level_of(nest_.vector_dim) >= 0; }

  // emit_stage.cpp: one stage
  void stage(const Stage& stage);
  void stage_loops(const Stage& stage, size_t position);
  void stage_body(const Stage& stage);
  void open_reduction(const Stage& stage, int id);
  void fold(const Stage& stage, int id);
  void close_reduction(const Stage& stage, int id);
  llvm::Value* combine(ReduceOp op, ScalarType type, llvm::Value* a, llvm::Value* b, unsigned lanes);
  llvm::Value* better(ReduceOp op, ScalarType type, llvm::Value* value, llvm::Value* best, unsigned lanes);
  llvm::Constant* identity(ReduceOp op, ScalarType type, unsigned lanes);
  bool stage_has_vector(const Stage& stage) const;

  void finish_reduction(int id, llvm::Value* value, llvm::Value* index, unsigned lanes, int level);

  // emit_columns.cpp: folds along columns
  void column_blocks(llvm::Value* begin, llvm::Value* end);
  void column_stage(const Stage& stage, unsigned rows);
  void row_loops(const Stage& stage, size_t position, unsigned rows);
  void row_loop(const Stage& stage, llvm::Value* begin, llvm::Value* end, unsigned rows);
  void load_column_result(int id);
  llvm::Value* column_place(llvm::AllocaInst* memory);

  // emit_tiles.cpp: operands that lie across
  void tile_loop(llvm::Value* begin, llvm::Value* end, Body body);
  void tile_rows();
  void fill_tile(int id);
  llvm::Value* load_from_tile(int id);

  // emit_expr.cpp: expressions and memory
  void ensure(int id);
  Datum& value_of(int id, unsigned lanes);
  Datum operand(int id, unsigned lanes, ScalarType as);
  Datum emit_expr(const Expr& e, unsigned lanes);
  Datum emit_op(const Expr& e, unsigned lanes);
  bool is_same(int a, int b) const;
  bool is_below_maximum(int id) const;
  Datum emit_param(const Expr& e);
  Datum emit_index(const Expr& e, unsigned lanes);
  int map_level(const IndexMap& map) const;
  int access_level(const Access& access) const;
  bool varies(const IndexMap& map) const;
  bool varies(const Access& access) const;
  llvm::Value* affine(const IndexMap& map);

  // emit_memory.cpp
  Datum emit_load(const Expr& e, unsigned lanes);
  void emit_store(const Store& store);
  void store_vector(llvm::Value* raw, llvm::Value* pointer, llvm::Align align, llvm::Value* mask, bool bounded);
  llvm::Value* address(const Access& access);
  llvm::Value* bounds_mask(const Access& access, unsigned lanes, llvm::Value** possible = nullptr, llvm::Value** whole = nullptr);
  llvm::Value* load_bounded(const Access& access, llvm::Type* type, llvm::Value* pointer, llvm::Align align, llvm::Value* otherwise,
                            llvm::Value* whole, llvm::Value* possible);
  llvm::Value* lane_offsets(const Size& stride, bool clamp);
  llvm::Value* lane_pointers(const Access& access, llvm::Type* element, llvm::Value* pointer, bool clamp);
  llvm::Value* load_interleaved(const Access& access, llvm::Type* element);
  bool is_interleaved(const Access& access) const;
  void prefetch_next(const Access& access, llvm::Value* pointer);
  Size vector_stride(const IndexMap& map) const;

  llvm::Module& module_;
  const LoopNest& nest_;
  const Target& target_;
  llvm::LLVMContext& context_;
  Builder b_;
  Converter convert_;
  llvm::Function* function_ = nullptr;

  Schedule schedule_;
  unsigned lanes_ = 1;                                          // of the current stage
  llvm::IntegerType* lane_type_ = nullptr;                      // of lane numbers
  llvm::Value* mask_ = nullptr;                                 // lanes that exist; null for all
  llvm::Value* remaining_ = nullptr;                            // how many they are, in lane_type_, when mask_ is set
  llvm::Value *row_mask_ = nullptr, *row_remaining_ = nullptr;  // while rows are single masked registers: of a row
  int stage_level_ = 0;                                         // the level that stages stand at

  std::vector<Level> levels_;
  std::vector<int> dim_level_;
  std::vector<Slot> slots_;
  std::vector<Accumulator> accumulators_;
  std::vector<Slot> reduced_;
  llvm::Value *block_begin_ = nullptr, *block_end_ = nullptr;                       // columns
  llvm::Value *tile_begin_ = nullptr, *tile_end_ = nullptr, *tile_mask_ = nullptr;  // along tile_dim
  std::map<int, llvm::AllocaInst*> tiles_;
  std::vector<llvm::Value*> buffers_;
  std::vector<bool> written_;  // buffers that the nest stores to
  std::vector<llvm::Value*> sizes_, scalars_;
  std::map<std::vector<int64_t>, std::pair<llvm::Value*, int>> partial_;  // partial addresses and indices, with their level
};

}  // namespace tailor::jit
