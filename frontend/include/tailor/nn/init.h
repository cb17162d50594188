#pragma once
// Initialisation in place, outside of gradient computation; each gives the tensor back. libtorch's torch::nn::init.
//
//   nn::init::xavier_uniform_(linear->weight);   nn::init::zeros_(linear->bias);

#include "tailor/nn/arg.h"
#include "tailor/tensor.h"

namespace tailor::nn::init {

using NonlinearityType = Keyword;
using FanModeType = Keyword;

/// What a layer's scale should be multiplied by for this nonlinearity (kReLU, kTanh, kLeakyReLU with slope `param` ...).
double calculate_gain(NonlinearityType nonlinearity, double param = 0.01);
/// Numbers of inputs and outputs of a weight [out, in, ...].
std::tuple<int64_t, int64_t> _calculate_fan_in_and_fan_out(const Tensor& tensor);

Tensor constant_(Tensor tensor, Scalar value);
Tensor ones_(Tensor tensor);
Tensor zeros_(Tensor tensor);
/// The identity matrix.
Tensor eye_(Tensor matrix);
Tensor normal_(Tensor tensor, double mean = 0, double std = 1);
Tensor uniform_(Tensor tensor, double low = 0, double high = 1);
/// Standard deviation gain(nonlinearity, a) / sqrt(fan): normal, or uniform with the same one.
Tensor kaiming_normal_(Tensor tensor, double a = 0, FanModeType mode = kFanIn, NonlinearityType nonlinearity = kLeakyReLU);
Tensor kaiming_uniform_(Tensor tensor, double a = 0, FanModeType mode = kFanIn, NonlinearityType nonlinearity = kLeakyReLU);
/// Standard deviation gain * sqrt(2 / (fan_in + fan_out)).
Tensor xavier_normal_(Tensor tensor, double gain = 1.0);
Tensor xavier_uniform_(Tensor tensor, double gain = 1.0);

}  // namespace tailor::nn::init
