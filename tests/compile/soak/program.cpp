// Random straight-line programs: short, of few kinds each, so that calls meet again on paths that others have recorded.

#include <algorithm>
#include <thread>

#include "call.h"

namespace soak {
namespace {

/// The tensors that the next step may take: those that were computed without rounding, and the others.
struct Pool {
  Draws draws;
  Results exact, rounded;
  Tensor shared;          // with other threads: read only
  bool may_fail = false;  // an op on data has been asked for that may not like it
  Tensor take() { return exact[static_cast<size_t>(draws.pick(static_cast<int64_t>(exact.size())))]; }
  Tensor read() { return shared.defined() && draws.one_in(4) ? shared : take(); }
  Tensor any() {
    return !rounded.empty() && draws.one_in(2) ? rounded[static_cast<size_t>(draws.pick(static_cast<int64_t>(rounded.size())))] : take();
  }
  void give(const Tensor& t) { exact.push_back(t); }
  void give_rounded(const Tensor& t) { rounded.push_back(t); }
};

/// As many rows of both.
std::pair<Tensor, Tensor> alike(const Tensor& a, const Tensor& b) {
  const int64_t rows = std::min(a.size(0), b.size(0));
  return {a.size(0) == rows ? a : a.narrow(0, 0, rows), b.size(0) == rows ? b : b.narrow(0, 0, rows)};
}
Tensor small(const Tensor& t) { return t.clamp(-4, 4); }

/// Values that gradients flow to are not written: eager code may not, either.
bool may_write(const Tensor& t) { return !t.requires_grad(); }

void add(Pool& p) {
  const auto [a, b] = alike(p.take(), p.read());
  p.give(small(a + b));
}
void choose(Pool& p) {
  const auto [a, b] = alike(p.take(), p.take());
  const auto [c, d] = alike(a, p.take());
  const int64_t rows = d.size(0);
  p.give(tl::where(c > 0, a.narrow(0, 0, rows), b.narrow(0, 0, rows)));
}
void twice(Pool& p) {  // many tensors at once, some of them the same
  const Tensor a = p.read(), b = p.read();
  switch (p.draws.pick(4)) {
    case 0: p.give_rounded(tl::matmul(a, b.to(a.scalar_type()).t()).tanh().sum(1, true).expand({a.size(0), 8})); break;
    case 1: p.give(tl::cat({a, b, a}).narrow(0, 0, std::min<int64_t>(12, a.size(0)))); break;
    case 2: {
      const auto [c, d] = alike(a, b);
      p.give(tl::where(c > d, c, d));
      break;
    }
    default: {
      const auto [c, d] = alike(a, b);
      p.give(tl::maximum(c, d));
    }
  }
}
void view(Pool& p, const State* s) {
  const Tensor a = p.take();
  const int64_t n = s != nullptr ? std::min(s->rows, a.size(0)) : (a.size(0) + 1) / 2;
  p.give(p.draws.one_in(2) ? a.narrow(0, a.size(0) - n, n) : a.narrow(0, 0, n));
}
void rounded(Pool& p) {
  const Tensor a = p.any();
  switch (p.draws.pick(5)) {
    case 0: p.give_rounded(a.tanh()); break;
    case 1: p.give_rounded(tl::softmax(a, -1)); break;
    case 2: p.give_rounded(a.mean(0, true) + a); break;
    case 3: p.give_rounded(a * a.sum(1, true).sigmoid()); break;
    default: p.give_rounded(a / (a.abs().sum(1, true) + 1));
  }
}
void write(Pool& p) {
  const auto [a, b] = alike(p.take(), p.take());
  if (!may_write(a) || b.requires_grad()) return;
  switch (p.draws.pick(5)) {
    case 0: Tensor(a).add_(b).clamp_(-4, 4); break;
    case 1: a.select(0, 0).mul_(0.5); break;
    case 2: a.copy_(b); break;
    case 3: Tensor(a).masked_fill_(a > 1, 0.5); break;
    default: a.narrow(1, 2, 3).neg_();
  }
}
void count(Pool& p) {
  const Tensor a = p.take();
  switch (p.draws.pick(3)) {
    case 0: p.give_rounded(tl::nonzero(a > 0).to(tl::kFloat32).sum(0, true).repeat({1, 4}).tanh()); break;
    case 1: p.give_rounded(tl::masked_select(a, a > 0.5).sum().expand({2, 8})); break;
    default: {
      const Tensor some = a.index({a.select(1, 0) > 0});
      p.give_rounded(some.size(0) > 0 ? some.amax(0, true) : some.sum(0, true));
    }
  }
}
void branch(Pool& p) {
  const Tensor a = p.take();
  if (a.select(0, 0).select(0, 1).item<float>() > 0) p.give(a.neg());
}
void index(Pool& p, const Call& c) {
  p.give(p.take().index_select(0, c.index));
  p.may_fail = true;
}
// An op that may fail and host code that needs its value are inside, so that compiled code throws where eager code does. What else may be
// thrown there (a stance that refuses to compile) is no matter of the body's.
void caught(Pool& p, const Call& c) {
  if (p.may_fail) return;
  try {
    const Tensor t = p.take().index_select(0, c.index);
    if (t.select(0, 0).select(0, 2).item<float>() > 0) p.give(t);
  } catch (const tl::IndexError&) { p.give(p.take() * 0.5); }
}
void keep(Pool& p, State* s) {
  if (s == nullptr || p.may_fail) return;
  s->kept.push_back(p.take());
  if (s->kept.size() > 3) s->kept.erase(s->kept.begin());
}
void other_thread(Pool& p) {
  if (p.may_fail || !p.draws.one_in(4)) return;
  const Tensor a = p.take();
  float seen = 0;
  std::thread([&] { seen = a.select(0, 0).select(0, 0).item<float>(); }).join();
  p.give(a + static_cast<double>(seen > 0 ? 1 : 0));
}
void own_memory(Pool& p) {
  float memory[8] = {1, 2, 3, 4, -1, -2, -3, -4};
  const Tensor blob = tl::from_blob(memory, {1, 8}, tl::kFloat32);
  p.give(small(p.take() + blob));
  memory[0] = 0;
}
void no_grad(Pool& p) {
  Tensor inside;
  {
    const tl::NoGradGuard guard;
    inside = p.take() * 0.5;
  }
  p.give(small(inside + p.take().select(0, 0)));
}
void created(Pool& p, const State* s, const Call& c) {
  const int64_t n = s != nullptr ? s->rows : c.x.size(0);
  switch (p.draws.pick(3)) {
    case 0: p.give(tl::full({n, 8}, c.number).clamp(-4, 4)); break;
    case 1: p.give((tl::arange(n * 8).view({n, 8}).remainder(5) * 0.25).to(tl::kFloat32)); break;
    default: p.give(tl::zeros_like(p.take()) + 0.25);
  }
}
void loop(Pool& p, const Call& c) {
  Tensor t = p.take();
  const Tensor step = p.take().select(0, 0);
  for (int64_t i = 0; i < c.trips; ++i) t = small(t.neg() + step);
  p.give(t);
}
void cached(Pool& p, State* s) {
  if (s == nullptr || p.may_fail) return;
  const Tensor row = p.take().select(0, 0);
  if (row.requires_grad() || s->cache.requires_grad()) return;
  s->cache.narrow(0, s->position, 1).copy_(row.unsqueeze(0));
  s->position = (s->position + 1) % 16;
  p.give(s->cache.narrow(0, 0, std::max<int64_t>(1, s->position)) + 0);
}
void throws(Pool& p, const Call& c) {
  if ((c.way >> 30 & 7) != 0) return;
  if (p.draws.one_in(2)) throw BodyError("the body says no");
  p.give(p.take() + tl::zeros({97, 8}));  // nothing else has 97 rows
}
void listed(Pool& p, const Call& c) {
  for (const Tensor& t : c.list) p.give(t);
  for (const auto& [name, t] : c.named)
    if (name != "b") p.give(t);
  if (c.extra) p.give(*c.extra * 0.5);
}

}  // namespace

Results program(uint64_t seed, Call& c, State* s) {
  const int length = 6 + 7 * static_cast<int>(seed % 3), cut = static_cast<int>(c.way & 15);
  const bool other = (c.way >> 4 & 7) == 0;
  Pool p{Draws(0), {c.x, c.y}, {}, {}};
  if (s != nullptr) {
    p.exact.push_back(s->weight);
    p.shared = s->shared;
    p.exact.insert(p.exact.end(), s->kept.begin(), s->kept.end());
  }
  for (int k = 0; k < length; ++k) {
    p.draws = Draws(seed * 64 + static_cast<uint64_t>(k) + (other && k >= cut ? 32 : 0));
    switch (p.draws.pick(24)) {
      case 0: add(p); break;
      case 1: p.give(p.take() * 0.5); break;
      case 2: choose(p); break;
      case 3:
      case 4: twice(p); break;
      case 5: view(p, s); break;
      case 6:
      case 7: rounded(p); break;
      case 8:
      case 9: write(p); break;
      case 10: count(p); break;
      case 11: branch(p); break;
      case 12: index(p, c); break;
      case 13: caught(p, c); break;
      case 14: keep(p, s); break;
      case 15: other_thread(p); break;
      case 16: own_memory(p); break;
      case 17: no_grad(p); break;
      case 18: created(p, s, c); break;
      case 19: loop(p, c); break;
      case 20: cached(p, s); break;
      case 21: throws(p, c); break;
      case 22: tl::fence(); break;
      default: listed(p, c);
    }
  }
  Results all(p.exact.end() - 2, p.exact.end());
  all.insert(all.end(), p.rounded.begin(), p.rounded.end());
  if (c.way >> 20 & 1) all.push_back(c.x);
  if ((c.way >> 21 & 3) == 0) all.push_back(c.y.t());
  return all;
}

}  // namespace soak
