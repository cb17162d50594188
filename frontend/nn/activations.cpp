#include "tailor/nn/activations.h"

#include <ostream>

#include "tailor/nn/functional.h"
#include "tailor/ops/creation.h"

namespace tailor::nn {
namespace {

namespace F = functional;

const char* inplace_only(bool inplace) { return inplace ? "inplace=true" : ""; }
const char* and_inplace(bool inplace) { return inplace ? ", inplace=true" : ""; }

}  // namespace

#define PRINT(Name)                                        \
  void Name##Impl::pretty_print(std::ostream& out) const { \
    out << "torch::nn::" #Name "("
PRINT(ReLU) << inplace_only(options.inplace()) << ")";
}
PRINT(ReLU6) << inplace_only(options.inplace()) << ")";
}
PRINT(SELU) << inplace_only(options.inplace()) << ")";
}
PRINT(LeakyReLU) << "negative_slope=" << options.negative_slope() << and_inplace(options.inplace()) << ")";
}
PRINT(ELU) << "alpha=" << options.alpha() << and_inplace(options.inplace()) << ")";
}
PRINT(CELU) << "alpha=" << options.alpha() << and_inplace(options.inplace()) << ")";
}
PRINT(GELU) << ")";
}
PRINT(Hardtanh) << "min_val=" << options.min_val() << ", max_val=" << options.max_val() << and_inplace(options.inplace()) << ")";
}
PRINT(Softplus) << "beta=" << options.beta() << ", threshold=" << options.threshold() << ")";
}
PRINT(Threshold) << "threshold=" << options.threshold() << ", value=" << options.value() << and_inplace(options.inplace()) << ")";
}
PRINT(Softmax) << "dim=" << options.dim() << ")";
}
PRINT(LogSoftmax) << "dim=" << options.dim() << ")";
}
PRINT(PReLU) << "num_parameters=" << options.num_parameters() << ")";
}
PRINT(Dropout) << "p=" << options.p() << ", inplace=" << (options.inplace() ? "true" : "false") << ")";
}
PRINT(Dropout2d) << "p=" << options.p() << ", inplace=" << (options.inplace() ? "true" : "false") << ")";
}
PRINT(Sigmoid) << ")";
}
PRINT(Tanh) << ")";
}
PRINT(SiLU) << ")";
}
PRINT(Mish) << ")";
}
PRINT(Softsign) << ")";
}
PRINT(LogSigmoid) << ")";
}
PRINT(Hardsigmoid) << ")";
}
PRINT(Hardswish) << ")";
}
#undef PRINT

Tensor ReLUImpl::forward(const Tensor& x, Where where) { return F::relu(x, options, where); }
Tensor ReLU6Impl::forward(const Tensor& x, Where where) { return F::relu6(x, options, where); }
Tensor SELUImpl::forward(const Tensor& x, Where where) { return F::selu(x, options, where); }
Tensor LeakyReLUImpl::forward(const Tensor& x, Where where) { return F::leaky_relu(x, options, where); }
Tensor ELUImpl::forward(const Tensor& x, Where where) { return F::elu(x, options, where); }
Tensor CELUImpl::forward(const Tensor& x, Where where) { return F::celu(x, options, where); }
Tensor GELUImpl::forward(const Tensor& x, Where where) { return F::gelu(x, options, where); }
Tensor HardtanhImpl::forward(const Tensor& x, Where where) { return F::hardtanh(x, options, where); }
Tensor SoftplusImpl::forward(const Tensor& x, Where where) { return F::softplus(x, options, where); }
Tensor ThresholdImpl::forward(const Tensor& x, Where where) { return F::threshold(x, options, where); }
Tensor SoftmaxImpl::forward(const Tensor& x, Where where) { return softmax(x, options.dim(), std::nullopt, where); }
Tensor LogSoftmaxImpl::forward(const Tensor& x, Where where) { return log_softmax(x, options.dim(), std::nullopt, where); }
Tensor SigmoidImpl::forward(const Tensor& x, Where where) { return sigmoid(x, where); }
Tensor TanhImpl::forward(const Tensor& x, Where where) { return tanh(x, where); }
Tensor SiLUImpl::forward(const Tensor& x, Where where) { return silu(x, where); }
Tensor MishImpl::forward(const Tensor& x, Where where) { return mish(x, where); }
Tensor SoftsignImpl::forward(const Tensor& x, Where where) { return softsign(x, where); }
Tensor LogSigmoidImpl::forward(const Tensor& x, Where where) { return logsigmoid(x, where); }
Tensor HardsigmoidImpl::forward(const Tensor& x, Where where) { return hardsigmoid(x, where); }
Tensor HardswishImpl::forward(const Tensor& x, Where where) { return hardswish(x, where); }

void PReLUImpl::reset() { weight = register_parameter("weight", full({options.num_parameters()}, options.init())); }
Tensor PReLUImpl::forward(const Tensor& x, Where where) { return prelu(x, weight, where); }

Tensor DropoutImpl::forward(const Tensor& x, Where where) {
  return F::dropout(x, F::DropoutFuncOptions().p(options.p()).training(is_training()).inplace(options.inplace()), where);
}
Tensor Dropout2dImpl::forward(const Tensor& x, Where where) {
  return F::dropout2d(x, F::DropoutFuncOptions().p(options.p()).training(is_training()).inplace(options.inplace()), where);
}

}  // namespace tailor::nn
