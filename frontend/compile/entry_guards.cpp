// The guards of an entry, and sizes that turn out to vary.

#include <algorithm>
#include <sstream>

#include "frontend/compile/entry.h"
#include "frontend/compile/facts.h"
#include "frontend/size_marks.h"
#include "runtime/log.h"

namespace tailor::detail {
namespace {

bool is_dynamic(const EntryGuards::ArgumentFact& fact, int dim) {
  return std::any_of(fact.dynamic.begin(), fact.dynamic.end(), [&](const guards::DimRange& r) { return r.dim == dim; });
}

}  // namespace

std::optional<guards::DimRange> symbolic_range(const TensorHead* tensor, int dim, int64_t size, bool unmarked_too) {
  const DimMark* mark = tensor ? mark_of(static_cast<const TensorImpl&>(*tensor), dim) : nullptr;
  if (mark ? mark->kind == DimMark::Kind::Static : !unmarked_too) return std::nullopt;
  const guards::DimRange range{dim, mark ? std::max<int64_t>(mark->min, 2) : 2, mark ? mark->max : INT64_MAX};
  return size >= range.min && size <= range.max ? std::optional(range) : std::nullopt;
}

// Code that is followed reads lengths, presence and keys itself, and takes the path that they lead to. Words only matter here where they
// decide which number an argument has.
void EntryGuards::build(const ArgumentNames& names, const CompileOptions& options, bool all_words) {
  size_t words = all_words ? structure.size() : 0;
  for (const ArgumentFact& fact : arguments) words = std::max(words, names.words_before.at(static_cast<size_t>(fact.argument)));
  structure.resize(words);
  require_structure(set, structure, names);
  for (const ArgumentFact& fact : arguments) set.require_spec(fact.argument, &fact.spec, fact.path, fact.source, fact.dynamic);
  const GuardChanges sealed = seal_as_asked(set, options, false);
  changes.dropped += sealed.dropped;
  changes.relaxed += sealed.relaxed;
  changes.told.insert(changes.told.end(), sealed.told.begin(), sealed.told.end());
}

void Entry::tell(const GuardChanges& changes) {
  record_.guards_dropped.fetch_add(changes.dropped, std::memory_order_relaxed);
  record_.guards_relaxed.fetch_add(changes.relaxed, std::memory_order_relaxed);
  if (!log_enabled(LogChannel::Guards)) return;
  for (const std::string& line : changes.told) log(LogChannel::Guards, tag(), line);
}

void EntryGuards::sizes_of(const guards::CallDescriptor& call, std::vector<int64_t>& out) const {
  out.clear();
  for (const Dim& d : dynamic)
    out.push_back(d.argument < 0 ? 0 : call.tensors[static_cast<size_t>(d.argument)].spec->sizes[static_cast<size_t>(d.dim)]);
}

void Entry::set_guards(std::unique_ptr<const EntryGuards> guards) {
  std::lock_guard lock(mutex_);
  tell(guards->changes);
  guards_.store(guards.get(), std::memory_order_release);
  all_guards_.push_back(std::move(guards));
}

void Entry::make_guards(const Invocation& invocation, std::span<TensorHead* const> arguments, std::span<const int64_t> structure) {
  auto made = std::make_unique<EntryGuards>();
  made->structure.assign(structure.begin(), structure.end());
  std::vector<int64_t> sizes;
  for (const follow::Instance* instance : invocation.path()) {
    const follow::Step& step = *instance->step;
    for (size_t i = 0; i < instance->externals.size(); ++i) {
      const int argument = step.external_arguments[i];
      if (argument < 0) continue;
      const ir::TensorSpec& spec = instance->externals[i];
      EntryGuards::ArgumentFact fact{argument,
                                     spec,
                                     argument_path(argument),
                                     ir::SourceLocation{step.where.file_name(), static_cast<int>(step.where.line())}.str(),
                                     {}};
      for (int d = 0; d < static_cast<int>(spec.rank()); ++d) {
        const int64_t size = spec.sizes[static_cast<size_t>(d)];
        auto range = symbolic_range(arguments[static_cast<size_t>(argument)], d, size, all_dynamic());
        if (!range && dynamic()) range = relaxed_size(options_, d, size, fact.path, fact.source, &made->changes);
        if (range) {
          fact.dynamic.push_back(*range);
          made->dynamic.push_back({argument, d});
          sizes.push_back(size);
        }
      }
      made->arguments.push_back(std::move(fact));
    }
  }
  made->build(names, options_, options_.pure);
  tree.sizes_vary(sizes);
  set_guards(std::move(made));
}

const EntryGuards& Entry::closest_guards(const guards::CallDescriptor& call) const {
  const EntryGuards* const first = guards();
  for (const EntryGuards* g = first; g != nullptr; g = g->other) {
    if (call.structure.size() >= g->structure.size() && std::equal(g->structure.begin(), g->structure.end(), call.structure.begin()))
      return *g;
  }
  return *first;
}

/// The layout of the call that made the entry: the others may lack some.
const EntryGuards& Entry::all_facts() const {
  const EntryGuards* g = guards();
  while (g->other) g = g->other;
  return *g;
}

/// The facts of this entry about a call whose arguments are put together in another way: each argument is the one of the same path. One
/// that is not there any more is no fact. Null where none is left.
std::unique_ptr<EntryGuards> Entry::in_layout_of(const guards::CallDescriptor& call, const ArgumentNames& names) const {
  const EntryGuards& now = all_facts();
  auto mapped = std::make_unique<EntryGuards>();
  mapped->structure.assign(call.structure.begin(), call.structure.end());
  mapped->dynamic = now.dynamic;
  for (EntryGuards::Dim& d : mapped->dynamic) d.argument = -1;
  for (const EntryGuards::ArgumentFact& fact : now.arguments) {
    const auto same = std::find(names.tensors.begin(), names.tensors.end(), fact.path);
    if (same == names.tensors.end()) continue;
    mapped->arguments.push_back(fact);
    mapped->arguments.back().argument = static_cast<int>(same - names.tensors.begin());
    for (size_t i = 0; i < now.dynamic.size(); ++i)
      if (now.dynamic[i].argument == fact.argument) mapped->dynamic[i].argument = mapped->arguments.back().argument;
  }
  return mapped->arguments.empty() ? nullptr : std::move(mapped);
}

bool Entry::adopt(const guards::CallDescriptor& call, const ArgumentNames& names) {
  constexpr int kMostLayouts = 64;
  const EntryGuards& now = *guards();
  if (options_.pure || now.layouts >= kMostLayouts) return false;
  auto mapped = in_layout_of(call, names);
  if (!mapped) return false;
  mapped->build(names, options_, mapped->arguments.size() < all_facts().arguments.size());
  if (!mapped->set.check(call)) return false;
  mapped->changes = {};  // told when the entry was made
  mapped->other = &now;
  mapped->layouts = now.layouts + 1;
  set_guards(std::move(mapped));
  return true;
}

bool Entry::widen(const guards::CallDescriptor& call, std::span<TensorHead* const> arguments, const ArgumentNames& names) {
  if (!dynamic()) return false;
  const EntryGuards& now = all_facts();
  if (options_.pure && !std::ranges::equal(call.structure, now.structure)) return false;
  auto wider = in_layout_of(call, names);
  if (!wider || wider->arguments.size() < now.arguments.size()) return false;
  std::vector<int64_t> sizes;  // that the new symbols had so far
  std::ostringstream what;
  for (EntryGuards::ArgumentFact& fact : wider->arguments) {
    const auto index = static_cast<size_t>(fact.argument);
    if (index >= call.tensors.size() || !call.tensors[index].spec) return false;
    const ir::TensorSpec& got = *call.tensors[index].spec;
    if (got.rank() != fact.spec.rank()) return false;
    for (int d = 0; d < static_cast<int>(got.rank()); ++d) {
      const int64_t size = got.sizes[static_cast<size_t>(d)], seen = fact.spec.sizes[static_cast<size_t>(d)];
      if (size == seen || is_dynamic(fact, d)) continue;
      const auto range = symbolic_range(arguments[index], d, size, true);
      if (!range || seen < range->min || seen > range->max) return false;
      fact.dynamic.push_back(*range);
      wider->dynamic.push_back({fact.argument, d});
      sizes.push_back(seen);
      what << (sizes.size() > 1 ? ", " : "") << fact.path << ".size(" << d << ") (" << seen << ", now " << size << ")";
    }
  }
  if (sizes.empty()) return false;
  wider->build(names, options_, options_.pure);
  if (!wider->set.check(call)) return false;
  if (log_enabled(LogChannel::Recompiles)) log(LogChannel::Recompiles, tag(), "becomes symbolic: " + what.str());
  tree.sizes_vary(sizes);
  set_guards(std::move(wider));
  return true;
}

}  // namespace tailor::detail
