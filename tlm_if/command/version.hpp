// SPDX-License-Identifier: Apache-2.0
#pragma once

// The version of KernBench, and the one place that has it: CMake's project takes it from here.
#define KERNBENCH_VERSION_MAJOR 0
#define KERNBENCH_VERSION_MINOR 1
#define KERNBENCH_VERSION_PATCH 0

#define KERNBENCH_QUOTED(text) #text
#define KERNBENCH_VALUE_QUOTED(macro) KERNBENCH_QUOTED(macro)
/// "major.minor.patch"
#define KERNBENCH_VERSION                                                         \
  KERNBENCH_VALUE_QUOTED(KERNBENCH_VERSION_MAJOR)                                 \
  "." KERNBENCH_VALUE_QUOTED(KERNBENCH_VERSION_MINOR) "." KERNBENCH_VALUE_QUOTED( \
      KERNBENCH_VERSION_PATCH)
