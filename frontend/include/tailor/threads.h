#pragma once
// The number of threads that ops use: get_num_threads(), set_num_threads(n).

#include "runtime/thread_pool.h"
