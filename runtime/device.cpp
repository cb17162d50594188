#include "runtime/device.h"

#include <charconv>

namespace tailor {

Device::Device(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string type = text.substr(0, colon);
  if (type == "cpu") {
    type_ = kCPU;
  } else if (type == "cuda") {
    type_ = kCUDA;
  } else {
    detail::raise("Device: expected \"cpu\", \"cuda\" or \"cuda:INDEX\", got \"", text, "\"");
  }
  if (colon == std::string::npos) return;
  const char *first = text.data() + colon + 1, *last = text.data() + text.size();
  int index = -1;
  const auto [end, error] = std::from_chars(first, last, index);
  check(first != last && error == std::errc() && end == last && index >= 0 && index < 128 && !(last - first > 1 && *first == '0'),
        "Device: invalid index in \"", text, "\"");
  check(type_ != kCPU || index == 0, "Device: the CPU's index must be 0 or absent, got \"", text, "\"");
  index_ = static_cast<int8_t>(index);
}

std::string Device::str() const {
  std::string text = is_cpu() ? "cpu" : "cuda";
  if (has_index()) text += ":" + std::to_string(index_);
  return text;
}

}  // namespace tailor
