#pragma once
// Activations and dropout as modules: [*] -> [*]. See ops/pointwise.h for what they compute. Dropout does nothing after eval().
//
//   nn::GELU act(nn::GELUOptions().approximate("tanh"));   Tensor y = act(x);

#include "tailor/nn/module.h"
#include "tailor/nn/options.h"

namespace tailor::nn {

/// An activation with options that may be left out.
#define TAILOR_ACTIVATION(Name, Options)                                   \
  class Name##Impl : public Cloneable<Name##Impl> {                        \
   public:                                                                 \
    explicit Name##Impl(const Options& options = {}) : options(options) {} \
    void reset() override {}                                               \
    void pretty_print(std::ostream& out) const override;                   \
    Tensor forward(const Tensor& input, Where where = Where::current());   \
    Options options;                                                       \
  };                                                                       \
  TAILOR_MODULE(Name)
TAILOR_ACTIVATION(ReLU, ReLUOptions);
TAILOR_ACTIVATION(ReLU6, ReLU6Options);
TAILOR_ACTIVATION(SELU, SELUOptions);
TAILOR_ACTIVATION(LeakyReLU, LeakyReLUOptions);
TAILOR_ACTIVATION(ELU, ELUOptions);
TAILOR_ACTIVATION(CELU, CELUOptions);
TAILOR_ACTIVATION(GELU, GELUOptions);
TAILOR_ACTIVATION(Hardtanh, HardtanhOptions);
TAILOR_ACTIVATION(Softplus, SoftplusOptions);
TAILOR_ACTIVATION(Dropout, DropoutOptions);
TAILOR_ACTIVATION(Dropout2d, Dropout2dOptions);
#undef TAILOR_ACTIVATION

/// An activation with options that must be given.
#define TAILOR_ACTIVATION(Name, Options)                                 \
  class Name##Impl : public Cloneable<Name##Impl> {                      \
   public:                                                               \
    explicit Name##Impl(const Options& options) : options(options) {}    \
    void reset() override {}                                             \
    void pretty_print(std::ostream& out) const override;                 \
    Tensor forward(const Tensor& input, Where where = Where::current()); \
    Options options;                                                     \
  };                                                                     \
  TAILOR_MODULE(Name)
TAILOR_ACTIVATION(Softmax, SoftmaxOptions);
TAILOR_ACTIVATION(LogSoftmax, LogSoftmaxOptions);
#undef TAILOR_ACTIVATION

class ThresholdImpl : public Cloneable<ThresholdImpl> {
 public:
  ThresholdImpl(double threshold, double value) : options(threshold, value) {}
  explicit ThresholdImpl(const ThresholdOptions& options) : options(options) {}
  void reset() override {}
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input, Where where = Where::current());
  ThresholdOptions options;
};
TAILOR_MODULE(Threshold);

/// An activation without options.
#define TAILOR_ACTIVATION(Name)                                          \
  class Name##Impl : public Cloneable<Name##Impl> {                      \
   public:                                                               \
    void reset() override {}                                             \
    void pretty_print(std::ostream& out) const override;                 \
    Tensor forward(const Tensor& input, Where where = Where::current()); \
  };                                                                     \
  TAILOR_MODULE(Name)
TAILOR_ACTIVATION(Sigmoid);
TAILOR_ACTIVATION(Tanh);
TAILOR_ACTIVATION(SiLU);
TAILOR_ACTIVATION(Mish);
TAILOR_ACTIVATION(Softsign);
TAILOR_ACTIVATION(LogSigmoid);
TAILOR_ACTIVATION(Hardsigmoid);
TAILOR_ACTIVATION(Hardswish);
#undef TAILOR_ACTIVATION

class PReLUImpl : public Cloneable<PReLUImpl> {
 public:
  explicit PReLUImpl(const PReLUOptions& options = {}) : options(options) { PReLUImpl::reset(); }
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input, Where where = Where::current());
  PReLUOptions options;
  Tensor weight;
};
TAILOR_MODULE(PReLU);

}  // namespace tailor::nn
