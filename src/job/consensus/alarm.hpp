// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>

#include <vector>

namespace TESSERA_NAMESPACE {

/// Notifies waiting or computing ranks of an event on another rank (a failure, a stop request), so that they
/// need not wait for a timeout. All messages are empty and asynchronous.
class Alarm {
 public:
  /// *Collective.*
  explicit Alarm(const mpi::Communicator& comm) : comm_(comm.duplicate()) {}

  /// Notifies the other ranks. Does not block.
  void raise();
  /// True if another rank has raised the alarm. Does not block. Cost: a probe for a message, below a
  /// microsecond.
  [[nodiscard]] bool rang();
  /// *Collective.* Receives all pending messages; the alarm can then be raised again.
  void reset();

 private:
  mpi::Communicator comm_;  // a duplicate, so that its messages match no others
  bool raised_ = false;
  std::vector<int> heard_;  // ranks from which a message was received
};

}  // namespace TESSERA_NAMESPACE
