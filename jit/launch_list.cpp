#include "jit/launch_list.h"

#include <algorithm>
#include <array>

#include "jit/arena.h"
#include "jit/kernel_cache.h"

namespace tailor::jit {

void compile_kernels(CompiledProgram& compiled, const CompileOptions& options) {
  const std::vector<LoweredNest>& lowered = compiled.program.nests;
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

LaunchList::LaunchList(std::shared_ptr<const CompiledProgram> compiled, std::vector<Launch> launches, std::vector<OutputPlan> outputs,
                       std::span<const Block> blocks)
    : compiled_(std::move(compiled)), launches_(std::move(launches)), outputs_(std::move(outputs)), report_(compiled_->program.report) {
  const Program& program = compiled_->program;
  std::vector<int64_t> offsets(blocks.size());
  report_.arena_bytes = place_blocks(blocks, offsets);
  const auto place = [&](Pointer& p) {
    if (p.place < 0) return;
    if (p.base == program.arena_base())
      p.byte_offset += offsets[static_cast<size_t>(p.place)];
    else
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
            link(l.tail), l.choose_flat_columns();
          else if constexpr (requires { l.nest; })
            link(l);
        },
        launch);
}

void LaunchList::run(std::span<void* const> inputs, std::span<const int64_t> scalars, std::span<void* const> outputs,
                     const Prepared* prepared) const {
  const Packs packs = prepared != nullptr ? Packs(prepared->packs) : Packs();
  constexpr size_t kInline = 48;
  std::array<std::byte*, kInline> few;
  std::vector<std::byte*> many;
  std::byte** bases = few.data();
  const size_t count = inputs.size() + outputs_.size() + 2;
  if (count > kInline) {
    many.resize(count);
    bases = many.data();
  }
  std::byte** base = bases;
  for (void* p : inputs) *base++ = static_cast<std::byte*>(p);
  for (size_t i = 0; i < outputs_.size(); ++i) *base++ = i < outputs.size() ? static_cast<std::byte*>(outputs[i]) : nullptr;
  const ArenaLease arena(static_cast<size_t>(report_.arena_bytes));
  *base++ = arena.data();
  *base = nullptr;
  if (more_scalars_.empty()) return run_all(bases, scalars.data(), packs);
  std::vector<int64_t> all(scalars.begin(), scalars.end());
  all.insert(all.end(), more_scalars_.begin(), more_scalars_.end());
  run_all(bases, all.data(), packs);
}

void LaunchList::run_all(std::byte* const* bases, const int64_t* scalars, const Packs& packs) const {
  for (const Launch& launch : launches_) std::visit([&](const auto& l) { l.run(bases, scalars, packs); }, launch);
}

std::vector<bool> steady_inputs(const ir::Graph& graph, std::span<const int> lasting) {
  const ir::MemoryMap memory(graph);
  std::vector<bool> steady;
  for (const ir::Node& node : graph.nodes) {
    if (node.kind != ir::NodeKind::Placeholder) continue;
    const bool listed = std::find(lasting.begin(), lasting.end(), static_cast<int>(steady.size())) != lasting.end();
    steady.push_back(listed && !memory.is_written(memory.of(node.outputs[0])));
  }
  return steady;
}

void LaunchList::find_packs(const std::vector<bool>& steady) {
  if (std::find(steady.begin(), steady.end(), true) == steady.end()) return;
  const Program& program = compiled_->program;
  const std::vector<std::byte*> bases(steady.size() + outputs_.size() + 2, nullptr);
  const std::vector<int64_t> scalars(static_cast<size_t>(program.scalars) + more_scalars_.size(), 0);
  for (Launch& launch : launches_) {
    auto* contraction = std::get_if<ContractionLaunch>(&launch);
    LibraryLaunch* call = contraction != nullptr ? &contraction->call : std::get_if<LibraryLaunch>(&launch);
    const kernels::Contraction* known = call != nullptr ? kernels::find_contraction(*call->op) : nullptr;
    if (known == nullptr || known->prepacking.key == nullptr) continue;
    const LibraryLaunch::Argument& w = call->operands[known->prepacking.operand];
    const auto base = static_cast<size_t>(w.pointer.base);
    if (w.kind != LibraryLaunch::Argument::Kind::Tensor || base >= steady.size() || !steady[base] || w.pointer.scalar >= 0) continue;
    std::string key;
    call->run(bases.data(), scalars.data(), {}, [&](const kernels::Call& c) { key = known->prepacking.key(c); });
    if (key.empty()) continue;
    call->pack = static_cast<int>(packs_.size());
    packs_.push_back({call, w.pointer.base, key + " at " + std::to_string(w.pointer.byte_offset), known->prepacking});
    weights_.push_back(w.pointer.base);
  }
  std::sort(weights_.begin(), weights_.end());
  weights_.erase(std::unique(weights_.begin(), weights_.end()), weights_.end());
}

std::shared_ptr<const Prepared> LaunchList::prepare(std::span<void* const> inputs, std::span<const ValueIdentity> identities) const {
  std::vector<std::byte*> bases(inputs.size() + outputs_.size() + 2, nullptr);
  for (size_t i = 0; i < inputs.size(); ++i) bases[i] = static_cast<std::byte*>(inputs[i]);
  const std::vector<int64_t> scalars(static_cast<size_t>(compiled_->program.scalars) + more_scalars_.size(), 0);
  auto prepared = std::make_shared<Prepared>();
  for (const Pack& p : packs_) {
    auto& pack = prepared->packs.emplace_back();
    const auto weight = std::lower_bound(weights_.begin(), weights_.end(), p.input);
    const ValueIdentity& id = identities[static_cast<size_t>(weight - weights_.begin())];
    if (!id.known()) continue;
    pack = shared_pack(p.key + " of " + std::to_string(id.tensor) + "." + std::to_string(id.version), [&] {
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
