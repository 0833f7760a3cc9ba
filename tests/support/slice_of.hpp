// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/arch/stage.hpp"
#include "tlm_if/command/tensor_handle.hpp"

namespace kernbench::test {

/// All of a tensor.
inline arch::Slice slice_of(const command::TensorHandle& handle,
                            command::OperandName name = command::OperandName::src) {
  return {name,
          handle.dtype,
          handle.addr,
          handle.shape.rows(),
          handle.shape.cols(),
          handle.row_stride,
          handle.col_stride};
}

}  // namespace kernbench::test
