// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

namespace kernbench {

/// Reused objects, so that nothing is allocated after warm-up. Released objects keep their buffers;
/// the user resets the fields that it needs.
template <class T>
class Pool {
 public:
  T& acquire() {
    if (free_.empty()) {
      objects_.push_back(std::make_unique<T>());
      return *objects_.back();
    }
    T& object = *free_.back();
    free_.pop_back();
    return object;
  }
  void release(T& object) { free_.push_back(&object); }

 private:
  std::vector<std::unique_ptr<T>> objects_;
  std::vector<T*> free_;
};

}  // namespace kernbench
