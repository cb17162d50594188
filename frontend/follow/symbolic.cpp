#include "frontend/follow/symbolic.h"

#include <algorithm>
#include <map>

#include "frontend/follow/trace.h"
#include "ir/choices.h"
#include "runtime/error.h"

namespace tailor::follow {
namespace {

enum class NumberKind : uint8_t { Size, Stride, Attribute };
struct Place {
  NumberKind kind;
  size_t input = 0;  // Size, Stride: which input
  int dim = 0;
  size_t step = 0;  // Attribute: of which step of the segment
  size_t attr = 0;  // and which of its attributes; a view's whose offset is lifted: none
};

bool has_plain_layout(const ir::TensorSpec& spec) { return spec.strides == contiguous_strides(spec.sizes); }

constexpr size_t kNoAttr = SIZE_MAX;

/// Calls visit(place, number) for every number, in a fixed order; what it assigns is written back.
template <class Visit>
void each_number(SegmentFacts& facts, const std::vector<bool>& plain, Visit&& visit) {
  for (size_t i = 0; i < facts.inputs.size(); ++i) {
    ir::TensorSpec& spec = facts.input_specs[i];
    for (size_t d = 0; d < spec.sizes.size(); ++d) visit(Place{NumberKind::Size, i, static_cast<int>(d)}, spec.sizes[d]);
    if (plain[i]) {
      spec.strides = contiguous_strides(spec.sizes);
    } else {
      for (size_t d = 0; d < spec.strides.size(); ++d) visit(Place{NumberKind::Stride, i, static_cast<int>(d)}, spec.strides[d]);
    }
  }
  for (size_t s = 0; s < facts.attrs.size(); ++s) {
    Place attribute{NumberKind::Attribute, 0, 0, s, kNoAttr};
    if (std::optional<ir::ViewResult>& view = facts.lifted_views[s]) {
      for (int64_t& size : view->sizes) visit(attribute, size);
      for (int64_t& stride : view->strides) visit(attribute, stride);
      continue;
    }
    for (size_t a = 0; a < facts.attrs[s].size(); ++a) {
      ir::Attr& attr = facts.attrs[s][a];
      attribute.attr = a;
      const ir::AttrRef ref = attr.ref();
      if (ref.kind == ir::AttrRef::Kind::Int) {
        int64_t value = ref.as_int();
        visit(attribute, value);
        attr = ir::Attr(ir::AttrRef(value));
      } else if (ref.kind == ir::AttrRef::Kind::Ints) {
        std::vector<int64_t> values = ref.as_ints().vec();
        for (int64_t& value : values) visit(attribute, value);
        attr = ir::Attr(ir::AttrRef(values));
      }
    }
  }
}

std::vector<bool> plain_layouts(const SegmentFacts& facts) {
  std::vector<bool> plain;
  for (const ir::TensorSpec& spec : facts.input_specs) plain.push_back(has_plain_layout(spec));
  return plain;
}

SegmentFacts at(SegmentFacts facts, const std::vector<bool>& plain, std::span<const SizeExpr> numbers, std::span<const int64_t> symbols) {
  size_t n = 0;
  each_number(facts, plain, [&](const Place&, int64_t& value) { value = numbers[n++](symbols); });
  return facts;
}

/// Finds symbols and an expression for every number.
class Explanation {
 public:
  Explanation(std::span<Instance* const> segment, std::span<const SegmentFacts> calls, std::span<const SizeMark> marks)
      : segment_(segment), current_(calls.back()), marks_(marks) {
    plain_ = plain_layouts(current_);
    for (const SegmentFacts& call : calls) {
      const bool same_layout = plain_layouts(call) == plain_;
      std::vector<int64_t> numbers = numbers_of(call);
      if (same_layout && std::find(calls_.begin(), calls_.end(), numbers) == calls_.end()) calls_.push_back(std::move(numbers));
    }
    each_number(current_, plain_, [&](const Place& place, int64_t&) { places_.push_back(place); });
    std::erase_if(calls_, [&](const auto& numbers) { return numbers.size() != places_.size(); });
  }

  bool explain() {
    if (calls_.size() < 2 && marks_.empty()) return false;
    values_.assign(calls_.size(), {});
    for (size_t n = 0; n < places_.size(); ++n) {
      if (places_[n].kind == NumberKind::Size) size(n);
    }
    for (size_t n = 0; n < places_.size(); ++n) {
      if (places_[n].kind == NumberKind::Size) continue;
      if (const auto e = is_no_size(places_[n]) ? beside_a_symbol(column(n)) : explain_number(column(n), values_))
        numbers_[n] = *e;
      else if (!is_symbol(n))
        return false;
    }
    return !symbols_.empty();
  }

  /// A marked size that has had one value so far.
  bool some_size_is_constant() const {
    return std::any_of(symbols_.begin(), symbols_.end(), [&](size_t n) {
      return std::all_of(calls_.begin(), calls_.end(), [&](const auto& call) { return call[n] == calls_[0][n]; });
    });
  }

  std::vector<size_t> symbols_;           // places
  std::vector<jit::SymbolRange> ranges_;  // of each
  std::map<size_t, SizeExpr> numbers_;    // by place
  std::vector<Place> places_;
  std::vector<bool> plain_;

 private:
  std::vector<int64_t> column(size_t n) const {
    std::vector<int64_t> all;
    for (const auto& call : calls_) all.push_back(call[n]);
    return all;
  }
  const SizeMark* mark_of(const Place& place) const {
    for (const SizeMark& m : marks_) {
      const InputRef& input = current_.inputs[place.input];
      if (m.input.slot == input.slot && m.input.index == input.index && m.dim == place.dim) return &m;
    }
    return nullptr;
  }

  // What the data decides, or what has been seen to vary while sizes stayed: no expression over sizes but by chance.
  bool is_no_size(const Place& place) const {
    if (place.kind != NumberKind::Attribute || place.attr == kNoAttr) return false;
    return follow::is_no_size(*segment_[place.step]->step, place.attr);
  }

  // Constant, a symbol, or as far from one in every call.
  std::optional<SizeExpr> beside_a_symbol(std::span<const int64_t> seen) const {
    if (std::all_of(seen.begin(), seen.end(), [&](int64_t v) { return v == seen[0]; })) return SizeExpr::number(seen[0]);
    for (size_t s = 0; s < symbols_.size(); ++s) {
      SizeExpr e = SizeExpr::symbol(static_cast<int>(s));
      e.constant = seen[0] - values_[0][s];
      bool fits = true;
      for (size_t k = 0; k < seen.size(); ++k) fits = fits && e(values_[k]) == seen[k];
      if (fits) return e;
    }
    return std::nullopt;
  }

  // A number that nothing before it explains stands for itself.
  bool is_symbol(size_t n) {
    const std::vector<int64_t> seen = column(n);
    if (places_[n].kind != NumberKind::Attribute || std::any_of(seen.begin(), seen.end(), [](int64_t v) { return v < 2; })) return false;
    add_symbol(n, nullptr);
    return true;
  }

  // Two sizes that have varied together are one symbol, or one and its neighbour; other relations between the sizes of inputs are
  // more likely chance than meaning.
  void size(size_t n) {
    const std::vector<int64_t> seen = column(n);
    const SizeMark* mark = mark_of(places_[n]);
    const bool varies = std::any_of(seen.begin(), seen.end(), [&](int64_t v) { return v != seen[0]; });
    if (!varies && !mark) {
      numbers_[n] = SizeExpr::number(seen[0]);
      return;
    }
    if (const auto e = explain_number(seen, values_);
        e && !symbols_.empty() && e->linear.size() == 1 && e->factor == 0 && e->linear[0].first.divisor == 1) {
      const bool neighbour = e->linear[0].second == 1 && e->constant >= -1 && e->constant <= 1;
      if (neighbour || calls_.size() > 2) {
        numbers_[n] = *e;
        return;
      }
    }
    add_symbol(n, mark);
  }

  void add_symbol(size_t n, const SizeMark* mark) {
    const auto index = static_cast<int>(symbols_.size());
    numbers_[n] = SizeExpr::symbol(index);
    symbols_.push_back(n);
    jit::SymbolRange range;
    range.hint = calls_.back()[n];
    if (mark) {
      range.min = std::max<int64_t>(mark->min, 2);
      range.max = mark->max;
    }
    ranges_.push_back(range);
    for (size_t k = 0; k < calls_.size(); ++k) values_[k].push_back(calls_[k][n]);
  }

  std::span<Instance* const> segment_;
  SegmentFacts current_;
  std::span<const SizeMark> marks_;
  std::vector<std::vector<int64_t>> calls_;   // the numbers of each call
  std::vector<std::vector<int64_t>> values_;  // the symbols in each call
};

}  // namespace

std::vector<int64_t> numbers_of(const SegmentFacts& facts) {
  std::vector<int64_t> numbers;
  SegmentFacts copy = facts;
  each_number(copy, plain_layouts(facts), [&](const Place&, const int64_t& value) { numbers.push_back(value); });
  return numbers;
}

namespace {

/// Calls of one size cannot tell a number that stems from it from one that happens to equal it: a dim, a number of heads. Where a step
/// refuses other sizes, its numbers are tried as they are, as long as that gets further. `steps_at(numbers)`: how many steps accept
/// other sizes.
template <class StepsAt>
void settle_chance(std::vector<SizeExpr>& numbers, std::span<const Place> places, std::span<const int64_t> seen, size_t steps,
                   const StepsAt& steps_at) {
  size_t reached = steps_at(numbers);
  while (reached < steps) {
    // Those of the step that refuses, together and alone; then those before it, which may have led there.
    std::vector<size_t> here, before;
    for (size_t n = 0; n < places.size(); ++n) {
      if (places[n].kind != NumberKind::Attribute || !numbers[n].varies()) continue;
      if (places[n].step <= reached) (places[n].step == reached ? here : before).push_back(n);
    }
    size_t best = reached;
    std::vector<SizeExpr> found;
    const auto attempt = [&](std::span<const size_t> as_they_are) {
      std::vector<SizeExpr> other = numbers;
      for (const size_t n : as_they_are) other[n] = SizeExpr::number(seen[n]);
      const size_t further = steps_at(other);
      if (further > best) best = further, found = std::move(other);
    };
    constexpr size_t kMostDoubts = 6;
    for (uint32_t taken = 1; here.size() <= kMostDoubts && taken < (1u << here.size()); ++taken) {
      std::vector<size_t> some;
      for (size_t i = 0; i < here.size(); ++i) {
        if (taken >> i & 1) some.push_back(here[i]);
      }
      attempt(some);
    }
    for (size_t i = before.size(); i-- > 0 && found.empty();) attempt(std::span(before).subspan(i, 1));
    if (found.empty()) return;
    numbers = std::move(found);
    reached = best;
  }
}

/// "length of narrow at model.cpp:12"
std::string name_of(const Step& step, size_t attr) {
  const ir::SourceLocation where{step.where.file_name(), static_cast<int>(step.where.line())};
  const std::string of = std::string(step.op->name) + " at " + where.str();
  return (attr < step.op->attr_names.size() ? std::string(step.op->attr_names[attr]) : "a size") + " of " + of;
}

/// The graph of a segment at any sizes. It owns all but the instances, which live while somebody keeps their bindings.
struct GraphRecipe {
  std::vector<Instance*> segment;
  std::vector<std::weak_ptr<Binding>> bindings;
  int first_slot;
  std::vector<int> outputs;
  SegmentFacts facts;
  std::vector<bool> plain;
  std::vector<SizeExpr> numbers;
  std::vector<std::string> external_names;
  std::string name;

  ir::Graph operator()(std::span<const int64_t> values) const {
    std::vector<std::shared_ptr<Binding>> kept;
    for (const std::weak_ptr<Binding>& binding : bindings)
      if (kept.emplace_back(binding.lock()) == nullptr) throw ir::ChoiceError("the calls that were recorded are forgotten");
    const SegmentFacts here = at(facts, plain, numbers, values);
    return std::move(build_segment(segment, first_slot, outputs, here, external_names, name)->graph);
  }
};

}  // namespace

std::unique_ptr<SymbolicForm> compile_symbolic(std::span<Instance* const> segment, int first_slot, std::vector<int> outputs,
                                               std::span<const SegmentFacts> calls, std::span<const SizeMark> marks,
                                               std::span<const std::string> external_names, const std::string& name,
                                               const jit::CompileOptions& options, const SymbolicForm* before,
                                               std::span<const std::shared_ptr<Binding>> bindings) {
  Explanation found(segment, calls, marks);
  if (!found.explain()) return nullptr;
  for (const jit::SymbolRange& range : found.ranges_) {
    if (range.hint < range.min || range.hint > range.max) return nullptr;
  }
  auto result = std::make_unique<SymbolicForm>();
  result->symbols = found.symbols_;
  for (const size_t n : found.symbols_) {
    const Place& place = found.places_[n];
    if (place.kind == NumberKind::Attribute) {
      result->names.push_back(name_of(*segment[place.step]->step, place.attr));
      continue;
    }
    const InputRef& input = calls.back().inputs[place.input];
    result->names.push_back((input.slot ? "value " + std::to_string(input.index) : external_names[static_cast<size_t>(input.index)]) +
                            ".size(" + std::to_string(place.dim) + ")");
  }
  for (auto& [place, expression] : found.numbers_) result->numbers.push_back(std::move(expression));
  const SegmentFacts& now = calls.back();
  if (found.some_size_is_constant()) {
    std::vector<int64_t> other;
    for (const jit::SymbolRange& range : found.ranges_) {
      const auto step = static_cast<int64_t>(1 + other.size());
      other.push_back(range.hint <= range.max - step ? range.hint + step : std::max(range.min, range.hint - step));
    }
    const auto steps_at = [&](const std::vector<SizeExpr>& numbers) {
      const SegmentFacts facts = at(now, found.plain_, numbers, other);
      const auto accepts = [&](size_t steps) {
        try {
          build_segment(segment.first(steps), first_slot, {}, facts, external_names, name);
          return true;
        } catch (const Error&) { return false; }
      };
      if (accepts(segment.size())) return segment.size();
      size_t good = 0, bad = segment.size();  // the first step that refuses is between
      while (bad - good > 1) {
        const size_t middle = (good + bad) / 2;
        (accepts(middle) ? good : bad) = middle;
      }
      return good;
    };
    settle_chance(result->numbers, found.places_, numbers_of(now), segment.size(), steps_at);
  }
  const auto recipe = std::make_shared<const GraphRecipe>(GraphRecipe{{segment.begin(), segment.end()},
                                                                      {bindings.begin(), bindings.end()},
                                                                      first_slot,
                                                                      outputs,
                                                                      now,
                                                                      found.plain_,
                                                                      result->numbers,
                                                                      {external_names.begin(), external_names.end()},
                                                                      name});
  const auto graph_at = [recipe](std::span<const int64_t> values) { return (*recipe)(values); };
  const bool another_rest = before != nullptr && before->symbols == result->symbols && before->numbers == result->numbers;
  result->family = jit::compile_family(graph_at, found.ranges_, options, another_rest ? before->family.get() : nullptr);
  if (!result->family) {
    // A mark that cannot be kept is an error that says where: user code forces the size to one value.
    std::vector<int64_t> values;
    for (const jit::SymbolRange& range : found.ranges_) values.push_back(range.hint);
    for (const SizeMark& mark : marks) {
      if (!mark.required) continue;
      for (size_t s = 0; s < values.size(); ++s) {
        std::vector<int64_t> other = values;
        other[s] += other[s] < found.ranges_[s].max ? 1 : -1;
        try {
          graph_at(other);
        } catch (const Error& error) {
          const std::string path = mark.input.slot ? "a value" : external_names[static_cast<size_t>(mark.input.index)];
          detail::raise<MarkError>("mark_dynamic: dimension ", mark.dim, " of ", path, " cannot vary, the code forces it to ", values[s],
                                   ": ", error.what());
        }
      }
    }
    return nullptr;
  }
  result->form = build_segment(segment, first_slot, std::move(outputs), now, external_names, name);
  return result;
}

std::vector<std::string> SymbolicForm::predicates() const {
  std::vector<std::string> all;
  for (size_t s = 0; s < names.size(); ++s) {
    const jit::SymbolRange& range = family->ranges()[s];
    all.push_back(std::to_string(range.min) + " <= " + names[s] + (range.max == INT64_MAX ? "" : " <= " + std::to_string(range.max)));
    if (range.step != 1) all.push_back(names[s] + " % " + std::to_string(range.step) + " == " + std::to_string(range.rest()));
  }
  return all;
}

int SymbolicSegment::attempts_allowed() const {
  const TraceLimits limits;
  int64_t rests = 1;
  for (const auto& form : forms) {
    int64_t these = 1;
    for (const jit::SymbolRange& range : form->family->ranges()) these = std::min<int64_t>(these * range.step, limits.rests);
    rests = std::max(rests, these);
  }
  return limits.attempts + static_cast<int>(rests) - 1;
}

std::unique_ptr<Variant> SymbolicForm::bind(std::span<const int64_t> given) const {
  if (given.size() != numbers.size()) return nullptr;
  std::vector<int64_t> values;
  for (size_t place : symbols) {
    if (!family->ranges()[values.size()].contains(given[place])) return nullptr;  // there may be many forms, one for each rest
    values.push_back(given[place]);
  }
  for (size_t n = 0; n < given.size(); ++n) {
    if (numbers[n](values) != given[n]) return nullptr;
  }
  std::shared_ptr<const jit::Executable> executable = family->bind(values);
  if (!executable) return nullptr;
  auto variant = std::make_unique<Variant>();
  variant->outputs = form->outputs;
  variant->inputs = form->inputs;
  variant->scalars = form->scalars;
  variant->written = form->written;
  variant->write_counts = form->write_counts;
  variant->lifted = form->lifted;
  variant->first_scalar = form->first_scalar;
  variant->is_output = form->is_output;
  variant->output_flags = form->output_flags;
  variant->lifts_seen = form->lifts_seen;
  variant->executable = std::move(executable);
  return variant;
}

}  // namespace tailor::follow
