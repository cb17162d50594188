#pragma once
// The log's channels: set_logs("guards,recompiles"), as the variable TAILOR_LOGS; set_log_sink(), set_warning_sink().

#include "runtime/log.h"
