#include "compile/mutation/subject.h"

#include <stdexcept>

namespace tailor::mutation {
namespace {

using G = Group;
using W = World;
using A = Args;
using T = Tensor;

Results pointwise(W& w, const T& x, const T& y, const A& a) {
  const T t = (x * a.scale + y * w.number).sigmoid() - a.ratio;
  return {t, t.mul(a.alpha).add(w.captured, w.number), where(x > w.number, t, t.neg())};
}

/// A parameter of the body that is a local of another call: reads nothing captured.
Results arguments_only(W&, const T& x, const T& y, const A& a) {
  const T t = x * a.scale + y;
  return {t, t.clamp_min(a.alpha), a.flag ? t.exp() : t * a.ratio};
}

/// Sizes, strides and places as plain numbers.
Results descriptions(W&, const T& x, const T& y, const A&) {
  const int64_t n = x.dim() > 0 ? x.size(0) : 0;
  T t = x.numel() > 8 ? x + n : x * 2;
  if (x.is_contiguous()) t = t - 1;
  if (x.storage_offset() > 0) t = t * 3;
  if (x.dim() == 2 && x.stride(0) > 4) t = t + 0.5;
  if (x.is_floating_point() && x.requires_grad()) t = t.neg();
  if (x.scalar_type() == kFloat64) t = t.to(kFloat32);
  if (n > 1) t = cat({t, zeros({n * 2, 4}).to(t.scalar_type())});
  return {t, full({n + 1}, static_cast<double>(n)), x.is_same(y) ? y + 1 : y.clone(), arange(n)};
}

Results views(W& w, const T& x, const T& y, const A& a) {
  const T m = x.reshape({-1, 4});
  const int64_t last = m.size(0) - 1;
  if (last < 0) return {m + 1};
  const int64_t at = std::min<int64_t>(w.integer, last);
  return {m.narrow(0, at, 1) * 2, m[last], m.t().select(0, std::get<1>(a.pair) % 4) + 1, m.index({indexing::Slice(0, std::nullopt, 2)}),
          y.unsqueeze(0).expand({2, -1, -1}).select(0, 1) * 2};
}

/// Writes that callers see, through aliases or not.
Results writes(W& w, const T& x, const T& y, const A& a) {
  if (a.flag) y.add_(1);
  if (w.flag) x.mul_(a.ratio);
  if (x.dim() == 2 && x.size(0) > 0) x[0].add_(y.dim() == 2 && y.size(0) > 0 ? y[0] : y.clone());
  w.captured.mul_(0.5);
  const T t = x + y;
  y.copy_(t.narrow(0, 0, std::min(t.size(0), y.size(0))).expand_as(y).clone());
  return {t, x * 2 + w.captured};
}

Results containers(W&, const T& x, const T&, const A& a) {
  T t = x.to(kFloat32);
  if (a.bias) t = t + *a.bias;
  if (a.eps) t = t * *a.eps;
  for (const T& e : a.extra) t = t - e;
  for (const auto& [key, weight] : a.weights) t = t + (key == "half" ? weight / 2 : weight);
  for (const auto& [key, entry] : a.table) t = t * static_cast<double>(key + 2) + entry;
  std::visit(
      [&](const auto& value) {
        using V = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<V, std::string>)
          t = value == "one" ? t + 1 : t + 2;
        else if constexpr (std::is_same_v<V, int64_t>)
          for (int64_t i = 0; i < value; ++i) t = t * 0.5;
        else
          t = t * value;
      },
      a.choice);
  t = t + a.both[0] - a.both[1] * std::get<1>(a.pair);
  t = t + std::get<0>(a.pair);
  for (const double k : a.inner.ks) t = t + k;
  return {t * a.inner.k + a.inner.t};
}

Results control_flow(W& w, const T& x, const T&, const A& a) {
  T t = x;
  for (int64_t i = 0; i < a.times; ++i) t = t * 0.5 + w.integer;
  switch (a.style) {
    case Style::Plain: break;
    case Style::Negated: t = t.neg(); break;
    case Style::Doubled: t = t + t; break;
  }
  if (a.text == "plain")
    t = t.relu();
  else
    t = t + static_cast<int64_t>(a.text.size());
  if (a.flag != w.flag) t = t.abs();
  return {w.behaviour->apply(t) * w.function(global_number)};
}

/// Data on the host, in the middle.
Results host_reads(W& w, const T& x, const T& y, const A& a) {
  const T t = x.to(kFloat32).nan_to_num(0, 1, -1).clamp(-10, 10);
  const double mean = t.numel() ? t.detach().flatten()[0].item<double>() : 0;
  T u = mean > 0.5 ? t + mean : t * 2;
  double left = std::abs(u.numel() ? u.detach().flatten()[u.numel() - 1].item<double>() : 0) + a.scale;
  for (int i = 0; i < 3 && left >= 1; ++i) left *= 0.5, u = u * left;
  if (y.numel() > 0 && y.is_contiguous() && y.scalar_type() == kFloat32) u = u + y.detach().const_data_ptr<float>()[0];
  if (w.captured.numel() > 0 && w.captured.detach().flatten()[0].item<double>() > 0) u = u + 1;
  return {u};
}

Results created(W& w, const T& x, const T&, const A& a) {
  const T z = zeros({2, 4}) + a.scale, o = full({4}, w.number);
  std::optional<NoGradGuard> no_grad;
  if (w.flag) no_grad.emplace();
  const T t = x * o + z.narrow(0, 0, 1);
  return {t, ones_like(x), arange(4) * 0.5, tensor(w.number) + x, rand({4}) + a.ratio, scalar_tensor(a.scale)};
}

/// Which tensors require gradients, and which may be written.
Results gradients(W& w, const T& x, const T& y, const A& a) {
  T t = x * y.to(kFloat32);
  t = t + w.net->gain;
  if (a.flag) t.mul_(w.captured);
  if (w.flag) return {t.detach(), t, x.detach() * 2};
  {
    NoGradGuard no_grad;
    t = t * 2;
  }
  return {t, w.net->gain * a.scale, y.requires_grad() ? y * 2 : y + 1};
}

Results module_state(W& w, const T& x, const T&, const A&) {
  NetImpl& net = *w.net;
  if (net.is_training()) {
    NoGradGuard no_grad;
    net.steps.add_(1);
  }
  T t = x.to(kFloat32) * net.gain;
  t = net.left(t) - net.right(t);
  return {t + net.steps, leaky_relu(t, 0.25)};
}

Results module_members(W& w, const T& x, const T&, const A&) {
  NetImpl& net = *w.net;
  T t = leaky_relu(x.to(kFloat32), net.slope) * net.left->plain;
  t = net.plain_left->forward(t) - net.plain_right->forward(t);
  return {net.is_training() ? t : t * 2, net.gain * net.slope};
}

Results layers(W& w, const T& x, const T&, const A& a) {
  NetImpl& net = *w.net;
  T t = net.fc(x.to(kFloat32).nan_to_num(0, 1, -1).clamp(-10, 10).reshape({-1, 4}));
  if (t.size(0) > 1) t = net.norm(t.clamp(-100, 100));
  t = gelu(t) * net.gain.nan_to_num(0, 1, -1).clamp(-10, 10);  // what a sum rounds must not decide the result
  return {softmax(t, -1), t.sum(0), t.mean() * a.scale};
}

Results products(W& w, const T& x, const T& y, const A& a) {
  const T m = x.to(kFloat32).nan_to_num(0, 1, -1).clamp(-10, 10).reshape({-1, 4});
  const T n = y.to(kFloat32).nan_to_num(0, 1, -1).clamp(-10, 10).reshape({-1, 4});
  const T p = matmul(m, n.t());
  return {p, p.sum(1) * a.ratio, (m * w.captured.to(kFloat32).nan_to_num(0, 1, -1).clamp(-10, 10)).sum(), m.amax(a.flag ? 1 : -1)};
}

Results indices(W& w, const T& x, const T& y, const A& a) {
  const T m = x.reshape({-1, 4});
  const T at = y.to(kFloat32).nan_to_num(0, 1, -1).clamp(0, 3).to(kInt64).flatten();
  const T columns = m.index_select(1, at.narrow(0, 0, std::min<int64_t>(at.numel(), 3)));
  return {columns, m.index({indexing::Slice(), w.integer}), m.masked_fill(m > 0, a.alpha),
          m.gather(1, zeros({m.size(0), 1}, TensorOptions(kInt64)))};
}

/// Values that outlive the call, arguments that come back.
Results survivors(W& w, const T& x, const T& y, const A& a) {
  const T t = x + a.scale, u = t * 2;
  if (a.flag) w.kept.push_back(u);
  if (w.kept.size() > 3) w.kept.erase(w.kept.begin());
  const T z = w.flag ? x : x.clone();
  w.captured = w.captured + 1;
  return {z, t, t, a.times > 1 ? u.narrow(0, 0, std::min<int64_t>(1, u.size(0))) : u, y, y.view_as(y), w.captured};
}

Results errors(W& w, const T& x, const T& y, const A& a) {
  T t = x.to(kInt64);
  w.captured.add_(1);
  if (w.fail && a.flag) throw std::runtime_error("the body fails");
  t = floor_divide(t + 3, y.to(kInt64));  // by zero: an error
  w.captured.add_(1);
  if (w.fail) throw 7;
  return {t, w.captured * 2, x.reshape({-1, a.times + 1})};
}

/// The same, in one piece and allowed to be skipped.
Results pure_arguments(W&, const T& x, const T& y, const A& a) {
  T t = x.to(kFloat32) * a.scale + y;
  if (a.bias) t = t + *a.bias;
  for (const T& e : a.extra) t = t - e;
  for (const auto& [key, weight] : a.weights) t = t + (key == "half" ? weight / 2 : weight);
  if (a.text == "plain") t = t.relu();
  for (int64_t i = 0; i < a.times; ++i) t = t * 0.5;
  if (x.dim() == 2 && x.size(0) > 2) t = t + x.size(0);
  return {a.style == Style::Negated ? t.neg() : t, x, t * a.alpha};
}

Results pure_module(W& w, const T& x, const T& y, const A&) {
  NetImpl& net = *w.net;
  T t = x.to(kFloat32) * net.gain;
  t = net.left(t) - net.right(t);
  return {net.is_training() ? t : t * 2, t + y, zeros({2}), net.gain.requires_grad() ? t + 1 : t - 1};
}

Results pure_writes(W& w, const T& x, const T& y, const A& a) {
  if (a.flag) y.add_(1);
  w.net->steps.add_(1);
  return {x + y, y * w.net->steps};
}

Results pure_layers(W& w, const T& x, const T&, const A&) {
  NetImpl& net = *w.net;
  T t = net.fc(x.to(kFloat32).nan_to_num(0, 1, -1).clamp(-10, 10).reshape({-1, 4}));
  if (t.size(0) > 1) t = net.norm(t.clamp(-100, 100));
  return {relu(t), t.sum(0)};
}

/// Sizes by SymInt: branches, views, numbers, compositions.
Results pure_sizes(W&, const T& x, const T& y, const A& a) {
  const T m = x.reshape({-1, 4});
  const SymInt n = m.sym_size(0);
  T t = n > 3 ? m * a.scale : m + n;
  if (n % 2 == 0) t = t.neg();
  const T z = m.is_contiguous() ? zeros_like(t) : ones({n, 4});
  return {t,
          t.narrow(0, 0, (n + 1) / 2) * 2,
          t.flatten() * max(n, 3),
          cat({t, z.to(t.scalar_type())}),
          arange(n),
          y.sym_numel() == x.sym_numel() ? x.reshape_as(y) + y : y.clone(),
          x.dim() == 2 && x.size(1) == 4 ? x + 1 : x - 1};
}

/// One size as a plain number, others not.
Results pure_mixed_sizes(W&, const T& x, const T& y, const A& a) {
  T t = x.dim() > 0 && y.dim() > 0 && y.sym_size(0) >= x.size(0) ? y * x.size(0) : y * a.scale;
  for (SymInt i = 0; i < min(y.sym_size(-1), 4); i += 2) t = t + i;
  return {t, t.reshape({-1}).slice(0, 0, t.sym_numel() / 2) * 2, x + y.sym_numel()};
}

const Subject kSubjects[] = {
    {"pointwise", groups({G::X, G::Y, G::Alias, G::Scale, G::Ratio, G::Alpha, G::Number, G::Captured, G::GradMode}), pointwise},
    {"arguments_only", groups({G::X, G::Y, G::Alias, G::Scale, G::Ratio, G::Alpha, G::Flag, G::GradMode}), arguments_only, true, true},
    {"descriptions", groups({G::X, G::Y, G::Alias, G::GradMode, G::DefaultDtype}), descriptions},
    {"views", groups({G::X, G::Y, G::Alias, G::Integer, G::Pair, G::GradMode}), views},
    {"writes", groups({G::X, G::Y, G::Alias, G::Flag, G::Switch, G::Ratio, G::Captured, G::GradMode}), writes},
    {"containers",
     groups({G::X, G::Alias, G::Bias, G::Eps, G::Extra, G::Weights, G::Table, G::Choice, G::Both, G::Pair, G::Inner, G::GradMode}),
     containers},
    {"control_flow",
     groups({G::X, G::Alias, G::Times, G::Integer, G::Style, G::Text, G::Flag, G::Switch, G::Behaviour, G::Global, G::GradMode}),
     control_flow},
    {"host_reads", groups({G::X, G::Y, G::Alias, G::Scale, G::Captured, G::GradMode}), host_reads},
    {"created", groups({G::X, G::Alias, G::Scale, G::Ratio, G::Number, G::Switch, G::GradMode, G::DefaultDtype}), created},
    {"gradients", groups({G::X, G::Y, G::Alias, G::Flag, G::Switch, G::Scale, G::Captured, G::Parameter, G::GradMode}), gradients},
    {"module_state", groups({G::X, G::Alias, G::Parameter, G::Buffer, G::Submodule, G::Training, G::GradMode}), module_state},
    {"module_members", groups({G::X, G::Alias, G::Parameter, G::Submodule, G::Member, G::Training, G::GradMode}), module_members},
    {"layers", groups({G::X, G::Alias, G::Scale, G::Parameter, G::Buffer, G::Training, G::GradMode}), layers, false},
    {"products", groups({G::X, G::Y, G::Alias, G::Flag, G::Ratio, G::Captured, G::GradMode}), products, false},
    {"indices", groups({G::X, G::Y, G::Alias, G::Alpha, G::Integer, G::GradMode}), indices},
    {"survivors", groups({G::X, G::Y, G::Alias, G::Scale, G::Flag, G::Switch, G::Times, G::Captured, G::GradMode}), survivors},
    {"errors", groups({G::X, G::Y, G::Alias, G::Flag, G::Times, G::Captured, G::Fail, G::GradMode}), errors},
    {"pure_arguments",
     groups({G::X, G::Y, G::Alias, G::Scale, G::Alpha, G::Times, G::Style, G::Text, G::Bias, G::Extra, G::Weights, G::GradMode}),
     pure_arguments, true, true},
    {"pure_module", groups({G::X, G::Y, G::Alias, G::Parameter, G::Buffer, G::Submodule, G::Training, G::GradMode, G::DefaultDtype}),
     pure_module, true, true},
    {"pure_writes", groups({G::X, G::Y, G::Alias, G::Flag, G::Buffer, G::GradMode}), pure_writes, true, true},
    {"pure_sizes", groups({G::X, G::Y, G::Alias, G::Scale, G::GradMode, G::DefaultDtype}), pure_sizes, true, true},
    {"pure_mixed_sizes", groups({G::X, G::Y, G::Alias, G::Scale, G::GradMode, G::DefaultDtype}), pure_mixed_sizes, true, true},
    {"pure_layers", groups({G::X, G::Alias, G::Parameter, G::Buffer, G::Training, G::GradMode}), pure_layers, false, true},
};

}  // namespace

std::span<const Subject> subjects() { return kSubjects; }

Groups promised() { return ~groups({G::Captured, G::Number, G::Integer, G::Switch, G::Global, G::Behaviour, G::Member, G::Fail}); }

}  // namespace tailor::mutation
