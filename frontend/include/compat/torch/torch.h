#pragma once
// For programs written against libtorch: put this directory on the include path, and `#include <torch/torch.h>` finds Tailor.

// What libtorch's own headers bring along, and programs have come to rely on.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <tailor/tailor.h>

namespace torch = tailor;
namespace at = tailor;

namespace c10 {
using std::nullopt;
using std::optional;
using tailor::ArrayRef;
using tailor::Device;
using tailor::DeviceType;
using tailor::Error;
using tailor::IndexError;
using tailor::InferenceMode;
using tailor::IntArrayRef;
using tailor::NotImplementedError;
using tailor::OptionalIntArrayRef;
using tailor::Scalar;
using tailor::ScalarType;
using tailor::SymInt;
using tailor::SymIntArrayRef;
using tailor::TensorOptions;
}  // namespace c10

/// Throws torch::Error with the message unless the condition holds.
#define TORCH_CHECK(condition, ...) ::tailor::check(static_cast<bool>(condition), "" __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_MODULE(Name) TAILOR_MODULE(Name)
#define TORCH_MODULE_IMPL(Name, ImplType)                     \
  class Name : public ::tailor::nn::ModuleHolder<ImplType> {  \
   public:                                                    \
    using ::tailor::nn::ModuleHolder<ImplType>::ModuleHolder; \
    using Impl = ImplType;                                    \
  }
#define TORCH_ARG(T, name) TAILOR_ARG(T, name)
