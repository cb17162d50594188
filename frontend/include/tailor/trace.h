#pragma once
// Spans of what the library does, for Chrome's and Perfetto's viewers: start_trace(), save_trace("run.json"); TAILOR_TRACE=run.json.

#include "runtime/trace.h"
