// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>

#include <vector>

namespace TESSERA_NAMESPACE {

/// Notifies other ranks of a failure or stop request, so that they need not wait for a timeout. Sends empty
/// messages, and does not block.
class Alarm {
 public:
  /// *Collective.*
  explicit Alarm(const mpi::Communicator& comm) : comm_(comm.duplicate()) {}

  void raise();
  /// Whether another rank has raised the alarm. Cost: a probe for a message, below a microsecond.
  [[nodiscard]] bool rang();
  /// *Collective.* Receives all pending messages, and permits another alarm.
  void reset();

 private:
  mpi::Communicator comm_;  // a duplicate, to separate its messages from others
  bool raised_ = false;
  std::vector<int> heard_;  // ranks that have raised the alarm
};

}  // namespace TESSERA_NAMESPACE
