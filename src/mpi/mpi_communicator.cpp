// SPDX-License-Identifier: Apache-2.0
#include "base/hash.hpp"
#include "mpi/abort.hpp"
#include "mpi/backoff.hpp"
#include "mpi/check.hpp"
#include "mpi/clamped_time.hpp"
#include "mpi/communicator_access.hpp"
#include "mpi/failure_watch.hpp"
#include "mpi/fork.hpp"
#include "mpi/lifetime.hpp"
#include "mpi/rank_group.hpp"
#include "mpi/request.hpp"
#include "mpi/watchdog.hpp"

#include <tessera/error.hpp>
#include <tessera/mpi/communicator.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <thread>

namespace TESSERA_NAMESPACE::mpi {
namespace {

using detail::check;

MPI_Op operation(Reduction how) {
  switch (how) {
    case Reduction::sum: return MPI_SUM;
    case Reduction::min: return MPI_MIN;
    case Reduction::max: return MPI_MAX;
  }
  throw Error(ErrorCode::usage, "unknown reduction: give a value of mpi::Reduction");
}

MPI_Datatype datatype(detail::Number type) {
  switch (type) {
    case detail::Number::float64: return MPI_DOUBLE;
    case detail::Number::int32: return MPI_INT32_T;
    case detail::Number::int64: return MPI_INT64_T;
    case detail::Number::uint32: return MPI_UINT32_T;
    case detail::Number::uint64: return MPI_UINT64_T;
  }
  throw Error(ErrorCode::usage, "unknown type of numbers");
}

/// Throws `Error(usage)` unless this thread may duplicate `other`.
void require_duplicable(MPI_Comm other) {
  if (detail::is_forked_child()) throw detail::ForkedChild();
  if (!detail::is_initialised())
    throw Error(ErrorCode::usage, "MPI is not initialised: create a Session first, or call MPI_Init_thread");
  if (detail::is_finalised()) throw Error(ErrorCode::usage, detail::mpi_is_over);
  if (other == MPI_COMM_NULL)
    throw Error(ErrorCode::usage, "MPI_COMM_NULL cannot be duplicated: give a communicator");
  int is_main = 0;
  MPI_Is_thread_main(&is_main);
  if (is_main == 0) throw detail::WrongThread();
  int is_inter = 0;
  check(MPI_Comm_test_inter(other, &is_inter), "MPI_Comm_test_inter");
  if (is_inter != 0)
    throw Error(ErrorCode::usage,
                "an inter-communicator has two groups of ranks: merge them first (MPI_Intercomm_merge)");
}

/// Calls `transfer(offset, count)` for chunks of `total` elements, because MPI counts are ints.
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

/// Inside `fail_together`: throws if another rank has failed. Nothing may throw between this call and the MPI
/// call.
void ask_for_failures(const detail::RankGroup& group, int ranks) {
  if (group.failures != nullptr) group.failures->ask(ranks);
}

/// Interval at which a rank replies to inquiries if all its waits are too short for a step of the watchdog.
constexpr std::chrono::milliseconds between_answers = std::chrono::milliseconds(detail::Watchdog::grace) / 8;

/// Whether `between_answers` has passed since the last call that returned true. Main thread only.
bool is_time_to_answer(Backoff::Clock::time_point now) {
  static Backoff::Clock::time_point next{};
  if (now < next) return false;
  next = now + between_answers;
  return true;
}

/// Works around MPICH 4.0, which compares unsigned numbers as signed numbers: during its lifetime, an object
/// maps unsigned numbers to signed numbers of the same order. For minimum and maximum only.
class SignedOrder {
 public:
  SignedOrder(void* data, std::size_t count, detail::Number& type, Reduction how) {
    if (how == Reduction::sum) return;
    if (type == detail::Number::uint32) {
      narrow_ = {static_cast<std::uint32_t*>(data), count};
      type = detail::Number::int32;
    } else if (type == detail::Number::uint64) {
      wide_ = {static_cast<std::uint64_t*>(data), count};
      type = detail::Number::int64;
    }
    flip();
  }
  ~SignedOrder() { flip(); }
  SignedOrder(const SignedOrder&) = delete;
  SignedOrder& operator=(const SignedOrder&) = delete;

 private:
  void flip() noexcept {
    for (std::uint32_t& number : narrow_) number ^= std::uint32_t{1} << 31;
    for (std::uint64_t& number : wide_) number ^= std::uint64_t{1} << 63;
  }

  std::span<std::uint32_t> narrow_;
  std::span<std::uint64_t> wide_;
};

}  // namespace

namespace detail {

const char* const mpi_is_over = "MPI has been finalised: make all collective calls before MPI_Finalize";

static_assert(sizeof(std::size_t) == sizeof(std::uint64_t), "sizes travel as 64-bit integers");

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Failure(std::string(call) + " failed: " + text);
}

void abort_mpi(int status) noexcept {
  if (is_initialised() && !is_finalised()) MPI_Abort(MPI_COMM_WORLD, status);
}

void CommunicatorAccess::receive_empty(const Communicator& comm, int from, int tag,
                                       std::string_view purpose) {
  const Purpose what(comm, std::string(purpose));
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Irecv(nullptr, 0, MPI_BYTE, from, tag, comm.usable(), &request), "MPI_Irecv");
  // The number of the last collective call, because a receive is no collective and is not counted.
  comm.wait_at(*comm.self_.waits, request, "a message", 0, comm.timeout());
}

void CommunicatorAccess::send_empty(const Communicator& comm, int to, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Isend(nullptr, 0, MPI_BYTE, to, tag, comm.native(), &request) == MPI_SUCCESS)
    MPI_Request_free(&request);
}

std::optional<int> CommunicatorAccess::sender_of_empty(const Communicator& comm, int tag) {
  int waiting = 0;
  MPI_Status status{};
  MPI_Iprobe(MPI_ANY_SOURCE, tag, comm.native(), &waiting, &status);
  if (waiting == 0) return std::nullopt;
  MPI_Recv(nullptr, 0, MPI_BYTE, status.MPI_SOURCE, tag, comm.native(), MPI_STATUS_IGNORE);
  return status.MPI_SOURCE;
}

bool CommunicatorAccess::have_same_ranks(const Communicator& one, const Communicator& other) {
  if (one.is_serial() || other.is_serial()) return one.is_serial() == other.is_serial();
  int how_alike = MPI_UNEQUAL;
  check(MPI_Comm_compare(one.usable(), other.usable(), &how_alike), "MPI_Comm_compare");
  return how_alike != MPI_UNEQUAL;
}

int CommunicatorAccess::rank_in_world(const Communicator& comm) {
  int rank = 0;
  if (!comm.is_serial()) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

void CommunicatorAccess::require_threads(const Communicator& comm) {
  if (comm.is_serial() || !is_initialised() || is_finalised()) return;  // the communicator's calls throw
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_FUNNELED)
    throw Error(ErrorCode::usage,
                "MPI is initialised without thread support, but a job needs threads: create a Session, or "
                "call MPI_Init_thread with MPI_THREAD_FUNNELED or higher");
}

}  // namespace detail

MPI_Comm Communicator::usable() const {
  if (native() == MPI_COMM_NULL)
    throw Error(
        ErrorCode::usage,
        "the communicator is empty (default-constructed or moved from): use the communicator of the Session");
  if (detail::is_forked_child()) throw detail::ForkedChild();
  if (self_.group->thread() != std::this_thread::get_id()) throw detail::WrongThread();
  if (detail::is_finalised()) throw Error(ErrorCode::usage, detail::mpi_is_over);
  return native();
}

void Communicator::mpi_require_usable() const {
  (void)usable();
}

void Communicator::allreduce_elements(void* data, std::size_t count, detail::Number number, Reduction how,
                                      std::size_t piece) const {
  const MPI_Comm native = usable();
  const SignedOrder order(data, count, number, how);
  const MPI_Datatype type = datatype(number);
  int type_bytes = 0;
  check(MPI_Type_size(type, &type_bytes), "MPI_Type_size");
  ask_for_failures(*self_.group, size());
  in_pieces(count, piece, [&](std::size_t offset, int elements) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallreduce(MPI_IN_PLACE, static_cast<std::byte*>(data) + offset * type_bytes, elements, type,
                         operation(how), native, &request),
          "MPI_Iallreduce");
    wait(request, "an allreduce", static_cast<std::size_t>(elements) * type_bytes);
  });
}

void Communicator::broadcast_bytes(void* data, std::size_t bytes, int root, std::size_t piece) const {
  const MPI_Comm native = usable();
  ask_for_failures(*self_.group, size());
  in_pieces(bytes, piece, [&](std::size_t offset, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibcast(static_cast<std::byte*>(data) + offset, count, MPI_BYTE, root, native, &request),
          "MPI_Ibcast");
    wait(request, "a broadcast", static_cast<std::size_t>(count));
  });
}

std::vector<std::size_t> Communicator::gathered_offsets(std::size_t my_bytes) const {
  const MPI_Comm native = usable();
  std::vector<std::size_t> counts(static_cast<std::size_t>(size()));
  MPI_Request request = MPI_REQUEST_NULL;
  ask_for_failures(*self_.group, size());
  check(MPI_Iallgather(&my_bytes, 1, MPI_UINT64_T, counts.data(), 1, MPI_UINT64_T, native, &request),
        "MPI_Iallgather");
  wait(request, "an allgather");
  return offsets_from(counts);
}

void Communicator::allgatherv_bytes(std::span<const std::byte> mine, std::span<const std::size_t> offsets,
                                    std::byte* out, std::size_t piece) const {
  const MPI_Comm native = usable();
  const auto ranks = offsets.size() - 1;
  if (offsets.back() <= piece) {
    std::vector<std::size_t> counts(ranks);
    for (std::size_t r = 0; r < ranks; ++r) counts[r] = offsets[r + 1] - offsets[r];
    const auto int_counts = as_ints(counts);
    const auto int_offsets = as_ints(offsets);
    MPI_Request request = MPI_REQUEST_NULL;
    ask_for_failures(*self_.group, size());
    check(MPI_Iallgatherv(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, out, int_counts.data(),
                          int_offsets.data(), MPI_BYTE, native, &request),
          "MPI_Iallgatherv");
    wait(request, "an allgather", offsets.back());
    return;
  }
  // Offsets exceed MPI's int displacements: each rank in turn broadcasts its part.
  std::copy(mine.begin(), mine.end(), out + offsets[static_cast<std::size_t>(rank())]);
  for (std::size_t r = 0; r < ranks; ++r)
    broadcast_bytes(out + offsets[r], offsets[r + 1] - offsets[r], static_cast<int>(r), piece);
}

std::vector<std::size_t> Communicator::incoming_counts(std::span<const std::size_t> counts,
                                                       std::size_t total) const {
  const MPI_Comm native = usable();
  check_counts(counts, total);
  std::vector<std::size_t> incoming(counts.size());
  MPI_Request request = MPI_REQUEST_NULL;
  ask_for_failures(*self_.group, size());
  check(MPI_Ialltoall(counts.data(), 1, MPI_UINT64_T, incoming.data(), 1, MPI_UINT64_T, native, &request),
        "MPI_Ialltoall");
  wait(request, "an alltoall");
  return incoming;
}

void Communicator::alltoallv_bytes(const std::byte* outgoing, std::span<const std::size_t> counts,
                                   std::span<const std::size_t> incoming, std::byte* out,
                                   std::size_t piece) const {
  const MPI_Comm native = usable();
  const auto send_offsets = offsets_from(counts);
  const auto receive_offsets = offsets_from(incoming);
  // All ranks must choose the same algorithm, so the largest size decides.
  std::uint64_t largest = std::max(send_offsets.back(), receive_offsets.back());
  allreduce(std::span(&largest, 1), Reduction::max);
  MPI_Request request = MPI_REQUEST_NULL;
  if (largest <= piece) {
    const auto int_counts = as_ints(counts);
    const auto int_send_offsets = as_ints(send_offsets);
    const auto int_incoming = as_ints(incoming);
    const auto int_receive_offsets = as_ints(receive_offsets);
    ask_for_failures(*self_.group, size());
    check(MPI_Ialltoallv(outgoing, int_counts.data(), int_send_offsets.data(), MPI_BYTE, out,
                         int_incoming.data(), int_receive_offsets.data(), MPI_BYTE, native, &request),
          "MPI_Ialltoallv");
    wait(request, "an alltoall", largest);
    return;
  }
  // Offsets exceed MPI's int displacements: in step s each rank sends to rank + s and receives from rank - s.
  // All ranks use the same number of pieces; a side that is done uses MPI_PROC_NULL.
  const auto ranks = counts.size();
  const auto rank = static_cast<std::size_t>(self_.rank);
  for (std::size_t step = 0; step < ranks; ++step) {
    const auto to = (rank + step) % ranks;
    const auto from = (rank + ranks - step) % ranks;
    in_pieces(largest, piece, [&](std::size_t offset, int) {
      const auto part = [&](std::size_t all) {
        return offset < all ? static_cast<int>(std::min(piece, all - offset)) : 0;
      };
      const int send = part(counts[to]);
      const int receive = part(incoming[from]);
      MPI_Request sending = MPI_REQUEST_NULL;
      check(MPI_Irecv(out + receive_offsets[from] + (receive > 0 ? offset : 0), receive, MPI_BYTE,
                      receive > 0 ? static_cast<int>(from) : MPI_PROC_NULL, 0, native, &request),
            "MPI_Irecv");
      check(MPI_Isend(outgoing + send_offsets[to] + (send > 0 ? offset : 0), send, MPI_BYTE,
                      send > 0 ? static_cast<int>(to) : MPI_PROC_NULL, 0, native, &sending),
            "MPI_Isend");
      wait(request, "an alltoall", static_cast<std::size_t>(receive));
      wait(sending, "an alltoall", static_cast<std::size_t>(send));
    });
  }
}

Communicator::Communicator(MPI_Comm owned, std::shared_ptr<detail::RankGroup> group, std::uint64_t id,
                           std::chrono::milliseconds timeout)
    : self_{.comm = owned,
            .group = std::move(group),
            .id = id,
            .timeout = detail::clamped_time(timeout),
            .waits = nullptr} {
  check(MPI_Comm_set_errhandler(owned, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(owned, &self_.rank), "MPI_Comm_rank");
  check(MPI_Comm_size(owned, &self_.size), "MPI_Comm_size");
  self_.waits = &detail::collective_counts().of(id, {self_.rank, self_.size, self_.group->is_in_world()});
}

Communicator Communicator::duplicate_of(MPI_Comm other) {
  require_duplicable(other);
  auto group = detail::make_rank_group(other);
  const MPI_Comm duplicate = group->duplicate_for_collectives();
  const std::uint64_t id = group->id();
  return {duplicate, std::move(group), id, std::chrono::milliseconds::zero()};
}

Communicator Communicator::mpi_duplicate(std::chrono::milliseconds timeout) const {
  MPI_Comm duplicate = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  const MPI_Comm native = usable();
  ask_for_failures(*self_.group, size());
  check(MPI_Comm_idup(native, &duplicate, &request), "MPI_Comm_idup");
  wait(request, "a duplication", 0, detail::clamped_time(timeout));
  return {duplicate, self_.group, id_of_child(0), timeout};
}

void Communicator::mpi_free() noexcept {
  if (self_.comm == MPI_COMM_NULL || detail::is_forked_child()) return;
  if (detail::is_finalised()) return;  // MPI_Finalize has freed the communicator
  if (MPI_Comm_free(&self_.comm) != MPI_SUCCESS) detail::say("MPI_Comm_free failed");
}

Communicator Communicator::mpi_split(int color) const {
  // MPI has no non-blocking split: an allreduce first waits, with timeout, until all ranks have arrived.
  int least = color;
  MPI_Request request = MPI_REQUEST_NULL;
  const MPI_Comm native = usable();
  ask_for_failures(*self_.group, size());
  check(MPI_Iallreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, native, &request), "MPI_Iallreduce");
  wait(request, "a split");
  check_color(least);
  MPI_Comm part = MPI_COMM_NULL;
  check(MPI_Comm_split(native, color, rank(), &part), "MPI_Comm_split");
  return {part, self_.group, id_of_child(color + std::uint64_t{1}), timeout()};
}

std::uint64_t Communicator::id_of_child(std::uint64_t which) const noexcept {
  std::uint64_t id = self_.id;
  for (const std::uint64_t value : {static_cast<std::uint64_t>(*self_.waits), which})
    id = base::fnv1a_step(id, value) + base::fnv1a_start;
  return id;
}

std::string Communicator::mpi_name() const {
  return self_.group->name_of(self_.group->rank());
}

void Communicator::mpi_barrier() const {
  MPI_Request request = MPI_REQUEST_NULL;
  const MPI_Comm native = usable();
  ask_for_failures(*self_.group, size());
  check(MPI_Ibarrier(native, &request), "MPI_Ibarrier");
  wait(request, "a barrier");
}

void Communicator::wait(MPI_Request& request, std::string_view kind, std::size_t bytes,
                        std::chrono::milliseconds timeout) const {
  if (is_serial()) throw Error(ErrorCode::usage, "a serial communicator has no requests of MPI to wait for");
  if (self_.waits == nullptr) (void)usable();  // throws for an empty communicator
  wait_at(++*self_.waits, request, kind, bytes, timeout);
}

void Communicator::wait_at(std::int64_t number, MPI_Request& request, std::string_view kind,
                           std::size_t bytes, std::chrono::milliseconds timeout) const {
  const MPI_Comm comm = usable();
  const detail::CollectiveScope scope;
  // Large messages progress only while MPI is polled: polls for 2 ns per byte (500 MB/s) before it sleeps.
  Backoff backoff(std::chrono::milliseconds(1) + std::chrono::nanoseconds(2 * bytes));
  const auto here = [&] { return detail::CollectiveCall(self_.id, number, kind, self_.group->purpose()); };
  if (is_time_to_answer(backoff.start()))
    (void)detail::has_memory_for([&] { detail::RankGroup::handle_all_messages(here()); });
  std::optional<detail::Watchdog> watchdog;
  while (!detail::is_complete(request, kind, size())) {
    if (backoff.is_long()) {
      const auto watch = [&] {
        if (!watchdog)
          watchdog.emplace(*self_.group, comm, here(), detail::WatchdogTimeouts{.timeout = timeout},
                           backoff.start());
        watchdog->step();
      };
      if (!detail::has_memory_for(watch)) watchdog.reset();
      if (self_.progress) self_.progress();
    }
    backoff();
  }
}

void Communicator::mpi_alive() const {
  (void)usable();
  detail::RankGroup::handle_all_messages(detail::CollectiveCall(0, 0, "work", self_.group->purpose()));
}

Purpose::Purpose(const Communicator& comm, std::string what) : group_(comm.self_.group) {
  if (group_) (void)comm.usable();
  if (group_) group_->purposes.push_back(std::move(what));
}

Purpose::~Purpose() {
  if (group_) group_->purposes.pop_back();
}

}  // namespace TESSERA_NAMESPACE::mpi
