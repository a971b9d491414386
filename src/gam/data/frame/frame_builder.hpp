// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/frame/frame_part.hpp"
#include "gam/data/frame/workers.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Builds the frame of a rank, whose rows the threads of its team read concurrently; frame_part.hpp
/// interprets the fields. Levels, errors and messages are those of a sequential read.
namespace TESSERA_NAMESPACE::gam {

class FrameBuilder {
 public:
  /// `row_word`: the word for a row's number in messages, "line" or "row". `memory`: for the columns.
  /// `taker`: receiver of numbers in memory, or null.
  FrameBuilder(const ReadPlan& plan, Range rows, std::string_view row_word, HostTeam& team,
               RowMemory memory = {}, NumberTaker* taker = nullptr);

  [[nodiscard]] const ReadPlan& plan() const noexcept { return plan_; }
  [[nodiscard]] HostTeam& team() const noexcept { return team_; }

  /// Reads rows on this thread.
  void read(Range rows, const std::function<void(FramePart& part)>& read_rows);
  /// Reads consecutive runs of rows on the threads of the team. `between` is called on this thread before the
  /// first, and repeatedly.
  void read(std::span<const Range> runs, const BetweenReads& between,
            const std::function<void(int thread, std::size_t run, FramePart& part)>& read_run);

  /// Counts of the fields read so far, for each column of the plan.
  [[nodiscard]] std::vector<FieldCounts> counts() const;
  /// *Collective.* Counts over the job.
  [[nodiscard]] std::vector<FieldCounts> counts(const mpi::Communicator& comm) const;
  /// Throws `Error(input)` for the first fault recorded in this rank's rows: a text among numbers, too many
  /// levels, a level that is not UTF-8, an infinite value. Call it once the plan has the types decided from
  /// `counts`, those of the whole job.
  void refuse_faults(std::span<const FieldCounts> counts) const;
  /// *Collective.* The frame, with the levels of the job.
  [[nodiscard]] Frame finish(const mpi::Communicator& comm, std::int64_t file_rows);

 private:
  void for_each_part(const std::function<void(std::size_t part)>& work) const;
  void read_run(FramePart& part, Range rows, const std::function<void()>& read_rows);
  void guard(const std::function<void()>& read_rows);
  void refuse_lasting_infinity() const;
  [[nodiscard]] const Infinity* first_infinity() const;
  [[noreturn]] void refuse(const Infinity& infinity) const;
  [[nodiscard]] ColumnFindings::Stray first_stray(std::size_t column) const;
  [[nodiscard]] std::int64_t first_not_utf8(std::size_t column) const;
  [[nodiscard]] bool has_too_many_levels(std::size_t column) const;
  void agree_on_levels(const mpi::Communicator& comm, Variable& variable, std::size_t column);
  void describe_columns(const mpi::Communicator& comm);
  void describe_expressions(const mpi::Communicator& comm);

  const ReadPlan& plan_;
  std::string row_word_;
  HostTeam& team_;
  std::vector<Dictionary> known_;
  Frame frame_;
  std::deque<FramePart> parts_;  // one a thread of the team
};

/// Passes the fields of some rows of the file to a builder.
using RowScan = std::function<void(Range rows, FrameBuilder& builder)>;

/// Memory of this rank that reading can release: its bytes, and a function that frees it.
struct SpareMemory {
  std::int64_t bytes = 0;
  std::function<void()> let_go{};
};

/// *Collective.* Reads this rank's rows. The first rows suggest a column's type; if the whole file implies
/// another, rows are read again. Spare memory is freed on every rank if a rank lacks memory for its columns,
/// or if they exceed a given limit together with it.
[[nodiscard]] Frame read_frame(const Workers& workers, ReadPlan plan, Range rows, std::int64_t file_rows,
                               std::string_view row_word, const RowScan& scan, const SpareMemory& spare = {});

}  // namespace TESSERA_NAMESPACE::gam
