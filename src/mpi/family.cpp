// SPDX-License-Identifier: Apache-2.0
#include "mpi/family.hpp"

#include "mpi/check.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace tessera::mpi::detail {
namespace {

template <std::size_t Size>
void set(std::array<char, Size>& text, std::string_view value) {
  std::copy_n(value.begin(), std::min(value.size(), Size - 1), text.begin());
}

}  // namespace

Place::Place(std::uint64_t of_comm, std::int64_t counted, std::string_view its_kind,
             std::string_view its_purpose)
    : comm(of_comm), number(counted) {
  set(kind, its_kind);
  set(purpose, its_purpose);
}

std::string Place::name() const {
  return purpose[0] != '\0' ? purpose.data() : kind.data();
}

std::string Place::full_name() const {
  return purpose[0] != '\0' ? std::string(purpose.data()) + " (" + kind.data() + ')' : kind.data();
}

Family::Family(MPI_Comm origin) {
  check(MPI_Comm_dup(origin, &channel_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(channel_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(channel_, &rank_), "MPI_Comm_rank");
  int size = 0;
  check(MPI_Comm_size(channel_, &size), "MPI_Comm_size");
  using Name = std::array<char, MPI_MAX_PROCESSOR_NAME>;
  Name mine{};
  int length = 0;
  check(MPI_Get_processor_name(mine.data(), &length), "MPI_Get_processor_name");
  std::vector<Name> names(static_cast<std::size_t>(size));
  check(MPI_Allgather(mine.data(), static_cast<int>(mine.size()), MPI_CHAR, names.data(),
                      static_cast<int>(mine.size()), MPI_CHAR, channel_),
        "MPI_Allgather");
  hosts_.reserve(names.size());
  for (const Name& name : names) hosts_.emplace_back(name.data());
}

Family::~Family() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  for (Sent& sent : under_way_) {
    int done = 0;
    if (finalized == 0) MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE);
    // One that its receiver never took stays in memory, where MPI may still read it.
    if (done == 0) new std::shared_ptr<const Letter>(std::move(sent.letter));
  }
  if (finalized == 0 && MPI_Comm_free(&channel_) != MPI_SUCCESS)
    std::fputs("tessera: MPI_Comm_free failed\n", stderr);
}

std::string Family::name_of(int rank) const {
  return "rank " + std::to_string(rank) + " (" + hosts_[static_cast<std::size_t>(rank)] + ")";
}

std::string Family::purpose() const {
  std::string all;
  for (auto what = purposes.rbegin(); what != purposes.rend(); ++what)
    all += (all.empty() ? "" : " in ") + *what;
  return all;
}

std::vector<int> Family::ranks_of(MPI_Comm comm) const {
  MPI_Group theirs = MPI_GROUP_NULL;
  MPI_Group ours = MPI_GROUP_NULL;
  check(MPI_Comm_group(comm, &theirs), "MPI_Comm_group");
  check(MPI_Comm_group(channel_, &ours), "MPI_Comm_group");
  int size = 0;
  check(MPI_Group_size(theirs, &size), "MPI_Group_size");
  std::vector<int> there(static_cast<std::size_t>(size));
  std::iota(there.begin(), there.end(), 0);
  std::vector<int> here(there.size());
  check(MPI_Group_translate_ranks(theirs, size, there.data(), ours, here.data()),
        "MPI_Group_translate_ranks");
  MPI_Group_free(&theirs);
  MPI_Group_free(&ours);
  return here;
}

void Family::send(int to, int tag, const std::shared_ptr<const Letter>& letter) {
  std::erase_if(under_way_, [](Sent& sent) {
    int done = 0;
    return MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
  });
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Isend(letter.get(), sizeof *letter, MPI_BYTE, to, tag, channel_, &request) == MPI_SUCCESS)
    under_way_.push_back({request, letter});
}

std::optional<Family::Received> Family::receive(int tag) {
  int waiting = 0;
  MPI_Status status{};
  MPI_Iprobe(MPI_ANY_SOURCE, tag, channel_, &waiting, &status);
  if (waiting == 0) return std::nullopt;
  Received received;
  received.from = status.MPI_SOURCE;
  if (MPI_Recv(&received.letter, sizeof received.letter, MPI_BYTE, status.MPI_SOURCE, tag, channel_,
               MPI_STATUS_IGNORE) != MPI_SUCCESS)
    return std::nullopt;
  return received;
}

}  // namespace tessera::mpi::detail
