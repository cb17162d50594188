#pragma once
// Modules, their functional forms, and initialisation.

#include "tailor/nn/activations.h"
#include "tailor/nn/container.h"
#include "tailor/nn/functional.h"
#include "tailor/nn/init.h"
#include "tailor/nn/layers.h"
#include "tailor/nn/losses.h"
