#pragma once
// Whether a value is what the case says, within its tolerance.

#include "conform/case_file.h"

namespace tailor::conform {

struct Tolerance {
  bool exact = true, zero_sign = true;
  double atol = 0, rtol = 0;
  static Tolerance of(const Json& json);
};

/// Empty when equal; else what differs, with the first element that does.
std::string difference(const Value& got, const Value& want, const Tolerance& tolerance);
std::string difference(const Tensor& got, const Tensor& want, const Tolerance& tolerance);

}  // namespace tailor::conform
