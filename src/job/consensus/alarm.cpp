// SPDX-License-Identifier: Apache-2.0
#include "job/consensus/alarm.hpp"

#include "mpi/communicator_access.hpp"

#include <algorithm>

namespace TESSERA_NAMESPACE {
namespace {

using Access = mpi::detail::CommunicatorAccess;

constexpr int tag = 0;

}  // namespace

void Alarm::raise() {
  if (raised_) return;
  raised_ = true;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    if (rank != comm_.rank()) Access::send_empty(comm_, rank, tag);
  }
}

bool Alarm::rang() {
  if (comm_.size() > 1) {
    if (const auto rank = Access::sender_of_empty(comm_, tag)) heard_.push_back(*rank);
  }
  return !heard_.empty();
}

void Alarm::reset() {
  const auto raised = comm_.allgather(raised_ ? 1 : 0);
  for (int rank = 0; rank < comm_.size(); ++rank) {
    if (rank == comm_.rank() || raised[static_cast<std::size_t>(rank)] == 0) continue;
    if (std::ranges::find(heard_, rank) == heard_.end())
      Access::receive_empty(comm_, rank, tag, "the end of an alarm");
  }
  raised_ = false;
  heard_.clear();
}

}  // namespace TESSERA_NAMESPACE
