#include "kernels/pointwise/convert_loops.h"
