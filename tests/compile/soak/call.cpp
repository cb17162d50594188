#include "call.h"

#include <sstream>
#include <typeinfo>

namespace soak {

uint64_t Draws::next() {  // splitmix64
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

namespace {

Tensor matrix(Draws& draws, int64_t rows) {
  Tensor t = ((tl::arange(rows * 8) * static_cast<double>(1 + draws.pick(7))).remainder(5.0) - 2).to(tl::kFloat32).view({rows, 8}) / 4;
  switch (draws.pick(8)) {
    case 0: return t.t().contiguous().t();
    case 1: return tl::cat({t, t}).narrow(0, draws.pick(rows + 1), rows);
    case 2: return tl::cat({t, t}, 1).narrow(1, draws.pick(3), 8);
    default: return t;
  }
}

}  // namespace

Call make_call(Seeds seeds) {
  const tl::NoGradGuard no_grad;
  Draws draws(seeds.tensors), ways(seeds.way);
  Call c;
  const int64_t rows = 1 + draws.pick(12);
  c.x = matrix(draws, rows);
  switch (draws.pick(10)) {
    case 0: c.y = c.x; break;
    case 1: c.y = c.x.view_as(c.x); break;
    case 2: c.y = c.x.narrow(0, 0, rows); break;
    default: c.y = matrix(draws, rows);
  }
  for (int64_t i = draws.pick(4); i > 0; --i) c.list.push_back(draws.one_in(5) ? c.x : matrix(draws, rows));
  if (draws.one_in(3)) c.extra = draws.one_in(4) ? c.y : matrix(draws, rows);
  for (int64_t i = draws.pick(3); i > 0; --i) c.named[std::string(1, static_cast<char>('a' + draws.pick(3)))] = matrix(draws, rows);
  if (draws.one_in(12)) c.y = c.y.to(tl::kFloat64);
  if (draws.one_in(12)) c.x = c.x.clone().requires_grad_();
  c.index = tl::arange(1 + draws.pick(4), tl::kLong) * ways.pick(4);
  if (ways.one_in(10)) c.index = c.index + 1000;
  c.number = static_cast<double>(ways.pick(20)) / 4;
  c.way = static_cast<int64_t>(ways.next() >> 8);
  c.trips = ways.one_in(3) ? ways.pick(41) : ways.pick(6);
  if (draws.one_in(10)) tl::maybe_mark_dynamic(c.x, 0);
  if (draws.one_in(20)) tl::maybe_mark_dynamic(c.y, 0, {.min = 2, .max = 8});
  if (draws.one_in(40)) tl::mark_static(c.x, 0);
  if (draws.one_in(20)) tl::mark_dynamic(c.x, 0, {.min = 2, .max = 9}), c.marked = true;
  return c;
}

State make_state(uint64_t seed) {
  Draws draws(seed);
  State s;
  s.weight = matrix(draws, 4);
  s.bias = matrix(draws, 1).view({8}).clone();
  s.cache = tl::zeros({16, 8}, tl::kFloat32);
  return s;
}

void change(State& s, uint64_t seed, const Tensor& shared) {
  const tl::NoGradGuard no_grad;
  Draws draws(seed);
  switch (draws.pick(6)) {
    case 0: s.weight = matrix(draws, 1 + draws.pick(9)); break;
    case 1: s.weight = matrix(draws, s.weight.size(0)); break;
    case 2: s.bias = draws.one_in(2) ? s.weight.select(0, 0) : matrix(draws, 1).view({8}); break;
    case 3:
      if (draws.one_in(2)) s.weight = s.weight.detach().clone().requires_grad_(draws.one_in(2));
      break;
    default: break;
  }
  if (draws.one_in(10)) s.kept.clear();
  if (draws.one_in(20)) s.cache = tl::zeros({16, 8}, tl::kFloat32);
  if (draws.one_in(4)) s.rows = 1 + draws.pick(7);
  if (draws.one_in(8)) s.position = draws.pick(12);
  s.shared = shared;
}

State*& here() {
  thread_local State* state = nullptr;
  return state;
}

Outcome outcome_of(const std::function<Results(Call&)>& f, Call& call, State& state) {
  Outcome o;
  here() = &state;
  try {
    o.results = f(call);
  } catch (const std::exception& error) {
    o.error = typeid(error).name();
    if (dynamic_cast<const tl::InternalError*>(&error) != nullptr) o.error += std::string(": ") + error.what();
  }
  return o;
}

Results visible(const Call& call, const State& s) {
  Results all{call.x, call.y, call.index, s.weight, s.bias, s.cache};
  all.insert(all.end(), call.list.begin(), call.list.end());
  if (call.extra) all.push_back(*call.extra);
  for (const auto& [name, t] : call.named) all.push_back(t);
  all.insert(all.end(), s.kept.begin(), s.kept.end());
  all.push_back(tl::tensor({s.position, s.rows}, tl::kLong));
  return all;
}

std::string difference(const Results& got, const Results& want) {
  std::ostringstream out;
  if (got.size() != want.size()) return std::to_string(got.size()) + " tensors instead of " + std::to_string(want.size());
  const tl::NoGradGuard no_grad;
  for (size_t i = 0; i < got.size(); ++i) {
    const bool described = got[i].scalar_type() == want[i].scalar_type() && got[i].sizes() == want[i].sizes() &&
                           got[i].strides() == want[i].strides() && got[i].requires_grad() == want[i].requires_grad();
    if (described && tl::allclose(got[i].detach(), want[i].detach(), 1e-4, 1e-5, true)) continue;
    for (const auto& [name, t] : {std::pair{"got", got[i]}, {"instead of", want[i]}})
      out << name << " " << t.toString() << t.sizes() << " with strides " << t.strides()
          << (t.requires_grad() ? ", requires gradients" : "") << "\n"
          << t.detach() << "\n";
    return "tensor " + std::to_string(i) + ": " + out.str();
  }
  return {};
}

}  // namespace soak
