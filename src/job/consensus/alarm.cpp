// SPDX-License-Identifier: Apache-2.0
#include "job/consensus/alarm.hpp"

#include "mpi/communicator_access.hpp"

#include <algorithm>

namespace TESSERA_NAMESPACE {
namespace {

constexpr int tag = 0;

}  // namespace

void Alarm::raise() {
  if (raised_) return;
  raised_ = true;
  // The sends are not waited for: MPI frees each request on completion.
  for (int rank = 0; rank < comm_.size(); ++rank) {
    if (rank == comm_.rank()) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    if (MPI_Isend(nullptr, 0, MPI_BYTE, rank, tag, comm_.native(), &request) == MPI_SUCCESS)
      MPI_Request_free(&request);
  }
}

bool Alarm::rang() {
  int waiting = 0;
  MPI_Status status{};
  MPI_Iprobe(MPI_ANY_SOURCE, tag, comm_.native(), &waiting, &status);
  if (waiting != 0) {
    MPI_Recv(nullptr, 0, MPI_BYTE, status.MPI_SOURCE, tag, comm_.native(), MPI_STATUS_IGNORE);
    heard_.push_back(status.MPI_SOURCE);
  }
  return !heard_.empty();
}

void Alarm::reset() {
  const auto raised = comm_.allgather(raised_ ? 1 : 0);
  for (int rank = 0; rank < comm_.size(); ++rank) {
    if (rank == comm_.rank() || raised[static_cast<std::size_t>(rank)] == 0) continue;
    if (std::ranges::find(heard_, rank) == heard_.end())
      mpi::detail::CommunicatorAccess::receive_empty(comm_, rank, tag, "the end of an alarm");
  }
  raised_ = false;
  heard_.clear();
}

}  // namespace TESSERA_NAMESPACE
