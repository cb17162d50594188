#include "compile/mutation/fact.h"

namespace tailor::mutation {
namespace {

using R = Random;
using W = World;

int64_t rows(R& r) { return 1 + r.pick(4); }

/// The same values in another layout.
Tensor laid_out_anew(const Tensor& t, R& r) {
  if (t.dim() != 2) return t.clone();
  switch (r.pick(3)) {
    case 0: return t.detach().t().contiguous().t();
    case 1: return cat({t.detach(), t.detach()}).narrow(0, 0, t.size(0)).clone();
    default: {
      const Tensor twice = cat({t.detach(), t.detach()});
      return twice.narrow(0, t.size(0), t.size(0));  // at an offset
    }
  }
}

/// Changes what the handle's tensor is, not the handle.
void describe_anew(const Tensor& t, R& r) {
  if (t.requires_grad() || t.dim() != 2 || t.numel() < 4) return;
  switch (r.pick(3)) {
    case 0: t.as_strided_({1, 4}, {4, 1}, t.storage_offset()); break;
    case 1: t.set_data(t.detach().clone()); break;
    default: t.set_data(full(t.sizes(), 0.5).to(t.scalar_type())); break;
  }
}

void fill(const Tensor& t, R& r) {
  NoGradGuard no_grad;
  const double value = r.number();
  const bool spread = t.dim() > 0 && (t.stride(-1) == 0 || t.stride(0) == 0);  // one place shown many times may not be written
  if (!spread) t.detach().fill_(t.is_floating_point() ? value : 3.0);
}

Tensor floats(const Tensor& t) { return t.is_floating_point() ? t : t.to(kFloat32); }

void write_through(W& w, const std::string& name, const Tensor& t, R& r) {
  RawPointer& raw = w.raw[name];
  const double value = r.number();
  if (raw.data == nullptr || r.pick(4) == 0) {
    if (!t.defined() || t.scalar_type() != kFloat32 || !t.is_contiguous() || t.numel() == 0) return;
    const Tensor memory = t.detach();  // stays when the handle is given other data
    raw = {memory, memory.data_ptr<float>(), memory.numel()};
  }
  raw.data[r.pick(static_cast<int>(raw.count))] = static_cast<float>(value);
}

constexpr Fact kFacts[] = {
    // ---- the tensors ---------------------------------------------------------------------------------------------------
    {"x is another tensor", Group::X, [](W& w, R& r) { w.x = r.matrix(rows(r), r.pick(3) ? kFloat32 : r.dtype()); }},
    {"x has other values", Group::X, [](W& w, R& r) { fill(w.x, r); }},
    {"x has another dtype", Group::X, [](W& w, R& r) { w.x = w.x.detach().nan_to_num(0, 9, -9).clamp(-99, 99).to(r.dtype()); }},
    {"x has other strides", Group::X, [](W& w, R& r) { w.x = laid_out_anew(w.x, r); }},
    {"x requires gradients or not", Group::X, [](W& w, R& r) { w.x = floats(w.x).detach().clone().requires_grad_(r.coin()); }},
    {"x is described anew", Group::X, [](W& w, R& r) { describe_anew(w.x, r); }},
    {"x has no elements", Group::X, [](W& w, R&) { w.x = w.x.detach().narrow(0, 0, 0); }},
    {"x has one dim more or less", Group::X, [](W& w, R& r) { w.x = r.coin() ? r.matrix(2).unsqueeze(0) : r.matrix(1).clone().view({4}); }},
    {"x is undefined", Group::X, [](W& w, R&) { w.x = Tensor(); w.x = ones({2, 4}); }},
    {"a write to x through an earlier pointer", Group::X, [](W& w, R& r) { write_through(w, "x", w.x, r); }},
    {"y is another tensor", Group::Y, [](W& w, R& r) { w.y = r.matrix(r.coin() ? w.x.size(0) : 1, r.pick(3) ? kFloat32 : r.dtype()); }},
    {"y has other values", Group::Y, [](W& w, R& r) { fill(w.y, r); }},
    {"y has another dtype", Group::Y, [](W& w, R& r) { w.y = w.y.detach().nan_to_num(0, 9, -9).clamp(-99, 99).to(r.dtype()); }},
    {"y has other strides", Group::Y, [](W& w, R& r) { w.y = laid_out_anew(w.y, r); }},
    {"y requires gradients or not", Group::Y, [](W& w, R& r) { w.y = floats(w.y).detach().clone().requires_grad_(r.coin()); }},
    {"y is described anew", Group::Y, [](W& w, R& r) { describe_anew(w.y, r); }},
    // ---- whose memory --------------------------------------------------------------------------------------------------
    {"y is x", Group::Alias, [](W& w, R&) { w.y = w.x; }},
    {"y is a view of x", Group::Alias, [](W& w, R&) { w.y = w.x.detach(); }},
    {"y overlaps x in part", Group::Alias,
     [](W& w, R& r) {
       const Tensor base = r.matrix(5).contiguous();
       w.x = base.narrow(0, 0, 3);
       w.y = base.narrow(0, r.pick(3), 3);
     }},
    {"x and y are two tensors over one memory from outside", Group::Alias,
     [](W& w, R& r) {
       w.x = from_blob(w.memory.data(), {3, 4}, kFloat32);
       w.y = from_blob(w.memory.data() + 4 * r.pick(4), {3, 4}, kFloat32);
     }},
    {"x is a view of the captured tensor", Group::Alias,
     [](W& w, R& r) {
       w.captured = r.matrix(3).contiguous();
       w.x = w.captured.narrow(0, r.pick(2), 2);
     }},
    {"x is of its own again", Group::Alias, [](W& w, R& r) { w.x = w.x.detach().clone(), w.y = r.matrix(w.x.dim() ? w.x.size(0) : 1); }},
    // ---- numbers and containers among the arguments ----------------------------------------------------------------------
    {"scale", Group::Scale, [](W& w, R& r) { w.args.scale = r.number(); }},
    {"ratio", Group::Ratio, [](W& w, R& r) { w.args.ratio = static_cast<float>(r.number()); }},
    {"alpha", Group::Alpha,
     [](W& w, R& r) {
       switch (r.pick(3)) {
         case 0: w.args.alpha = Scalar(r.number()); break;
         case 1: w.args.alpha = Scalar(int64_t{r.pick(5)} - 2); break;
         default: w.args.alpha = Scalar(r.coin());
       }
     }},
    {"times", Group::Times, [](W& w, R& r) { w.args.times = r.pick(4); }},
    {"flag", Group::Flag, [](W& w, R& r) { w.args.flag = r.coin(); }},
    {"style", Group::Style, [](W& w, R& r) { w.args.style = static_cast<Style>(r.pick(3)); }},
    {"text", Group::Text, [](W& w, R& r) { w.args.text = r.coin() ? "plain" : r.coin() ? "a text of more than eight bytes" : ""; }},
    {"bias comes, goes, differs", Group::Bias, [](W& w, R& r) { w.args.bias = r.coin() ? std::optional(r.row()) : std::nullopt; }},
    {"bias has other values", Group::Bias, [](W& w, R& r) { if (w.args.bias) fill(*w.args.bias, r); }},
    {"eps comes, goes, differs", Group::Eps, [](W& w, R& r) { w.args.eps = r.coin() ? std::optional(r.number()) : std::nullopt; }},
    {"extra has another length", Group::Extra, [](W& w, R& r) { w.args.extra.resize(static_cast<size_t>(r.pick(3)), ones({4})); }},
    {"an element of extra differs", Group::Extra, [](W& w, R& r) { if (!w.args.extra.empty()) w.args.extra.back() = r.row(); }},
    {"weights have other keys", Group::Weights, [](W& w, R& r) { r.coin() ? w.args.weights.clear() : void(w.args.weights["half"] = 0.5); }},
    {"a weight differs", Group::Weights, [](W& w, R& r) { for (auto& [key, weight] : w.args.weights) weight = r.number(); }},
    {"a weight comes", Group::Weights, [](W& w, R& r) { w.args.weights[r.coin() ? "whole" : "other"] = r.number(); }},
    {"table has other keys", Group::Table, [](W& w, R& r) { r.coin() ? w.args.table.clear() : void(w.args.table[r.pick(2)] = r.row()); }},
    {"a tensor of the table differs", Group::Table, [](W& w, R& r) { for (auto& [key, t] : w.args.table) t = r.row(); }},
    {"choice takes another alternative", Group::Choice,
     [](W& w, R& r) {
       switch (r.pick(4)) {
         case 0: w.args.choice = int64_t{r.pick(3)}; break;
         case 1: w.args.choice = r.number(); break;
         case 2: w.args.choice = r.row(); break;
         default: w.args.choice = std::string(r.coin() ? "one" : "two");
       }
     }},
    {"both are swapped", Group::Both, [](W& w, R&) { std::swap(w.args.both[0], w.args.both[1]); }},
    {"both are one", Group::Both, [](W& w, R&) { w.args.both[0] = w.args.both[1]; }},
    {"one of both differs", Group::Both, [](W& w, R& r) { w.args.both[0] = r.row(); }},
    {"the pair's number", Group::Pair, [](W& w, R& r) { std::get<1>(w.args.pair) = r.pick(4); }},
    {"the pair's tensor", Group::Pair, [](W& w, R& r) { std::get<0>(w.args.pair) = r.row().to(r.coin() ? kFloat32 : kFloat64); }},
    {"a nested number", Group::Inner, [](W& w, R& r) { w.args.inner.k = r.number(); }},
    {"a nested list's length", Group::Inner, [](W& w, R& r) { w.args.inner.ks.assign(static_cast<size_t>(r.pick(3)), 0.5); }},
    {"a nested list's number", Group::Inner, [](W& w, R& r) { if (!w.args.inner.ks.empty()) w.args.inner.ks[0] = r.number(); }},
    {"a nested tensor", Group::Inner, [](W& w, R& r) { w.args.inner.t = r.row(); }},
    // ---- what is captured ------------------------------------------------------------------------------------------------
    {"the captured tensor is another", Group::Captured, [](W& w, R& r) { w.captured = r.coin() ? r.row() : r.matrix(1); }},
    {"the captured tensor has other values", Group::Captured, [](W& w, R& r) { fill(w.captured, r); }},
    {"the captured tensor is described anew", Group::Captured, [](W& w, R& r) { describe_anew(w.captured, r); }},
    {"a write to the captured tensor through an earlier pointer", Group::Captured, [](W& w, R& r) { write_through(w, "c", w.captured, r); }},
    {"the captured number", Group::Number, [](W& w, R& r) { w.number = r.number(); }},
    {"the captured integer", Group::Integer, [](W& w, R& r) { w.integer = r.pick(4); }},
    {"the captured flag", Group::Switch, [](W& w, R& r) { w.flag = r.coin(); }},
    {"a global", Group::Global, [](W& w, R& r) { w.global = r.number(); }},
    {"another derived class", Group::Behaviour, [](W& w, R& r) { w.behaviour = make_behaviour(r.pick(3), r.number()); }},
    {"another function", Group::Behaviour,
     [](W& w, R& r) {
       constexpr double (*list[])(double) = {[](double v) { return v + 1; }, [](double v) { return v * 0.5; }, [](double) { return 4.0; }};
       w.function = list[r.pick(3)];
     }},
    // ---- modules ---------------------------------------------------------------------------------------------------------
    {"a parameter has other values", Group::Parameter, [](W& w, R& r) { fill(w.net->gain, r); }},
    {"a weight matrix has other values", Group::Parameter, [](W& w, R& r) { fill(w.net->fc->weight, r); }},
    {"a write to a weight through an earlier pointer", Group::Parameter, [](W& w, R& r) { write_through(w, "p", w.net->fc->weight, r); }},
    {"a parameter's handle is rebound", Group::Parameter, [](W& w, R& r) { w.net->gain = r.row(); }},
    {"a parameter's handle is rebound, the old tensor lives", Group::Parameter,
     [](W& w, R& r) {
       w.kept.push_back(w.net->gain);
       w.net->gain = r.row();
     }},
    {"a linear layer's bias is rebound", Group::Parameter, [](W& w, R& r) { w.net->fc->bias = r.row(); }},
    {"two parameters are swapped", Group::Parameter, [](W& w, R&) { std::swap(w.net->left->w, w.net->right->w); }},
    {"a parameter is moved from and put back", Group::Parameter,
     [](W& w, R& r) {
       Tensor old = std::move(w.net->gain);
       w.net->gain = r.coin() ? old : r.row();
     }},
    {"a parameter requires gradients or not", Group::Parameter, [](W& w, R& r) { w.net->gain.detach_().requires_grad_(r.coin()); }},
    {"copies of handles come and go", Group::Parameter,
     [](W& w, R&) {
       std::vector<Tensor> all;
       for (const Tensor& p : w.net->parameters()) all.push_back(p);
     }},
    {"a parameter's data is set", Group::Parameter, [](W& w, R& r) { w.net->gain.set_data(r.row()); }},
    {"a buffer has other values", Group::Buffer, [](W& w, R& r) { fill(w.net->left->b, r); }},
    {"a buffer's handle is rebound", Group::Buffer, [](W& w, R& r) { w.net->left->b = r.row(); }},
    {"running statistics have other values", Group::Buffer, [](W& w, R& r) { w.net->norm->running_mean.fill_(0.25 * r.pick(4)); }},
    {"two submodules are swapped", Group::Submodule, [](W& w, R&) { std::swap(w.net->left, w.net->right); }},
    {"a submodule is replaced", Group::Submodule,
     [](W& w, R& r) {
       const Child fresh(r.number());
       w.net->replace_module("left", fresh);
       w.net->left = fresh;
     }},
    {"a submodule is moved from and put back", Group::Submodule,
     [](W& w, R&) {
       Child old = std::move(w.net->left);
       w.net->left = std::move(w.net->right);
       w.net->right = std::move(old);
     }},
    {"a member that is not registered", Group::Member, [](W& w, R& r) { w.net->slope = r.number(); }},
    {"a number of a submodule", Group::Member, [](W& w, R& r) { w.net->left->plain = r.number(); }},
    {"modules that are not registered are swapped", Group::Member, [](W& w, R&) { std::swap(w.net->plain_left, w.net->plain_right); }},
    {"train or eval", Group::Training, [](W& w, R& r) { w.net->train(r.coin()); }},
    // ---- modes -----------------------------------------------------------------------------------------------------------
    {"grad mode", Group::GradMode, [](W& w, R& r) { w.no_grad = r.coin(); }},
    {"inference mode", Group::GradMode, [](W& w, R& r) { w.inference = r.coin(); }},
    {"default dtype", Group::DefaultDtype, [](W& w, R& r) { w.default_dtype = r.coin() ? kFloat32 : kFloat64; }},
    {"determinism", Group::Process, [](W& w, R& r) { w.deterministic = r.coin(); }},
    {"threads", Group::Process, [](W& w, R& r) { w.threads = 1 + r.pick(2); }},
    {"stance", Group::Process,
     [](W& w, R& r) { w.stance = r.pick(4) ? Stance::Default : r.coin() ? Stance::ForceEager : Stance::EagerOnRecompile; }},
    {"the body throws", Group::Fail, [](W& w, R& r) { w.fail = r.coin(); }},
};

constexpr std::string_view kGroupNames[] = {"x",       "y",        "alias",     "scale",         "ratio",     "alpha",    "times",
                                            "flag",    "style",    "text",      "bias",          "eps",       "extra",    "weights",
                                            "table",   "choice",   "both",      "pair",          "inner",     "captured", "number",
                                            "integer", "switch",   "global",    "behaviour",     "parameter", "buffer",   "submodule",
                                            "member",  "training", "grad mode", "default dtype", "process",   "fail"};
static_assert(std::size(kGroupNames) == kGroups);

}  // namespace

std::span<const Fact> facts() { return kFacts; }
std::string_view to_string(Group group) { return kGroupNames[static_cast<size_t>(group)]; }

}  // namespace tailor::mutation
