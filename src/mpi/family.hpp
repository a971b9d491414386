// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::mpi::detail {

/// Where a rank is, as it travels: a collective of one communicator, counted there.
struct Place {
  std::uint64_t comm = 0;
  std::int64_t number = 0;
  std::array<char, 32> kind{};      ///< "a broadcast"
  std::array<char, 168> purpose{};  ///< what it is for; may be empty

  Place() = default;
  /// Texts are cut to what fits.
  Place(std::uint64_t comm, std::int64_t number, std::string_view kind, std::string_view purpose);

  [[nodiscard]] bool is(const Place& other) const noexcept {
    return comm == other.comm && number == other.number && kind == other.kind;
  }
  /// What the collective is called: by its purpose if it has one.
  [[nodiscard]] std::string name() const;
  /// Both.
  [[nodiscard]] std::string full_name() const;
};

/// A question of a roll call, or an answer to one.
struct Letter {
  std::int64_t call = 0;  ///< which of its roll calls, to the rank that asks
  Place place;            ///< of the rank that writes
};

/// What a communicator and those derived from it have in common: the names of their ranks' hosts, and a
/// channel over which a rank that waits in any of them can be asked where it is. Ranks count as in the first
/// one.
class Family {
 public:
  /// *Collective.*
  explicit Family(MPI_Comm origin);
  ~Family();
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(hosts_.size()); }
  /// "rank 3 (node7)"
  [[nodiscard]] std::string name_of(int rank) const;
  /// By rank of `comm`, which descends from this family.
  [[nodiscard]] std::vector<int> ranks_of(MPI_Comm comm) const;

  /// What the collectives of this rank are for now: "the vote of pass 3 in the sums over the rows".
  [[nodiscard]] std::string purpose() const;

  /// Numbers the roll calls of this rank.
  [[nodiscard]] std::int64_t next_call() noexcept { return ++calls_; }
  /// Does not wait for the letter to be taken.
  void send(int to, int tag, const std::shared_ptr<const Letter>& letter);
  struct Received {
    int from = 0;
    Letter letter;
  };
  /// A letter that has arrived. Does not wait for one.
  [[nodiscard]] std::optional<Received> receive(int tag);

  std::vector<std::string> purposes;  ///< of the collectives of this rank now, the innermost last

 private:
  struct Sent {
    MPI_Request request;
    std::shared_ptr<const Letter> letter;
  };

  MPI_Comm channel_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::int64_t calls_ = 0;
  std::vector<std::string> hosts_;
  std::vector<Sent> under_way_;
};

}  // namespace tessera::mpi::detail
