#pragma once
// Where a tensor lives.

#include <cstdint>
#include <ostream>
#include <string>

#include "runtime/error.h"

namespace tailor {

enum class DeviceType : int8_t { CPU, CUDA };
inline constexpr DeviceType kCPU = DeviceType::CPU;
inline constexpr DeviceType kCUDA = DeviceType::CUDA;

/// `Device(kCPU)`, `Device(kCUDA, 1)`, `Device("cuda:1")`. Throws Error for text that is no device.
class Device {
 public:
  constexpr Device() = default;
  constexpr Device(DeviceType type, int8_t index = -1) : type_(type), index_(index) {}
  Device(const std::string& text);
  Device(const char* text) : Device(std::string(text)) {}
  constexpr DeviceType type() const { return type_; }
  constexpr int8_t index() const { return index_; }
  constexpr bool is_cpu() const { return type_ == kCPU; }
  constexpr bool is_cuda() const { return type_ == kCUDA; }
  constexpr bool has_index() const { return index_ >= 0; }
  std::string str() const;
  friend constexpr bool operator==(const Device&, const Device&) = default;

 private:
  DeviceType type_ = kCPU;
  int8_t index_ = -1;
};
inline std::ostream& operator<<(std::ostream& out, const Device& d) { return out << d.str(); }

}  // namespace tailor
