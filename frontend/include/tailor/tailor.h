#pragma once
// Everything: tensors, ops, modules, files, compile.

#include "tailor/artifact_cache.h"
#include "tailor/bucketed.h"
#include "tailor/compile.h"
#include "tailor/cuda.h"
#include "tailor/dynamic.h"
#include "tailor/fence.h"
#include "tailor/indexing.h"
#include "tailor/io.h"
#include "tailor/log.h"
#include "tailor/nn.h"
#include "tailor/ops.h"
#include "tailor/sym_int.h"
#include "tailor/tensor.h"
#include "tailor/threads.h"
#include "tailor/watched.h"
