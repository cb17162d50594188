#include "compile/mutation/world.h"

#include <limits>

namespace tailor::mutation {

double global_number = 1;

namespace {

struct Times final : Behaviour {
  double number;
  explicit Times(double n) : number(n) {}
  Tensor apply(const Tensor& x) const override { return x * number; }
};
struct Curve final : Behaviour {
  double number;
  explicit Curve(double n) : number(n) {}
  Tensor apply(const Tensor& x) const override { return (x * 0.25).tanh() + number; }
};
struct Nothing final : Behaviour {
  Tensor apply(const Tensor& x) const override { return x; }
};

}  // namespace

std::shared_ptr<Behaviour> make_behaviour(int which, double number) {
  switch (which) {
    case 0: return std::make_shared<Times>(number);
    case 1: return std::make_shared<Curve>(number);
    default: return std::make_shared<Nothing>();
  }
}

NetImpl::NetImpl() {
  gain = register_parameter("gain", ones({4}));
  steps = register_buffer("steps", zeros({1}));
  fc = register_module("fc", nn::Linear(4, 4));
  norm = register_module("norm", nn::BatchNorm1d(nn::BatchNormOptions(4).eps(0.1)));  // rounding is not blown up
  left = register_module("left", Child(2.0));
  right = register_module("right", Child(-1.0));
  NoGradGuard no_grad;
  fc->weight.copy_((arange(16).to(kFloat32).view({4, 4}) - 7) / 8);
  fc->bias.fill_(0.25);
}

World::World() : memory(64, 0.5f) {
  x = arange(12).to(kFloat32).view({3, 4}) - 5;
  y = ones({3, 4});
  captured = full({4}, 0.75);
  behaviour = make_behaviour(0, 2);
  function = [](double v) { return v + 1; };
  args.both = {full({4}, 1.5), full({4}, -1.5)};
  args.pair = {full({4}, 0.5), 2};
  args.inner.t = full({4}, 0.125);
}

std::vector<std::pair<std::string, Tensor>> World::state() const {
  std::vector<std::pair<std::string, Tensor>> all;
  all.reserve(64);  // growing would move handles of parameters, which counts as a change
  for (const auto& [name, tensor] : {std::pair<const char*, const Tensor&>{"x", x}, {"y", y}, {"captured", captured}, {"gain", net->gain}})
    all.emplace_back(name, tensor);
  for (const auto& item : net->named_parameters()) all.emplace_back(item.key(), item.value());
  for (const auto& item : net->named_buffers()) all.emplace_back(item.key(), item.value());
  if (!kept.empty()) all.emplace_back("kept", kept.back());
  if (!args.extra.empty()) all.emplace_back("extra", args.extra[0]);
  return all;
}

Entered::Entered(const World& world)
    : default_dtype_(get_default_dtype()), deterministic_(deterministic_algorithms()), stance_(world.stance) {
  global_number = world.global;
  if (world.default_dtype != default_dtype_) set_default_dtype(world.default_dtype);
  if (world.deterministic != deterministic_) set_deterministic_algorithms(world.deterministic);
  if (world.threads != get_num_threads()) set_num_threads(world.threads);
  if (world.inference) inference_.emplace();
  if (world.no_grad) grad_.emplace(false);
  manual_seed(7);
}

Entered::~Entered() {
  grad_.reset();
  inference_.reset();
  set_default_dtype(default_dtype_);
  set_deterministic_algorithms(deterministic_);
}

double Random::number() {
  constexpr double list[] = {
      0.5, 1, -1, 2, 0.0, -0.0, 3.25, 1e-3, -7.5, 1e30, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
  return list[pick(pick(4) == 0 ? 12 : 9)];
}

ScalarType Random::dtype() {
  constexpr ScalarType list[] = {kFloat32, kFloat64, kBFloat16, kHalf, kInt32, kInt64, kInt16, kBool};
  return list[pick(8)];
}

Tensor Random::matrix(int64_t rows, ScalarType type) {
  const double times = number();
  Tensor values = ((arange(rows * 4).to(kFloat32) - 5) * times);
  if (type != kFloat32) values = values.nan_to_num(0, 9, -9).clamp(-100, 100).to(type);
  switch (rows > 0 ? pick(6) : 5) {
    case 0: return values.view({rows, 4}).t().contiguous().t();                   // column-major
    case 1: return cat({values, values}).narrow(0, 4, rows * 4).view({rows, 4});  // at an offset
    case 2: {                                                                     // rows further apart
      Tensor wide = zeros({rows, 7}, TensorOptions(type));
      Tensor part = wide.narrow(1, 2, 4);
      part.copy_(values.view({rows, 4}));
      return part;
    }
    case 3: return values.narrow(0, 0, 4).view({1, 4}).expand({rows, 4});  // one row, many times
    default: return values.view({rows, 4});
  }
}

}  // namespace tailor::mutation
