// The bodies: what each of them does is what users do.

#include <array>
#include <mutex>

#include "call.h"

namespace soak {
namespace {

Results pointwise(const Call& c) { return {(c.x * c.number + c.y).sigmoid(), tl::where(c.x > 0, c.x, c.y.neg())}; }
Results product(const Call& c) {
  const Tensor p = tl::matmul(c.x, c.x.t());
  return {tl::softmax(p, -1), c.x.size(0) > 8 ? p.sum(0) : p.amax(1), c.x.mean() * c.number};
}
Results written(const Call& c) {
  Tensor t = c.x.clone();
  t[0].add_(c.y[0]);
  t.narrow(1, 0, 2).mul_(2);
  if (t[0][0].item<float>() > 0) t.neg_();
  return {t, t.t().contiguous()};
}
Results container(const Call& c) {
  Tensor t = c.x;
  for (const Tensor& e : c.list) t = t + e;
  return {t, tl::cat(c.list.empty() ? Results{c.x} : c.list)};
}
Results ways(const Call& c) {
  Tensor t = c.x;
  for (int64_t w = c.way & 255; w > 0; w >>= 1) t = w & 1 ? t + c.number : (t * c.y).tanh();
  return {t};
}
Results layers(const Call& c) {
  static tl::nn::Linear a(8, 16), b(16, 4);
  return {b(tl::relu(a(c.x.to(tl::kFloat32))))};
}

// ---- what is captured ------------------------------------------------------------------------------------------------------------

Results captured(const Call& c) {
  State& s = *here();
  const Tensor w = s.weight.to(c.x.scalar_type()), t = tl::matmul(c.x, w.t());
  return {t.sum(1), tl::matmul(s.shared, w.t().to(tl::kFloat32)).amax(0), c.x + s.bias, w * c.number};
}
// What an op touches for the first time is two tensors, or one twice.
Results touched(const Call& c) {
  State& s = *here();
  const bool same = c.way & 1;
  const Tensor &a = same ? s.weight : c.x, &b = c.way & 2 ? s.weight : s.shared;
  switch (c.way >> 2 & 3) {
    case 0: return {tl::matmul(a.to(b.scalar_type()), b.t())};
    case 1: return {tl::cat({a, b, c.way & 16 ? a : s.bias.unsqueeze(0)}) * 2};
    case 2: return {tl::where(a.narrow(0, 0, 1) > 0, b, c.way & 16 ? b : s.bias)};
    default: return {tl::cat({b, b}).tanh(), a.addcmul(s.bias, c.way & 16 ? s.bias : a, 0.5)};
  }
}
Results integers(const Call& c) {
  State& s = *here();
  const int64_t n = s.rows;
  return {c.x.narrow(1, 0, n) * 2, tl::full({n, n}, c.number) + 1, tl::arange(n) * c.number, c.x.repeat({n, 1}).sum(0),
          tl::zeros({n, c.x.size(0)}) + c.x.select(1, n)};
}
Results cached(const Call& c) {
  State& s = *here();
  s.cache.narrow(0, s.position, 1).copy_(c.x.detach().narrow(0, 0, 1));
  s.position = (s.position + 1) % 16;
  const Tensor seen = s.cache.narrow(0, 0, std::max<int64_t>(1, s.position));
  return {tl::softmax(tl::matmul(c.x, seen.t().to(c.x.scalar_type())), -1), seen.sum(0)};
}
Results in_place(const Call& c) {
  State& s = *here();
  const tl::NoGradGuard no_grad;
  c.x.mul_(0.5).add_(1);
  if (c.way & 1) s.bias.add_(c.x.select(0, 0)).clamp_(-4, 4);
  if (c.way & 2) s.weight.select(0, 0).copy_(c.y.select(0, 0));
  if (c.extra) c.extra->neg_();
  return {c.x + c.y, c.x.select(1, 0), s.bias};
}
Results kept(const Call& c) {
  State& s = *here();
  Results all;
  for (const Tensor& t : s.kept) all.push_back(t.sum(0) + c.x.select(0, 0));
  s.kept.push_back(c.way & 1 ? c.x * 2 : c.x.narrow(0, 0, 1));
  if (c.way & 2) s.kept.push_back(s.kept.back() + 1);
  while (s.kept.size() > 3) s.kept.erase(s.kept.begin());
  return all;
}
// Threads write to one tensor, one at a time.
std::mutex written_by_all;
Results under_a_lock(const Call& c) {
  static const Tensor sum = tl::zeros({8});
  std::lock_guard lock(written_by_all);
  const tl::NoGradGuard no_grad;
  sum.copy_(c.y.select(0, 0));
  sum.add_(c.x.select(0, 0));
  const Tensor result = sum * 2;
  tl::fence();
  return {result};
}

// ---- control --------------------------------------------------------------------------------------------------------------------

Results loops(const Call& c) {
  Tensor t = c.x, total = t;
  for (int64_t i = 0; i < c.trips; ++i) {
    t = t * 0.5 + c.y;
    if (c.way & 1) total = tl::maximum(total, t);
    if (c.way & 2 && i % 3 == 2) t = t + here()->bias;
  }
  return {t, total};
}
Results nested_loops(const Call& c) {
  Tensor t = c.x;
  for (int64_t i = 0; i < c.trips % 5; ++i) {
    t = t.tanh();
    for (int64_t j = 0; j < (c.way >> i & 3); ++j) t = t + c.y.select(0, 0);
    if (t.numel() > 0 && c.way & 64) t.sum().item();
  }
  return {t};
}
Results counted(const Call& c) {
  const Tensor mask = c.x > 0.25;
  const Tensor some = c.x.index({mask});
  Results all{tl::nonzero(mask), tl::masked_select(c.y, mask) * 2, some + c.number, some.sum()};
  if (some.size(0) > 4) all.push_back(tl::cat({some, some}).view({2, -1}).amax(0));
  const Tensor rows = c.x.index({c.y.select(1, 0) > 0});
  all.push_back(tl::matmul(rows.to(c.y.scalar_type()), c.y.t()));
  return all;
}
Results throwing(const Call& c) {
  Tensor t = c.x;
  const int64_t at = c.way & 7;
  for (int64_t i = 0; i < 6; ++i) {
    if (i == at && c.way & 8) throw BodyError("here");
    t = i == at && c.way & 16 ? t.index_select(0, c.index) : (t + c.y.select(0, 0)).tanh();
  }
  return {t};
}
Results catching(const Call& c) {
  const Tensor before = c.x * 2;
  try {
    const Tensor t = before.index_select(0, c.index);
    c.y.select(0, 0).add_(t.sum(0));
    (void)t.sum().item();
    return {t, before};
  } catch (const tl::IndexError&) { return {before + 1}; }
}
Results modes(const Call& c) {
  const Tensor w = c.x.detach().clone().requires_grad_();
  Tensor a = w * c.number;
  {
    const tl::AutoGradMode mode(c.way & 1);
    a = a + w.sum(0);
    if (c.way & 2) {
      const tl::InferenceMode inference(false);
      a = a * c.y;
    }
  }
  return {a, a.detach(), w.requires_grad_(c.way & 4)};
}
Results memory(const Call& c) {
  Tensor t = c.x * 2;
  float* const data = here()->cache.data_ptr<float>();
  const Tensor seen = here()->cache.select(0, 0) + t.select(0, 0);
  tl::fence();
  data[c.way & 7] = static_cast<float>(c.way >> 3 & 3);
  const Tensor blob = tl::from_blob(data, {2, 8}, tl::kFloat32);
  return {t, seen, blob.sum(0) + c.y, here()->cache.sum(0)};
}
Results default_dtype(const Call& c) {
  const tl::ScalarType before = tl::get_default_dtype();
  const Tensor a = tl::ones({3}) * c.number;
  tl::set_default_dtype(c.way & 1 ? tl::kFloat64 : tl::kFloat32);
  const Tensor b = tl::arange(3) / 2 + tl::full({3}, c.number);
  tl::set_default_dtype(before);
  return {a, b, tl::ones({2}) + c.x.select(0, 0).sum()};
}

// ---- other signatures --------------------------------------------------------------------------------------------------------------

struct Inner {
  std::vector<std::pair<Tensor, int64_t>> parts;
  std::optional<double> scale;
};
struct Nested {
  Inner inner;
  std::array<Tensor, 2> two;
  std::string text;
  TAILOR_FIELDS(Nested, inner, two, text)
};
Results nested(const Nested& n, const Tensor& x) {
  Results all{x * n.inner.scale.value_or(3)};
  for (const auto& [t, times] : n.inner.parts) all.push_back(times > 2 ? t + x : t * static_cast<double>(times));
  if (n.text == "more") all.push_back(tl::matmul(n.two[0], n.two[1].t().to(n.two[0].scalar_type())));
  all.push_back(n.two[0]);
  return all;
}
Nested nested_of(const Call& c) {
  Nested n{{}, {c.x, c.y}, c.way & 1 ? "more" : "less"};
  for (size_t i = 0; i < c.list.size(); ++i) n.inner.parts.emplace_back(c.list[i], c.way >> (2 * i) & 3);
  if (c.way & 256) n.inner.scale = c.number;
  return n;
}
Results symbolic(const Tensor& x, const Tensor& y) {
  const tl::SymInt n = x.sym_size(0);
  if (n > 6) return {x.narrow(0, 0, n / 2).sum(1), tl::cat({x, y}).view({2, n, 8})};
  return {x * n, y.expand({3, n, 8}), tl::full({n, 2}, 1.5)};
}
const Tensor& referred(const Call& c) { return c.extra ? *c.extra : c.way & 1 ? c.x : here()->weight; }
void assigned(Tensor& x, Tensor& y) {
  const Tensor t = x + y;
  x = t * 2;
  if (t.size(0) > 4) y = x.narrow(0, 0, 2);
}
Tensor by_value(Tensor x, Tensor y) {
  x = x + 1;
  return x * y;
}
const tl::Compiled<Tensor(Tensor, Tensor)>& inner() {
  static const auto* f = new tl::Compiled<Tensor(Tensor, Tensor)>(tl::compile(by_value, {.backend = tl::Backend::Interpreter}));
  return *f;
}
Results nesting(const Call& c) { return {inner()(c.x, c.y) + 1, c.way & 1 ? inner()(c.y, c.y) : c.y}; }

// ---- the list -----------------------------------------------------------------------------------------------------------------------

constexpr tl::Backend kNoCode = tl::Backend::Interpreter;

/// `call(f, c)` calls the body, or its compiled form, with what it takes of a call.
template <class Body, class Caller>
Function function(std::string name, Body body, tl::CompileOptions options, Caller call) {
  options.name = name;
  const auto fast = tl::compile(body, options);
  const bool refuses = options.error_on_recompile;
  options.async = false;
  return {std::move(name),
          [=](Call& c) { return call(body, c); },
          [=](Call& c) { return call(fast, c); },
          [=] { return fast.stats(); },
          [=] { fast.reset(); },
          [=] { (void)fast.report(); },
          [=] {
            const auto fresh = tl::compile(body, options);
            return [=](Call& c) { return call(fresh, c); };
          },
          false,
          refuses};
}
Function function(std::string name, Results (*body)(const Call&), tl::CompileOptions options = {.backend = kNoCode}) {
  return function(std::move(name), body, std::move(options), [](const auto& f, Call& c) { return f(c); });
}
}  // namespace

std::vector<Function> functions(uint64_t seed) {
  using tl::StormPolicy::KeepCompiling;
  std::vector<Function> all;
  const auto add = [&](Function f) { all.push_back(std::move(f)); };
  uint64_t next_program = seed * 1000;
  const auto random_programs = [&](const std::string& name, tl::CompileOptions options) {
    const uint64_t first = next_program;
    next_program += 4;
    const bool pure = options.pure;
    return function(
        "programs, " + name,
        [first, pure](Call& c) { return program(first + static_cast<uint64_t>(c.way >> 7 & 3), c, pure ? nullptr : here()); },
        std::move(options), [](const auto& f, Call& c) { return f(c); });
  };
  add(function("pointwise", pointwise, {.at_storm = KeepCompiling}));
  add(function("pointwise, evicting", pointwise,
               {.dynamic = tl::Dynamic::Never, .cache_size_limit = 2, .backend = kNoCode, .at_storm = KeepCompiling}));
  add(function("product", product, {.backend = kNoCode, .at_storm = KeepCompiling}));
  add(function("written", written, {}));
  add(function("container", container, {.cache_size_limit = 4, .backend = kNoCode, .at_storm = KeepCompiling}));
  add(function("ways", ways));
  add(function("layers, pure", layers, {.pure = true}));
  add(function("layers, in the background", layers, {.cache_size_limit = 4, .async = true}));
  add(function("captured", captured));
  add(function("captured, waiting", captured, {.cache_size_limit = 3, .backend = kNoCode, .wait_for_compile = true}));
  add(function("touched", touched));
  add(function("touched, one entry", touched, {.cache_size_limit = 1, .backend = kNoCode, .at_storm = KeepCompiling}));
  add(function("integers", integers));
  add(function("integers, compiled", integers, {.dynamic = tl::Dynamic::Always}));
  add(function("cached", cached));
  add(function("in place", in_place));
  add(function("in place, waiting", in_place, {.backend = kNoCode, .wait_for_compile = true}));
  add(function("kept", kept));
  add(function("under a lock", under_a_lock));
  add(function("loops", loops));
  add(function("loops, worth it", loops, {.backend = kNoCode, .when_worth_it = true, .worth_it_after = 3}));
  add(function("nested loops", nested_loops, {.backend = kNoCode, .async = true}));
  add(function("counted", counted));
  add(function("counted, waiting", counted, {.backend = kNoCode, .wait_for_compile = true}));
  add(function("throwing", throwing));
  add(function("catching", catching));
  add(function("modes", modes));
  add(function("memory", memory));
  add(function("default dtype", default_dtype));
  all.back().changes_modes = true;
  add(function("nesting", nesting));
  add(function("never again", pointwise, {.backend = kNoCode, .error_on_recompile = true}));
  for (const bool pure : {false, true}) {
    const tl::CompileOptions options{.cache_size_limit = 6, .pure = pure, .backend = kNoCode};
    const std::string how = pure ? ", pure" : "";
    add(function("nested arguments" + how, nested, options, [](const auto& f, Call& c) { return f(nested_of(c), c.x); }));
    add(function("symbolic sizes" + how, symbolic, options, [](const auto& f, Call& c) { return f(c.x, c.y); }));
    add(function("assigned" + how, assigned, options, [](const auto& f, Call& c) {
      f(c.x, c.y);
      return Results{c.x, c.y};
    }));
    add(function("by value" + how, by_value, options, [](const auto& f, Call& c) { return Results{f(c.x, c.y), f(c.y, c.y)}; }));
    add(random_programs("plain" + how, options));
    add(random_programs("in the background" + how, {.pure = pure, .backend = kNoCode, .async = true}));
  }
  add(function("referred", referred, {.backend = kNoCode}, [](const auto& f, Call& c) {
    const Tensor t = f(c);
    return Results{t, t + 1};
  }));
  add(random_programs("compiled", {}));
  add(random_programs("waiting", {.backend = kNoCode, .wait_for_compile = true}));
  add(random_programs("few entries", {.cache_size_limit = 2, .backend = kNoCode, .at_storm = KeepCompiling}));
  add(random_programs("static", {.dynamic = tl::Dynamic::Never, .backend = kNoCode}));
  add(random_programs("dynamic", {.dynamic = tl::Dynamic::Always, .backend = kNoCode}));
  add(random_programs("eager at the limit", {.cache_size_limit = 3, .backend = kNoCode, .at_limit = tl::CacheLimitPolicy::RunEager}));
  for (uint64_t i = 0; i < 6; ++i) add(random_programs(std::to_string(i), {.backend = kNoCode}));
  {
    const auto body = [](const Tensor& x) { return (x * 2 + 1).relu(); };
    const auto fast = std::make_shared<tl::Bucketed<Tensor(const Tensor&)>>(tl::bucketed(
        body, {{.policy = tl::BucketPolicy::learned(3, 20), .arguments = {{0, 0}}, .results = {{0, 0}}}}, {.backend = kNoCode}));
    const auto eager = [=](Call& c) { return Results{body(c.x.detach().contiguous())}; };
    add({"bucketed", eager, [=](Call& c) { return Results{(*fast)(c.x.detach().contiguous())}; }, [=] { return fast->stats(); },
         [=] { fast->function().reset(); }, [=] { (void)fast->function().report(); }, [=] { return eager; }});
  }
  return all;
}

}  // namespace soak
