// SPDX-License-Identifier: Apache-2.0
#include <tessera/error.hpp>
#include <tessera/mpi/communicator.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace tessera::mpi {
namespace {

void require(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL)
    throw Error(ErrorCode::usage, "the communicator is empty: it was default-made or moved from");
}

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(ErrorCode::job_fault, std::string(call) + " failed: " + text);
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  return size;
}

MPI_Op operation(Reduction how) {
  switch (how) {
    case Reduction::sum: return MPI_SUM;
    case Reduction::min: return MPI_MIN;
    case Reduction::max: return MPI_MAX;
  }
  throw Error(ErrorCode::usage, "unknown reduction");
}

/// Calls `transfer(offset, count)` for consecutive pieces of `total` elements.
template <class Transfer>
void in_pieces(std::size_t total, std::size_t piece, Transfer&& transfer) {
  for (std::size_t offset = 0; offset < total; offset += piece)
    transfer(offset, static_cast<int>(std::min(piece, total - offset)));
}

std::vector<int> as_ints(std::span<const std::size_t> values) {
  std::vector<int> out(values.size());
  std::transform(values.begin(), values.end(), out.begin(),
                 [](auto value) { return static_cast<int>(value); });
  return out;
}

std::vector<std::size_t> offsets_from(std::span<const std::size_t> counts) {
  std::vector<std::size_t> offsets(counts.size() + 1, 0);
  std::inclusive_scan(counts.begin(), counts.end(), offsets.begin() + 1);
  return offsets;
}

}  // namespace

namespace detail {

static_assert(sizeof(std::size_t) == sizeof(std::uint64_t), "sizes travel as 64-bit integers");

void allreduce(MPI_Comm comm, void* data, std::size_t count, MPI_Datatype type, Reduction how,
               std::size_t piece) {
  require(comm);
  int type_bytes = 0;
  check(MPI_Type_size(type, &type_bytes), "MPI_Type_size");
  in_pieces(count, piece, [&](std::size_t offset, int elements) {
    check(MPI_Allreduce(MPI_IN_PLACE, static_cast<std::byte*>(data) + offset * type_bytes, elements, type,
                        operation(how), comm),
          "MPI_Allreduce");
  });
}

void broadcast_bytes(MPI_Comm comm, void* data, std::size_t bytes, int root, std::size_t piece) {
  require(comm);
  in_pieces(bytes, piece, [&](std::size_t offset, int count) {
    check(MPI_Bcast(static_cast<std::byte*>(data) + offset, count, MPI_BYTE, root, comm), "MPI_Bcast");
  });
}

std::vector<std::size_t> gathered_offsets(MPI_Comm comm, std::size_t my_bytes) {
  require(comm);
  std::vector<std::size_t> counts(size_of(comm));
  check(MPI_Allgather(&my_bytes, 1, MPI_UINT64_T, counts.data(), 1, MPI_UINT64_T, comm), "MPI_Allgather");
  return offsets_from(counts);
}

void allgatherv_bytes(MPI_Comm comm, std::span<const std::byte> mine, std::span<const std::size_t> offsets,
                      std::byte* out, std::size_t piece) {
  require(comm);
  const auto ranks = offsets.size() - 1;
  if (offsets.back() <= piece) {
    std::vector<std::size_t> counts(ranks);
    for (std::size_t r = 0; r < ranks; ++r) counts[r] = offsets[r + 1] - offsets[r];
    check(MPI_Allgatherv(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, out, as_ints(counts).data(),
                         as_ints(offsets).data(), MPI_BYTE, comm),
          "MPI_Allgatherv");
    return;
  }
  // Displacements would not fit: every rank in turn broadcasts its part.
  const auto rank = static_cast<std::size_t>(rank_in(comm));
  std::copy(mine.begin(), mine.end(), out + offsets[rank]);
  for (std::size_t r = 0; r < ranks; ++r)
    broadcast_bytes(comm, out + offsets[r], offsets[r + 1] - offsets[r], static_cast<int>(r), piece);
}

std::vector<std::size_t> incoming_counts(MPI_Comm comm, std::span<const std::size_t> counts,
                                         std::size_t total) {
  require(comm);
  const auto ranks = static_cast<std::size_t>(size_of(comm));
  if (counts.size() != ranks)
    throw Error(ErrorCode::usage, "alltoallv needs a count for each of " + std::to_string(ranks) +
                                      " ranks, not " + std::to_string(counts.size()));
  if (const auto sum = std::reduce(counts.begin(), counts.end()); sum != total)
    throw Error(ErrorCode::usage, "alltoallv counts add up to " + std::to_string(sum) + ", but " +
                                      std::to_string(total) + " elements are given");
  std::vector<std::size_t> incoming(ranks);
  check(MPI_Alltoall(counts.data(), 1, MPI_UINT64_T, incoming.data(), 1, MPI_UINT64_T, comm), "MPI_Alltoall");
  return incoming;
}

void alltoallv_bytes(MPI_Comm comm, const std::byte* outgoing, std::span<const std::size_t> counts,
                     std::span<const std::size_t> incoming, std::byte* out, std::size_t piece) {
  require(comm);
  const auto send_offsets = offsets_from(counts);
  const auto receive_offsets = offsets_from(incoming);
  // Which way to go must be the same decision on every rank.
  std::uint64_t largest = std::max(send_offsets.back(), receive_offsets.back());
  allreduce(comm, &largest, 1, MPI_UINT64_T, Reduction::max);
  if (largest <= piece) {
    check(MPI_Alltoallv(outgoing, as_ints(counts).data(), as_ints(send_offsets).data(), MPI_BYTE, out,
                        as_ints(incoming).data(), as_ints(receive_offsets).data(), MPI_BYTE, comm),
          "MPI_Alltoallv");
    return;
  }
  // Displacements would not fit: in step s each rank sends to the one s above and receives from the
  // one s below, piece by piece; the side that has no more to give or take meets MPI_PROC_NULL.
  const auto ranks = counts.size();
  const auto rank = static_cast<std::size_t>(rank_in(comm));
  for (std::size_t step = 0; step < ranks; ++step) {
    const auto to = (rank + step) % ranks;
    const auto from = (rank + ranks - step) % ranks;
    in_pieces(std::max(counts[to], incoming[from]), piece, [&](std::size_t offset, int) {
      const auto part = [&](std::size_t all) {
        return offset < all ? static_cast<int>(std::min(piece, all - offset)) : 0;
      };
      const int send = part(counts[to]);
      const int receive = part(incoming[from]);
      check(MPI_Sendrecv(outgoing + send_offsets[to] + (send > 0 ? offset : 0), send, MPI_BYTE,
                         send > 0 ? static_cast<int>(to) : MPI_PROC_NULL, 0,
                         out + receive_offsets[from] + (receive > 0 ? offset : 0), receive, MPI_BYTE,
                         receive > 0 ? static_cast<int>(from) : MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE),
            "MPI_Sendrecv");
    });
  }
}

}  // namespace detail

Communicator::Communicator(MPI_Comm owned) : comm_(owned) {
  check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  rank_ = rank_in(comm_);
  size_ = size_of(comm_);
}

Communicator Communicator::duplicate_of(MPI_Comm other) {
  require(other);
  MPI_Comm duplicate = MPI_COMM_NULL;
  check(MPI_Comm_dup(other, &duplicate), "MPI_Comm_dup");
  return Communicator(duplicate);
}

Communicator::Communicator(Communicator&& other) noexcept
    : comm_(std::exchange(other.comm_, MPI_COMM_NULL)),
      rank_(std::exchange(other.rank_, 0)),
      size_(std::exchange(other.size_, 1)) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  // What this one owned goes with `old` at the end of the statement, also on self-assignment.
  Communicator old(std::move(other));
  std::swap(comm_, old.comm_);
  std::swap(rank_, old.rank_);
  std::swap(size_, old.size_);
  return *this;
}

Communicator::~Communicator() {
  if (comm_ == MPI_COMM_NULL) return;
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;  // MPI has released it
  if (MPI_Comm_free(&comm_) != MPI_SUCCESS) std::fputs("tessera: MPI_Comm_free failed\n", stderr);
}

Communicator Communicator::split(int color) const {
  require(comm_);
  MPI_Comm part = MPI_COMM_NULL;
  check(MPI_Comm_split(comm_, color, rank_, &part), "MPI_Comm_split");
  return Communicator(part);
}

void Communicator::barrier() const {
  require(comm_);
  check(MPI_Barrier(comm_), "MPI_Barrier");
}

std::vector<std::string> Communicator::allgather_text(std::string_view mine) const {
  std::vector<std::size_t> offsets;
  const auto all = allgatherv(std::span(mine.data(), mine.size()), &offsets);
  std::vector<std::string> texts;
  texts.reserve(offsets.size() - 1);
  for (std::size_t r = 0; r + 1 < offsets.size(); ++r)
    texts.emplace_back(all.data() + offsets[r], offsets[r + 1] - offsets[r]);
  return texts;
}

std::string Communicator::broadcast_text(std::string_view text, int root) const {
  std::uint64_t length = text.size();
  detail::broadcast_bytes(comm_, &length, sizeof length, root);
  std::string out = rank_ == root ? std::string(text) : std::string(length, '\0');
  detail::broadcast_bytes(comm_, out.data(), out.size(), root);
  return out;
}

std::int64_t Communicator::exclusive_sum(std::int64_t value) const {
  require(comm_);
  std::int64_t below = 0;
  check(MPI_Exscan(&value, &below, 1, MPI_INT64_T, MPI_SUM, comm_), "MPI_Exscan");
  return rank_ == 0 ? 0 : below;  // MPI leaves rank 0's result undefined
}

void abort_job(std::string_view message, int status) {
  std::fprintf(stderr, "tessera: %.*s\n", static_cast<int>(message.size()), message.data());
  std::fflush(stderr);
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized != 0 && finalized == 0) MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

}  // namespace tessera::mpi
