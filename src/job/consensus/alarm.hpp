// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>

#include <vector>

namespace tessera::inline TESSERA_ABI {

/// Tells the ranks that wait or work that another rank has something to say (that it failed, that it was
/// asked to stop), so that they need not go on until their time is up. All messages are empty, and never
/// waited for.
class Alarm {
 public:
  /// *Collective.*
  explicit Alarm(const mpi::Communicator& comm) : comm_(comm.duplicate()) {}

  /// Does not block.
  void raise();
  /// True if another rank has raised it. Does not block. Cost: a look for a message, below a microsecond.
  [[nodiscard]] bool rang();
  /// *Collective.* Takes the messages that are still under way: the alarm can be raised again.
  void reset();

 private:
  mpi::Communicator comm_;  // of its own, so that no other message is taken for an alarm
  bool raised_ = false;
  std::vector<int> heard_;  // the ranks whose alarm was taken
};

}  // namespace tessera::inline TESSERA_ABI
