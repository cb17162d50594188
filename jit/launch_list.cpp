#include "jit/launch_list.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "jit/arena.h"
#include "jit/kernel_cache.h"
#include "runtime/storage.h"
#include "runtime/trace.h"

namespace tailor::jit {

namespace {

uint64_t next_id() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

void compile_kernels(CompiledProgram& compiled, const CompileOptions& options) {
  const std::vector<LoweredNest>& lowered = compiled.program.nests;
  compiled.id = next_id();
  compiled.kernels.assign(lowered.size(), nullptr);
  if (options.backend != Backend::Llvm || lowered.empty()) return;
  std::vector<const LoopNest*> nests;
  for (const LoweredNest& n : lowered) nests.push_back(&n.nest);
  EmitOptions emit;
  emit.fast_math = options.fast_math;
  Kernels found = find_or_compile(nests, emit);
  compiled.kernels = std::move(found.functions);
  compiled.modules = std::move(found.modules);
  CompileReport& report = compiled.program.report;
  report.llvm_ms = found.times.emit_ms + found.times.llvm_ms;
  report.link_ms = found.times.link_ms;
  report.code_bytes = found.code_bytes;
  report.artifacts = found.artifacts;
}

namespace {

constexpr int64_t kAlignment = 64;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Results of launches that ran ahead.
class Computed final : public kernels::Prepacked {
 public:
  explicit Computed(int64_t bytes) : memory_(Storage::allocate(static_cast<size_t>(bytes), Device())) {}
  int64_t bytes() const override { return static_cast<int64_t>(memory_->bytes()); }
  std::byte* data() const { return static_cast<std::byte*>(memory_->data()); }

 private:
  IntrusivePtr<Storage> memory_;
};

void run_launch(const Launch& launch, std::byte* const* bases, const int64_t* scalars, const Packs& packs) {
  std::visit([&](const auto& l) { l.run(bases, scalars, packs); }, launch);
}

/// What a trace calls a launch: the ops of its loop nest, a library's op, or both.
std::string name_of(const NestLaunch& nest) { return nest.nest->name; }
std::string name_of(const LibraryLaunch& call) { return std::string(call.op->name); }
std::string name_of(const ContractionLaunch& product) {
  return product.tail.nest->name.empty() ? name_of(product.call) : product.tail.nest->name;  // begins with the product
}

/// One after another; while tracing, each is a span.
void run_launches(std::span<const Launch> launches, std::byte* const* bases, const int64_t* scalars, const Packs& packs) {
  if (!tracing()) [[likely]] {
    for (const Launch& launch : launches) run_launch(launch, bases, scalars, packs);
    return;
  }
  for (const Launch& launch : launches) {
    TraceSpan span("kernel", "kernel");
    if (span.on()) span.rename(std::visit([](const auto& l) { return name_of(l); }, launch));
    run_launch(launch, bases, scalars, packs);
  }
}

}  // namespace

LaunchList::LaunchList(std::shared_ptr<const CompiledProgram> compiled, std::vector<Launch> launches, std::vector<OutputPlan> outputs,
                       std::vector<Block> blocks, std::vector<bool> steady)
    : compiled_(std::move(compiled)),
      launches_(std::move(launches)),
      outputs_(std::move(outputs)),
      report_(compiled_->program.report),
      inputs_(static_cast<size_t>(compiled_->program.inputs)),
      steady_(std::move(steady)) {
  const Program& program = compiled_->program;
  place_ahead(blocks);
  std::vector<int64_t> offsets(blocks.size());
  report_.arena_bytes = place_blocks(blocks, offsets);
  const auto place = [&](Pointer& p) {
    if (p.place < 0) return;
    if (p.base == program.arena_base())
      p.byte_offset += offsets[static_cast<size_t>(p.place)];
    else if (p.base == program.arena_base() + 1)
      p.byte_offset += reinterpret_cast<int64_t>(program.graph.nodes[static_cast<size_t>(p.place)].constant->bytes.data());
  };
  const auto link = [&](NestLaunch& nest) {
    nest.kernel = compiled_->kernels[static_cast<size_t>(nest.index)];
    nest.nest = &program.nests[static_cast<size_t>(nest.index)].nest;
    nest.choose_grain();
  };
  for (Launch& launch : launches_)
    std::visit(
        [&](auto& l) {
          each_pointer(l, place);
          if constexpr (requires { l.tail; })
            link(l.tail), l.choose_flat_columns(), l.choose_ahead();
          else if constexpr (requires { l.nest; })
            link(l);
        },
        launch);
}

// Their results get bases of their own, and no room in the arena's plan.
void LaunchList::place_ahead(std::vector<Block>& blocks) {
  const Program& program = compiled_->program;
  units_ = ahead_units(program, launches_, steady_);
  if (units_.empty()) return;
  unit_blocks_ = blocks;
  struct Place {
    int base = -1;
    int64_t offset = 0;
  };
  std::vector<Place> places(blocks.size());
  std::vector<Launch> ordered;
  std::vector<bool> moved(launches_.size(), false);
  for (AheadUnit& unit : units_) {
    Ahead& ahead = ahead_.emplace_back();
    const int base = program.arena_base() + 1 + static_cast<int>(ahead_.size());
    for (const int b : unit.blocks) {
      Block& block = blocks[static_cast<size_t>(b)];
      places[static_cast<size_t>(b)] = {base, ahead.bytes};
      ahead.bytes += aligned(block.bytes);
      block.bytes = 0;
    }
    ahead_bytes_ += ahead.bytes;
    ahead.inputs = unit.inputs;
    ahead.first = static_cast<int>(ordered.size());
    for (int& i : unit.launches) {
      moved[static_cast<size_t>(i)] = true;
      ordered.push_back(std::move(launches_[static_cast<size_t>(i)]));
      i = static_cast<int>(ordered.size()) - 1;
    }
    ahead.end = static_cast<int>(ordered.size());
  }
  for (size_t i = 0; i < launches_.size(); ++i)
    if (!moved[i]) ordered.push_back(std::move(launches_[i]));
  launches_ = std::move(ordered);
  const auto place = [&](Pointer& p) {
    if (p.place < 0 || p.base != program.arena_base()) return;
    const Place& at = places[static_cast<size_t>(p.place)];
    if (at.base >= 0) p.base = at.base, p.byte_offset += at.offset;
  };
  for (Launch& launch : launches_) std::visit([&](auto& l) { each_pointer(l, place); }, launch);
}

// One nest over inputs and outputs alone, which small graphs come to: no list of bases is made for it.
bool LaunchList::run_lone_nest(std::span<void* const> inputs, const int64_t* scalars, std::span<void* const> outputs) const {
  const NestLaunch* const nest = launches_.size() == 1 ? std::get_if<NestLaunch>(&launches_.front()) : nullptr;
  constexpr size_t kFew = 16;
  if (nest == nullptr || nest->kernel == nullptr || nest->grain != 0 || nest->buffers.size() > kFew) return false;
  if (report_.arena_bytes != 0 || !ahead_.empty() || !more_scalars_.empty()) return false;
  std::array<void*, kFew> pointers;
  void** to = pointers.data();
  for (const Pointer& p : nest->buffers) {
    const auto base = static_cast<size_t>(p.base);
    if (p.scalar >= 0 || base >= inputs.size() + outputs.size()) return false;
    *to++ = static_cast<std::byte*>(base < inputs.size() ? inputs[base] : outputs[base - inputs.size()]) + p.byte_offset;
  }
  nest->kernel(pointers.data(), nest->sizes, scalars, 0, nest->extent);
  return true;
}

void LaunchList::run(std::span<void* const> inputs, std::span<const int64_t> scalars, std::span<void* const> outputs,
                     const Prepared* prepared) const {
  if (!tracing() && run_lone_nest(inputs, scalars.data(), outputs)) return;  // a trace has a span for each kernel
  const Packs packs = prepared != nullptr ? Packs(prepared->packs) : Packs();
  constexpr size_t kInline = 96;
  std::array<std::byte*, kInline> few;
  std::vector<std::byte*> many;
  std::byte** bases = few.data();
  const size_t count = base_count();
  if (count > kInline) {
    many.resize(count);
    bases = many.data();
  }
  std::byte** base = bases;
  for (void* p : inputs) *base++ = static_cast<std::byte*>(p);
  for (size_t i = 0; i < outputs_.size(); ++i) *base++ = i < outputs.size() ? static_cast<std::byte*>(outputs[i]) : nullptr;
  int64_t bytes = report_.arena_bytes;
  const auto result_of = [&](size_t unit) -> std::byte* {
    if (prepared == nullptr || unit >= prepared->computed.size() || !prepared->computed[unit]) return nullptr;
    return static_cast<const Computed&>(*prepared->computed[unit]).data();
  };
  for (size_t u = 0; u < ahead_.size(); ++u)
    if (result_of(u) == nullptr) bytes += ahead_[u].bytes;
  const ArenaLease arena(static_cast<size_t>(bytes));
  *base++ = arena.data();
  *base++ = nullptr;
  std::vector<int64_t> all;
  const int64_t* numbers = scalars.data();
  if (!more_scalars_.empty()) {
    all.assign(scalars.begin(), scalars.end());
    all.insert(all.end(), more_scalars_.begin(), more_scalars_.end());
    numbers = all.data();
  }
  std::byte* room = arena.data() + report_.arena_bytes;
  for (size_t u = 0; u < ahead_.size(); ++u) {
    const Ahead& ahead = ahead_[u];
    if (std::byte* const there = result_of(u)) {
      *base++ = there;
      continue;
    }
    *base++ = room;
    room += ahead.bytes;
    const auto begin = static_cast<size_t>(ahead.first);
    run_launches(std::span(launches_).subspan(begin, static_cast<size_t>(ahead.end) - begin), bases, numbers, {});
  }
  const auto first = static_cast<size_t>(ahead_.empty() ? 0 : ahead_.back().end);
  run_launches(std::span(launches_).subspan(first), bases, numbers, packs);
}

void LaunchList::find_weights() {
  if (std::find(steady_.begin(), steady_.end(), true) == steady_.end()) return;
  const Program& program = compiled_->program;
  for (size_t u = 0; u < ahead_.size(); ++u) {
    ahead_[u].key = std::to_string(compiled_->id) + " " + unit_name(units_[u], launches_, unit_blocks_, program.scalars, more_scalars_);
    weights_.insert(weights_.end(), ahead_[u].inputs.begin(), ahead_[u].inputs.end());
  }
  const std::vector<std::byte*> bases(base_count(), nullptr);
  std::vector<int64_t> scalars(static_cast<size_t>(program.scalars), 0);
  scalars.insert(scalars.end(), more_scalars_.begin(), more_scalars_.end());
  for (size_t l = static_cast<size_t>(ahead_.empty() ? 0 : ahead_.back().end); l < launches_.size(); ++l) {
    auto* contraction = std::get_if<ContractionLaunch>(&launches_[l]);
    LibraryLaunch* call = contraction != nullptr ? &contraction->call : std::get_if<LibraryLaunch>(&launches_[l]);
    const kernels::Contraction* known = call != nullptr ? kernels::find_contraction(*call->op) : nullptr;
    if (known == nullptr || known->prepacking.key == nullptr) continue;
    const LibraryLaunch::Argument& w = call->operands[known->prepacking.operand];
    if (w.kind != LibraryLaunch::Argument::Kind::Tensor || w.pointer.scalar >= 0) continue;
    const int ahead = w.pointer.base - program.arena_base() - 2;
    if (ahead < 0 && (w.pointer.base >= program.inputs || !steady_[static_cast<size_t>(w.pointer.base)])) continue;
    std::string key;
    call->run(bases.data(), scalars.data(), {}, [&](const kernels::Call& c) { key = known->prepacking.key(c); });
    if (key.empty()) continue;
    call->pack = static_cast<int>(packs_.size());
    packs_.push_back({call, w.pointer.base, ahead, key + " at " + std::to_string(w.pointer.byte_offset), known->prepacking});
    if (ahead < 0) weights_.push_back(w.pointer.base);
  }
  std::sort(weights_.begin(), weights_.end());
  weights_.erase(std::unique(weights_.begin(), weights_.end()), weights_.end());
}

// Empty: the values of one of them may change unseen.
std::string LaunchList::identity_of(std::span<const int> inputs, std::span<const ValueIdentity> identities) const {
  std::string name = " of";
  for (const int input : inputs) {
    const auto weight = std::lower_bound(weights_.begin(), weights_.end(), input);
    const ValueIdentity& id = identities[static_cast<size_t>(weight - weights_.begin())];
    if (!id.known()) return "";
    name += " " + std::to_string(id.tensor) + "." + std::to_string(id.version);
  }
  return name;
}

std::shared_ptr<const Prepared> LaunchList::prepare(std::span<void* const> inputs, std::span<const ValueIdentity> identities) const {
  std::vector<std::byte*> bases(base_count(), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i) bases[i] = static_cast<std::byte*>(inputs[i]);
  std::vector<int64_t> scalars(static_cast<size_t>(compiled_->program.scalars), 0);
  scalars.insert(scalars.end(), more_scalars_.begin(), more_scalars_.end());
  auto prepared = std::make_shared<Prepared>();
  for (size_t u = 0; u < ahead_.size(); ++u) {
    const Ahead& ahead = ahead_[u];
    auto& computed = prepared->computed.emplace_back();
    const std::string values = identity_of(ahead.inputs, identities);
    if (values.empty()) continue;
    std::byte*& base = bases[bases.size() - ahead_.size() + u];
    computed = shared_pack(ahead.key + values, [&] {
      const auto made = std::make_shared<const Computed>(ahead.bytes);
      base = made->data();
      for (int i = ahead.first; i < ahead.end; ++i) run_launch(launches_[static_cast<size_t>(i)], bases.data(), scalars.data(), {});
      return made;
    });
    base = static_cast<const Computed&>(*computed).data();
  }
  for (const Pack& p : packs_) {
    auto& pack = prepared->packs.emplace_back();
    std::string values;
    if (p.ahead < 0)
      values = identity_of({&p.input, 1}, identities);
    else if (prepared->computed[static_cast<size_t>(p.ahead)])
      values = " of " + ahead_[static_cast<size_t>(p.ahead)].key + identity_of(ahead_[static_cast<size_t>(p.ahead)].inputs, identities);
    if (values.empty()) continue;
    pack = shared_pack(p.key + values, [&] {
      std::shared_ptr<const kernels::Prepacked> made;
      p.launch->run(bases.data(), scalars.data(), {}, [&](const kernels::Call& call) { made = p.how.pack(call); });
      return made;
    });
  }
  return prepared;
}

std::string LaunchList::dump(std::string_view what) const {
  if (what == "graph") return ir::print(compiled_->program.graph);
  if (what == "loops") {
    std::string text;
    for (const LoweredNest& n : compiled_->program.nests) text += to_string(n.nest);
    return text;
  }
  check(what == "llvm" || what == "asm", "dump: expected graph, loops, llvm or asm, got ", what);
  std::string text;
  for (const auto& module : compiled_->modules) text += module->dump(what == "llvm" ? "ir" : "asm");
  return text;
}

}  // namespace tailor::jit
