// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tlm_if/command/error.hpp"

namespace kernbench::test {

/// The line of the InputError that `call` throws; empty if it throws none.
template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

}  // namespace kernbench::test
