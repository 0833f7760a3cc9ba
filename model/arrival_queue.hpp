// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tlm_if/transactions.hpp"

namespace kernbench {

/// Stages that wait for an engine: by arrival, those of one instant by their service key. Arrivals
/// come in time order, so a new one passes only those of its own instant.
class ArrivalQueue {
 public:
  bool empty() const { return stages_.empty(); }

  void push(StageTransaction& stage) {
    auto place = stages_.end();
    while (place != stages_.begin() && (*(place - 1))->arrival == stage.arrival &&
           stage.key < (*(place - 1))->key) {
      --place;
    }
    stages_.insert(place, &stage);
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
