// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace kernbench {

/// Bad input, refused before anything runs. `what()` is one complete line that names the thing, the
/// value, what is allowed and what to do. `detail()` has further lines, or is empty.
class InputError : public std::runtime_error {
 public:
  explicit InputError(const std::string& line, std::string detail = {})
      : std::runtime_error(line), detail_(std::move(detail)) {}

  const std::string& detail() const { return detail_; }

 private:
  std::string detail_;
};

}  // namespace kernbench
