#pragma once
// All free functions, by family.

#include "tailor/ops/contraction.h"
#include "tailor/ops/creation.h"
#include "tailor/ops/indexing.h"
#include "tailor/ops/nn.h"
#include "tailor/ops/pointwise.h"
#include "tailor/ops/reduction.h"
#include "tailor/ops/view.h"
