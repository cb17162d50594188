#include "guards/program.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "guards/definition.h"
#include "guards/program_inl.h"

namespace tailor::guards {
namespace {

using Kind = GuardKind;
using Opcode = Instruction::Opcode;

bool about_structure(Kind kind) { return kind <= Kind::Keys; }
bool about_spec(Kind kind) { return kind >= Kind::Defined && kind <= Kind::RequiresGrad; }

class Compiler {
 public:
  explicit Compiler(std::span<const Guard> guards) : guards_(guards), done_(guards.size(), false) {}

  Program run() {
    state();
    structure();
    for (size_t i = 0; i < guards_.size(); ++i) {
      if (done_[i]) continue;
      const Guard& g = guards_[i];
      if (about_spec(g.kind) && spec(g.index)) continue;
      one(i);
    }
    for (const Instruction& i : program_.code) {
      const auto needed = static_cast<size_t>(i.index) + 1;
      switch (i.op) {
        case Opcode::State:
        case Opcode::Ambient:
        case Opcode::Any: break;
        case Opcode::Distinct: program_.tensors = std::max<size_t>(program_.tensors, i.count); break;
        case Opcode::Structure: program_.structure = std::max<size_t>(program_.structure, i.count); break;
        case Opcode::Number: program_.scalars = std::max(program_.scalars, needed); break;
        case Opcode::Cell: program_.cells = std::max(program_.cells, needed); break;
        case Opcode::Undefined:
        case Opcode::Spec:
        case Opcode::Spec1:
        case Opcode::Spec2:
        case Opcode::Spec3:
        case Opcode::Spec4:
        case Opcode::DynamicSpec: program_.tensors = std::max(program_.tensors, needed); break;
      }
    }
    program_.operands = std::make_shared<const std::vector<int64_t>>(std::move(operands_));
    for (size_t i = 0; i < program_.code.size(); ++i) program_.code[i].operands = program_.operands->data() + first_[i];
    return std::move(program_);
  }

 private:
  /// Adds an instruction for these guards.
  Instruction& add(Opcode op, std::vector<size_t> parts, double cost) {
    Instruction& i = program_.code.emplace_back();
    i.op = op;
    i.unit = static_cast<uint32_t>(program_.parts.size());
    first_.push_back(operands_.size());
    for (size_t p : parts) done_[p] = true;
    program_.parts.push_back(std::move(parts));
    program_.costs.push_back(cost);
    return i;
  }
  void operands(std::span<const int64_t> words) { operands_.insert(operands_.end(), words.begin(), words.end()); }

  std::vector<size_t> where(const auto& predicate) const {
    std::vector<size_t> all;
    for (size_t i = 0; i < guards_.size(); ++i) {
      if (!done_[i] && predicate(guards_[i])) all.push_back(i);
    }
    return all;
  }

  // Both words at once. A set without one of them checks the other by its definition.
  void state() {
    const auto ambient = where([](const Guard& g) { return g.kind == Kind::Ambient; });
    const auto epoch = where([](const Guard& g) { return g.kind == Kind::ModuleEpoch; });
    if (ambient.size() != 1 || epoch.size() != 1) return;
    const int64_t word = guards_[ambient[0]].expected;
    add(Opcode::State, {ambient[0], epoch[0]}, 0.6).expected = word;
  }

  // One comparison, where the guards cover the words without a gap.
  void structure() {
    const auto parts = where([](const Guard& g) { return about_structure(g.kind); });
    std::vector<int64_t> words;
    for (size_t p : parts) {
      const Guard& g = guards_[p];
      if (static_cast<size_t>(g.index) != words.size()) return;
      if (g.kind == Kind::Keys)
        words.insert(words.end(), g.words.begin(), g.words.end());
      else
        words.push_back(g.expected);
    }
    if (parts.empty()) return;
    add(Opcode::Structure, parts, 0.5 + 0.1 * static_cast<double>(words.size())).count = static_cast<uint32_t>(words.size());
    operands(words);
  }

  // All that a description holds, where all of it is guarded.
  bool spec(int index) {
    const auto parts = where([&](const Guard& g) { return about_spec(g.kind) && g.index == index; });
    std::map<std::pair<Kind, int>, const Guard*> facts;
    for (size_t p : parts) {
      if (!facts.emplace(std::pair(guards_[p].kind, guards_[p].dim), &guards_[p]).second) return false;
    }
    const auto find = [&](Kind kind, int dim = -1) -> const Guard* {
      const auto it = facts.find({kind, dim});
      return it == facts.end() ? nullptr : it->second;
    };
    if (const Guard* defined = find(Kind::Defined); defined && !defined->expected) {
      if (facts.size() > 1) return false;
      add(Opcode::Undefined, parts, 0.4).index = index;
      return true;
    }
    const Guard *dtype = find(Kind::Dtype), *device = find(Kind::Device), *grad = find(Kind::RequiresGrad), *layout = find(Kind::Layout);
    if (!dtype || !device || !grad) return false;
    int64_t rank = 0;
    if (const Guard* r = find(Kind::Rank))
      rank = r->expected;
    else if (layout)
      rank = static_cast<int64_t>(layout->words.size());
    else
      return false;
    ir::TensorSpec expected;
    expected.dtype = static_cast<ScalarType>(dtype->expected);
    expected.device = Device(static_cast<DeviceType>(device->expected >> 8), static_cast<int8_t>(device->expected & 0xff));
    expected.requires_grad = grad->expected != 0;
    std::vector<int64_t> least, most, strides;
    bool fixed = true;
    for (int d = 0; d < rank; ++d) {
      const Guard *size = find(Kind::Size, d), *range = find(Kind::SizeRange, d), *stride = find(Kind::Stride, d);
      if (!size && !range) return false;
      least.push_back(size ? size->expected : range->expected);
      most.push_back(size ? size->expected : range->most);
      fixed &= size != nullptr;
      if (stride) strides.push_back(stride->expected);
    }
    if (layout ? !strides.empty() || layout->words.size() != static_cast<size_t>(rank) : strides.size() != static_cast<size_t>(rank))
      return false;

    Instruction& i = add(Opcode::DynamicSpec, parts, 1.0 + 0.3 * static_cast<double>(rank));
    i.index = index;
    i.header = spec_header(expected);
    i.count = static_cast<uint32_t>(rank);
    i.dense = layout != nullptr;
    operands(least);
    if (!fixed) {
      operands(most);
      operands(layout ? layout->words : strides);
      return true;
    }
    if (layout) {
      ir::DimOrder order;
      order.rank = static_cast<uint8_t>(rank);
      std::transform(layout->words.begin(), layout->words.end(), order.dims.begin(), [](int64_t d) { return static_cast<uint8_t>(d); });
      const Dims dense = ir::dense_strides(least, order);
      operands(IntArrayRef(dense));
    } else {
      operands(strides);
    }
    static constexpr Opcode by_rank[] = {Opcode::Spec, Opcode::Spec1, Opcode::Spec2, Opcode::Spec3, Opcode::Spec4};
    i.op = rank <= 4 ? by_rank[rank] : Opcode::Spec;
    return true;
  }

  /// A pattern of few tensors that are all different.
  static bool all_differ(const std::vector<int64_t>& pattern) {
    constexpr size_t kFew = 8;
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] != static_cast<int64_t>(i)) return false;
    }
    return pattern.size() <= kFew;
  }

  void one(size_t at) {
    const Guard& g = guards_[at];
    const double cost = typical_cost(g.kind);
    switch (g.kind) {
      case Kind::ScalarValue:
      case Kind::EnumValue: {
        Instruction& i = add(Opcode::Number, {at}, cost);
        i.index = g.index;
        i.kind = static_cast<uint8_t>(g.dim);
        i.expected = g.expected;
        return;
      }
      case Kind::Ambient: add(Opcode::Ambient, {at}, cost).expected = g.expected; return;
      case Kind::Identity:
        if (all_differ(g.words)) {
          add(Opcode::Distinct, {at}, cost).count = static_cast<uint32_t>(g.words.size());
          return;
        }
        break;
      case Kind::Watched:
      case Kind::Liveness: {
        Instruction& i = add(Opcode::Cell, {at}, cost);
        i.index = g.index;
        i.expected = g.expected;
        return;
      }
      default: break;
    }
    add(Opcode::Any, {at}, 1.0 + cost).guard = &g;
  }

  std::span<const Guard> guards_;
  std::vector<bool> done_;
  Program program_;
  std::vector<int64_t> operands_;
  std::vector<size_t> first_;  // by instruction
};

}  // namespace

bool Program::any(const Instruction& i, const CallDescriptor& call, Cells cells) {
  CallDescriptor full = call;
  full.cells = cells;
  return i.guard->holds(full);
}

Program compile_program(std::span<const Guard> guards) { return Compiler(guards).run(); }

}  // namespace tailor::guards
