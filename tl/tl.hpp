// SPDX-License-Identifier: Apache-2.0
#pragma once

// All that a kernel needs: `tl::Context`, `tl::Tensor`, the builders and the epilogue ops.

#include "tl/builder.hpp"  // IWYU pragma: export
#include "tl/context.hpp"  // IWYU pragma: export
#include "tl/recipes.hpp"  // IWYU pragma: export
#include "tl/target.hpp"   // IWYU pragma: export
#include "tl/tensor.hpp"   // IWYU pragma: export
