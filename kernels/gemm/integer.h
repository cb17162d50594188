#pragma once
#include "kernels/gemm/gemm.h"

namespace tailor::kernels::gemm {

/// Products of integer matrices: sums wrap in the type itself. alpha and beta are integers.
void run_integer(const Problem& problem);

}  // namespace tailor::kernels::gemm
