// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/abi.h>
#include <tessera/error.hpp>
#include <tessera/function.hpp>
#include <tessera/version.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::mpi {

/// An MPI call of this rank failed; the message is MPI's. Unlike other errors of the library it is local to
/// this rank: other ranks may be waiting in a collective, so a program ends the job by `abort_job`.
class TESSERA_EXPORT Failure : public Error {
 public:
  explicit Failure(const std::string& message) : Error(ErrorCode::job_fault, message) {}
};

/// How `Communicator::allreduce` combines values.
enum class Reduction { sum, min, max };

class Communicator;

namespace detail {
class RankGroup;
struct CommunicatorAccess;
/// The types of numbers that `Communicator::allreduce` combines.
enum class Number { float64, int32, int64, uint32, uint64 };
}  // namespace detail

/// Typed wrappers of MPI collectives, over an MPI communicator that this object owns.
///
///     auto all = comm.allgather(my_record);          // one record of every rank, in rank order
///     comm.allreduce(std::span(sums), Reduction::sum);
///
/// Every member marked *Collective* must be called by every rank in the same order. Counts are 64 bits wide:
/// transfers above 2^31 - 1 elements are cut into pieces. An MPI call that fails throws `Failure`, at once or
/// on completion, whatever the error handlers of the caller's communicators are. (Under MPI_THREAD_MULTIPLE
/// the library does not change the error handler of MPI_COMM_WORLD, which Open MPI 4 calls for errors of
/// collectives: the library throws these errors only if that handler is MPI_ERRORS_RETURN.) A call throws
/// `Error(usage)`, before anything is sent, if the communicator is empty (default-constructed or moved from),
/// after MPI_Finalize, on a thread other than the one that constructed the communicator, or in a forked child
/// of a rank.
///
/// A collective that not all ranks call blocks for ever. With a timeout it ends the job instead (exit status
/// 6), with a line on standard error that names the ranks (and their nodes) that are missing or in another
/// collective:
///
///     tessera: rank 2 (node7) did not come to the vote of pass 1 within 1800 s: the job is ended
///
/// A rank is missing if it does not reply, because it is dead, stopped or unreachable, or because it has
/// computed between passes for longer than the timeout without a call of `alive()`. A rank that runs a pass
/// of a job replies, however long the pass takes. Even without a timeout, a rank that has reached the end of
/// the program (`Session`) ends the job, with a line that names this rank, as soon as another rank waits for
/// it. Messages number ranks as in the original communicator, from which duplicates and splits are derived. A
/// waiting rank yields its core. Cost of a collective of 8 bytes between 2 ranks of one node: 1.6 us; MPI's
/// own blocking call takes 0.9 us.
///
/// A *serial* communicator has one rank, this process, and calls no MPI: for a library in the process of
/// another program. Every function that takes a communicator accepts a serial one. Serial collectives do not
/// wait, and need no timeout. Any thread may construct and use a serial communicator, one thread at a time.
/// No signal or exit handler is installed, and the process is never ended. Threads of the library block
/// asynchronous signals, so that the host program's threads get them, in a process that uses neither MPI nor
/// a `Session`, and after `watch_exits(false)`.
class TESSERA_EXPORT Communicator {
 public:
  Communicator() = default;

#if TESSERA_HAVE_MPI
  /// A private duplicate of `other`, so that the library's messages never match the caller's. *Collective*,
  /// without a timeout; the new communicator has no timeout either. A rank that has reached the end of the
  /// program is detected as in any collective. Calls on `other` itself are not watched. Throws `Error(usage)`
  /// for MPI_COMM_NULL or an inter-communicator, before MPI_Init and after MPI_Finalize, in a forked child,
  /// and on a thread other than the main one, whatever the thread level of MPI.
  ///
  /// From the first call on, the library watches how ranks leave a program without a `Session`: see
  /// <tessera/mpi/exit_guard.hpp>. This takes a small MPI communicator for each set of ranks that has been
  /// duplicated.
  [[nodiscard]] static Communicator duplicate_of(MPI_Comm other);
#endif
  /// A serial communicator. Not collective. In a forked child, a job over a communicator made before the fork
  /// throws `Error(usage)`: make a new communicator and a new job, on the CPU if the parent has used a GPU.
  [[nodiscard]] static Communicator serial();
  /// A duplicate with its own timeout, which also limits this call. *Collective.*
  [[nodiscard]] Communicator duplicate(std::chrono::milliseconds timeout) const;
  [[nodiscard]] Communicator duplicate() const {
    return duplicate(timeout());
  }

  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&& other) noexcept;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  [[nodiscard]] int rank() const noexcept {
    return self_.rank;
  }
  [[nodiscard]] int size() const noexcept {
    return self_.size;
  }
  [[nodiscard]] bool is_serial() const noexcept {
    return self_.serial;
  }
#if TESSERA_HAVE_MPI
  /// MPI_COMM_NULL if the communicator is serial or empty.
  [[nodiscard]] MPI_Comm native() const noexcept {
    return self_.comm;
  }
#endif

  /// Sets the timeout of collectives, measured from this rank's call. Later duplicates and splits inherit it.
  /// 0, the default: none; maximum: a hundred years. Set it on every rank.
  void set_timeout(std::chrono::milliseconds timeout) noexcept;
  [[nodiscard]] std::chrono::milliseconds timeout() const noexcept {
    return self_.timeout;
  }

  /// Replies to other ranks that wait for this rank in a collective. For long computations between
  /// collectives, on the thread that constructed the communicator: the other ranks wait beyond their timeout
  /// as long as this rank calls `alive` once a second. Not collective. Does not block. Cost: below a
  /// microsecond.
  void alive() const;

  /// A communicator of the ranks that give the same color, ordered by their rank here. *Collective.* Throws
  /// `Error(usage)`, on every rank, if any rank gives a negative color, such as MPI_UNDEFINED.
  [[nodiscard]] Communicator split(int color) const;

  /// *Collective.* Waits for every rank.
  void barrier() const;

  /// *Collective.* Element-wise over ranks, in place; the result is the same on every rank. The last bits of
  /// sums of `double` depend on the number of ranks: see `ReproducibleSum`.
  template <class T>
  void allreduce(std::span<T> values, Reduction how) const {
    if (!is_serial()) allreduce_elements(values.data(), values.size(), number<T>(), how);
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  [[nodiscard]] T allreduce(T value, Reduction how) const {
    allreduce(std::span(&value, 1), how);
    return value;
  }

  /// *Collective.* The value of every rank, in rank order.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  [[nodiscard]] std::vector<T> allgather(const T& value) const {
    return allgatherv(std::span<const T>(&value, 1));
  }

  /// *Collective.* The values of every rank, one after another in rank order. `offsets`, unless null,
  /// receives `size() + 1` element offsets: the values of rank r are `[offsets[r], offsets[r + 1])`.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  [[nodiscard]] std::vector<T> allgatherv(std::span<const T> mine,
                                          std::vector<std::size_t>* offsets = nullptr) const {
    if (is_serial()) {
      if (offsets != nullptr) *offsets = {0, mine.size()};
      return {mine.begin(), mine.end()};
    }
    auto byte_offsets = gathered_offsets(mine.size_bytes());
    std::vector<T> all(byte_offsets.back() / sizeof(T));
    allgatherv_bytes(std::as_bytes(mine), byte_offsets, std::as_writable_bytes(std::span(all)).data());
    if (offsets != nullptr) {
      for (auto& offset : byte_offsets) offset /= sizeof(T);
      *offsets = std::move(byte_offsets);
    }
    return all;
  }

  /// *Collective.* The text of every rank, in rank order.
  [[nodiscard]] std::vector<std::string> allgather_text(std::string_view mine) const;

  /// *Collective.* Sends `counts[r]` consecutive elements of `outgoing` to each rank r; returns the received
  /// elements, in the order of the sending ranks.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  [[nodiscard]] std::vector<T> alltoallv(std::span<const T> outgoing,
                                         std::span<const std::size_t> counts) const {
    if (is_serial()) {
      check_counts(counts, outgoing.size());
      return {outgoing.begin(), outgoing.end()};
    }
    const auto incoming = incoming_counts(counts, outgoing.size());
    std::size_t total = 0;
    for (const std::size_t count : incoming) total += count;
    std::vector<T> received(total);
    const auto in_bytes = [](std::span<const std::size_t> elements) {
      std::vector<std::size_t> bytes(elements.begin(), elements.end());
      for (auto& count : bytes) count *= sizeof(T);
      return bytes;
    };
    alltoallv_bytes(std::as_bytes(outgoing).data(), in_bytes(counts), in_bytes(incoming),
                    std::as_writable_bytes(std::span(received)).data());
    return received;
  }

  /// *Collective.* Copies `values` of rank `root` to every rank; the size must be the same on every rank.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void broadcast(std::span<T> values, int root) const {
    if (!is_serial()) broadcast_bytes(values.data(), values.size_bytes(), root);
  }

  /// *Collective.* The text of rank `root` on every rank.
  [[nodiscard]] std::string broadcast_text(std::string_view text, int root) const;

#if TESSERA_HAVE_MPI
  /// *Collective.* Waits for a non-blocking collective that the caller has started on `native()`, with the
  /// timeout `timeout()`. `kind` names the collective in messages ("a scan"); `bytes`, the size of the
  /// transfer, determines how long the wait polls without sleeping.
  void wait(MPI_Request& request, std::string_view kind, std::size_t bytes = 0) const {
    wait(request, kind, bytes, timeout());
  }
#endif

 private:
  friend class Purpose;
  friend class Session;
  friend struct detail::CommunicatorAccess;

#if TESSERA_HAVE_MPI
  Communicator(MPI_Comm owned, std::shared_ptr<detail::RankGroup> group, std::uint64_t id,
               std::chrono::milliseconds timeout);
  void wait(MPI_Request& request, std::string_view kind, std::size_t bytes,
            std::chrono::milliseconds timeout) const;
  /// Waits for `request`, the `number`-th collective call on the communicator.
  void wait_at(std::int64_t number, MPI_Request& request, std::string_view kind, std::size_t bytes,
               std::chrono::milliseconds timeout) const;
  [[nodiscard]] std::uint64_t id_of_child(std::uint64_t which) const noexcept;
  /// The native handle. Throws `Error(usage)` if the communicator is empty, MPI has been finalised, or
  /// another thread constructed the communicator.
  [[nodiscard]] MPI_Comm usable() const;
#endif

  /// Maximum number of elements of one MPI call, whose counts are `int`; longer transfers are split.
  static constexpr std::size_t largest_piece = std::numeric_limits<int>::max();

  /// Throws `Error(usage)` unless this process and the calling thread may use the communicator.
  void require_usable() const;
  /// Throws `Error(usage)` unless `counts` has one element per rank and adds up to `total`.
  void check_counts(std::span<const std::size_t> counts, std::size_t total) const;
  /// Throws `Error(usage)` if `least`, the minimum color of a split, is negative.
  static void check_color(int least);

  // The members below are for communicators over MPI only.

  /// Throws like `usable`.
  void mpi_require_usable() const;
  [[nodiscard]] Communicator mpi_duplicate(std::chrono::milliseconds timeout) const;
  [[nodiscard]] Communicator mpi_split(int color) const;
  void mpi_barrier() const;
  void mpi_alive() const;
  [[nodiscard]] std::string mpi_name() const;
  void mpi_free() noexcept;
  void allreduce_elements(void* data, std::size_t count, detail::Number number, Reduction how,
                          std::size_t piece = largest_piece) const;
  void broadcast_bytes(void* data, std::size_t bytes, int root, std::size_t piece = largest_piece) const;
  /// Offsets of each rank's bytes in the gathered result: one more than there are ranks.
  [[nodiscard]] std::vector<std::size_t> gathered_offsets(std::size_t my_bytes) const;
  /// `out` has room for `offsets.back()` bytes.
  void allgatherv_bytes(std::span<const std::byte> mine, std::span<const std::size_t> offsets, std::byte* out,
                        std::size_t piece = largest_piece) const;
  /// *Collective.* The number of elements that each rank sends to this rank; `counts[r]` is the number that
  /// this rank sends to rank r. Throws like `check_counts`.
  [[nodiscard]] std::vector<std::size_t> incoming_counts(std::span<const std::size_t> counts,
                                                         std::size_t total) const;
  /// `out` has room for the sum of `incoming`, in bytes.
  void alltoallv_bytes(const std::byte* outgoing, std::span<const std::size_t> counts,
                       std::span<const std::size_t> incoming, std::byte* out,
                       std::size_t piece = largest_piece) const;

  template <class T>
  [[nodiscard]] static constexpr detail::Number number() {
    if constexpr (std::is_same_v<T, double>)
      return detail::Number::float64;
    else if constexpr (std::is_same_v<T, std::int32_t>)
      return detail::Number::int32;
    else if constexpr (std::is_same_v<T, std::int64_t>)
      return detail::Number::int64;
    else if constexpr (std::is_same_v<T, std::uint32_t>)
      return detail::Number::uint32;
    else {
      static_assert(std::is_same_v<T, std::uint64_t>, "no reduction for this type");
      return detail::Number::uint64;
    }
  }

  struct Self {
#if TESSERA_HAVE_MPI
    MPI_Comm comm = MPI_COMM_NULL;
#endif
    int rank = 0;
    int size = 1;
    std::shared_ptr<detail::RankGroup> group;  // shared by a communicator and all its duplicates and splits
    std::uint64_t id = 0;  // hash that identifies the communicator in the job, the same on its ranks
    std::chrono::milliseconds timeout{};
    SharedFunction<void()> progress{};
    std::int64_t* waits = nullptr;  // number of collective calls so far
    bool serial = false;
    bool owns_process = false;  // whether a serial communicator belongs to a `Session`
    int forks = 0;              // serial: `detail::forks()` at construction, to detect a forked child
  };
  Self self_;
};

/// Names the purpose of this rank's collectives during its lifetime. The line that ends a job because ranks
/// are missing from a collective contains the purpose:
///
///     const mpi::Purpose purpose(comm, "the exchange of halos");
///
/// Purposes nest: "a vote in the exchange of halos". Applies to duplicates and splits as well. Throws
/// `Error(usage)`, like a collective, on a thread that may not call collectives.
class TESSERA_EXPORT Purpose {
 public:
  Purpose(const Communicator& comm, std::string what);
  ~Purpose();
  Purpose(const Purpose&) = delete;
  Purpose& operator=(const Purpose&) = delete;

 private:
  std::shared_ptr<detail::RankGroup> group_;
};

/// Ends the whole job at once with `message` on standard error and exit status `status`. For errors after
/// which other ranks may wait forever in a collective.
[[noreturn]] TESSERA_EXPORT void abort_job(std::string_view message, int status);

}  // namespace TESSERA_NAMESPACE::mpi
