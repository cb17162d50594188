#pragma once
// How a tensor shall be made: dtype, device, requires_grad. libtorch's TensorOptions.
//
//   auto x = zeros({2, 3}, kFloat64);
//   auto y = zeros({2, 3}, TensorOptions().dtype(kInt64).device(kCPU));
//   auto z = zeros({2, 3}, requires_grad());

#include <optional>

#include "runtime/ambient.h"
#include "runtime/device.h"
#include "runtime/dtype.h"

namespace tailor {

/// The order of a tensor's memory in general terms; only strided tensors exist.
enum class Layout : int8_t { Strided };
inline constexpr Layout kStrided = Layout::Strided;

/// What a copy keeps of its source's strides.
enum class MemoryFormat : int8_t { Contiguous, Preserve };

class TensorOptions {
 public:
  constexpr TensorOptions() = default;
  constexpr TensorOptions(ScalarType dtype) : dtype_(dtype) {}
  constexpr TensorOptions(Device device) : device_(device) {}
  constexpr TensorOptions(DeviceType type) : device_(Device(type)) {}
  constexpr TensorOptions(Layout) {}

  [[nodiscard]] constexpr TensorOptions dtype(std::optional<ScalarType> dtype) const {
    TensorOptions r = *this;
    r.dtype_ = dtype;
    return r;
  }
  [[nodiscard]] constexpr TensorOptions device(std::optional<Device> device) const {
    TensorOptions r = *this;
    r.device_ = device;
    return r;
  }
  [[nodiscard]] constexpr TensorOptions device(DeviceType type, int8_t index = -1) const { return device(Device(type, index)); }
  [[nodiscard]] constexpr TensorOptions requires_grad(bool on) const {
    TensorOptions r = *this;
    r.requires_grad_ = on;
    return r;
  }
  [[nodiscard]] constexpr TensorOptions layout(Layout) const { return *this; }
  [[nodiscard]] constexpr TensorOptions memory_format(MemoryFormat) const { return *this; }
  /// Accepted and ignored: there is no pinned memory.
  [[nodiscard]] constexpr TensorOptions pinned_memory(bool) const { return *this; }

  /// The dtype, or the default one.
  ScalarType dtype() const { return dtype_.value_or(get_default_dtype()); }
  constexpr std::optional<ScalarType> dtype_opt() const { return dtype_; }
  constexpr Device device() const { return device_.value_or(Device()); }
  constexpr std::optional<Device> device_opt() const { return device_; }
  constexpr bool requires_grad() const { return requires_grad_; }
  constexpr Layout layout() const { return kStrided; }
  constexpr bool has_dtype() const { return dtype_.has_value(); }
  constexpr bool has_device() const { return device_.has_value(); }

 private:
  std::optional<ScalarType> dtype_;
  std::optional<Device> device_;
  bool requires_grad_ = false;
};

inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
inline TensorOptions device(Device where) { return TensorOptions(where); }
inline TensorOptions layout(Layout) { return TensorOptions(); }
inline TensorOptions requires_grad(bool on = true) { return TensorOptions().requires_grad(on); }

}  // namespace tailor
