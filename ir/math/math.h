#pragma once
// Every function of ir/math; see the README beside it.

#include "ir/math/division.h"
#include "ir/math/error.h"
#include "ir/math/exp.h"
#include "ir/math/gamma.h"
#include "ir/math/hyperbolic.h"
#include "ir/math/inverse_trig.h"
#include "ir/math/log.h"
#include "ir/math/power.h"
#include "ir/math/trig.h"
