#pragma once
// What a function under test can see: arguments of every kind, captured and global state, a module, modes. Two worlds are mutated alike;
// eager code runs in one, compiled code in the other.

#include <tailor/tailor.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace tailor::mutation {

enum class Style : uint8_t { Plain, Negated, Doubled };

struct Inner {
  Tensor t;
  double k = 1;
  std::vector<double> ks;
};

/// The last argument; the two before it are tensors.
struct Args {
  double scale = 1;
  float ratio = 1;
  int64_t times = 1;
  bool flag = false;
  Scalar alpha = 1;
  Style style = Style::Plain;
  std::string text = "plain";
  std::optional<Tensor> bias;
  std::optional<double> eps;
  std::vector<Tensor> extra;
  std::map<std::string, double> weights;
  std::map<int64_t, Tensor> table;
  std::variant<int64_t, double, Tensor, std::string> choice = int64_t{1};
  std::array<Tensor, 2> both;
  std::tuple<Tensor, int64_t> pair;
  Inner inner;
  TAILOR_FIELDS(Args, scale, ratio, times, flag, alpha, style, text, bias, eps, extra, weights, table, choice, both, pair, inner)
};

struct ChildImpl : nn::Module {
  Tensor w, b;
  double plain = 0.5;
  explicit ChildImpl(double value) {
    w = register_parameter("w", full({4}, value));
    b = register_buffer("b", full({4}, value / 2));
  }
  Tensor forward(const Tensor& x) { return x * w + b; }
};
TAILOR_MODULE(Child);

struct NetImpl : nn::Module {
  Tensor gain, steps;
  double slope = 0.5;
  nn::Linear fc{nullptr};
  nn::BatchNorm1d norm{nullptr};
  Child left{nullptr}, right{nullptr};
  std::shared_ptr<ChildImpl> plain_left = std::make_shared<ChildImpl>(3), plain_right = std::make_shared<ChildImpl>(-3);  // not registered
  NetImpl();
};
TAILOR_MODULE(Net);

/// Something the body calls through a base class.
struct Behaviour {
  virtual ~Behaviour() = default;
  virtual Tensor apply(const Tensor& x) const = 0;
};
std::shared_ptr<Behaviour> make_behaviour(int which, double number);

/// A pointer that host code got hold of earlier.
struct RawPointer {
  Tensor owner;
  float* data = nullptr;
  int64_t count = 0;
};

struct World {
  World();
  Tensor x, y;
  Args args;
  // captured
  Tensor captured;
  double number = 2;
  int64_t integer = 1;
  bool flag = false;
  std::shared_ptr<Behaviour> behaviour;
  double (*function)(double) = nullptr;
  Net net;
  std::vector<float> memory;  // that from_blob tensors look at
  // global: set before each run in this world
  double global = 1;
  // modes of the call
  bool no_grad = true, inference = false;
  ScalarType default_dtype = kFloat32;
  bool deterministic = false;
  int threads = 1;
  Stance stance = Stance::Default;
  // what the body does beside computing
  bool fail = false;
  std::vector<Tensor> kept;
  std::map<std::string, RawPointer> raw;

  /// All tensors whose values a call may change, by name.
  std::vector<std::pair<std::string, Tensor>> state() const;
};

/// A global that bodies read.
extern double global_number;

/// The world's modes and globals for one call.
class Entered {
 public:
  explicit Entered(const World& world);
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  ~Entered();

 private:
  ScalarType default_dtype_;
  bool deterministic_;
  std::optional<InferenceMode> inference_;
  std::optional<AutoGradMode> grad_;
  StanceScope stance_;
};

using Results = std::vector<Tensor>;
using Body = Results (*)(World&, const Tensor& x, const Tensor& y, const Args& args);

/// Small random numbers, the same on every platform.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  int pick(int n) { return static_cast<int>(next() % static_cast<uint64_t>(n)); }
  bool coin() { return pick(2) == 1; }
  double number();
  ScalarType dtype();
  /// A tensor of the given rows and 4 columns, values and layout at random.
  Tensor matrix(int64_t rows, ScalarType type = kFloat32);
  Tensor row() { return full({4}, number()); }

 private:
  uint64_t state_;
};

}  // namespace tailor::mutation
