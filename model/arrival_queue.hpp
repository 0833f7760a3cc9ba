// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tlm_if/transactions.hpp"

namespace kernbench {

/// Inserts into a sorted queue, behind those that are equal. It looks from the back, as most
/// entries belong there. `before(x, y)`: x comes first.
template <class T, class Before>
void insert_from_back(std::vector<T>& queue, const T& entry, Before before) {
  auto place = queue.end();
  while (place != queue.begin() && before(entry, *(place - 1))) --place;
  queue.insert(place, entry);
}

/// Stages that wait for an engine, ordered by arrival, then by service key. Arrivals come in time
/// order, so a new stage can pass only stages of the same instant.
class ArrivalQueue {
 public:
  bool empty() const { return stages_.empty(); }

  void push(StageTransaction& stage) {
    insert_from_back(stages_, &stage, [](const auto* x, const auto* y) {
      return x->arrival == y->arrival && x->key < y->key;
    });
  }

  StageTransaction& pop() {
    StageTransaction& stage = *stages_.front();
    stages_.erase(stages_.begin());
    return stage;
  }

 private:
  std::vector<StageTransaction*> stages_;
};

}  // namespace kernbench
