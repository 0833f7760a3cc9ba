// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "model/arrival_queue.hpp"
#include "tlm_if/systemc.hpp"

namespace kernbench {

/// What is to happen at times in the future; at one instant, in the order in which it was added.
/// The event is notified when something is due, and the owner's process then calls run_due(). Times
/// are exact to the tick of SystemC, which may be finer than 1 ps: nothing happens early.
template <class T>
class TimedQueue {
 public:
  const sc_core::sc_event& due_event() const { return due_event_; }
  bool empty() const { return entries_.empty(); }

  void push(const sc_core::sc_time& delay, const T& item) {
    const Entry entry{sc_core::sc_time_stamp() + delay, item};
    if (entries_.empty() || entry.time < entries_.front().time) due_event_.notify(delay);
    insert_from_back(entries_, entry,
                     [](const Entry& x, const Entry& y) { return x.time < y.time; });
  }

  /// Calls `act` with each item that is due, which is no longer in the queue.
  template <class Act>
  void run_due(Act act) {
    const sc_core::sc_time& now = sc_core::sc_time_stamp();
    while (!entries_.empty() && entries_.front().time <= now) {
      const T item = entries_.front().item;
      entries_.erase(entries_.begin());
      act(item);
    }
    if (!entries_.empty()) due_event_.notify(entries_.front().time - now);
  }

  template <class Matches>
  void remove_if(Matches matches) {
    entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return matches(entry.item); }),
                   entries_.end());
  }

 private:
  struct Entry {
    sc_core::sc_time time;
    T item;
  };

  std::vector<Entry> entries_;
  sc_core::sc_event due_event_;
};

}  // namespace kernbench
