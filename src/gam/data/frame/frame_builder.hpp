// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame_part.hpp"
#include "gam/data/frame/workers.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

/// Builds a rank's frame from rows that the threads of its team read concurrently; frame_part.hpp interprets
/// the fields. Levels, errors and messages are the same as for sequential reading.
namespace TESSERA_NAMESPACE::gam {

/// Reads a source's rows for the columns of a plan. Row indices count from the source's first row.
class RowScan {
 public:
  RowScan() = default;
  virtual ~RowScan() = default;
  RowScan(const RowScan&) = delete;
  RowScan& operator=(const RowScan&) = delete;

  /// Cuts rows into consecutive runs, which threads of a team read independently.
  [[nodiscard]] virtual std::vector<Range> runs(Range rows) = 0;
  /// Whether the calling thread must read all runs in order.
  [[nodiscard]] virtual bool in_order() const { return false; }
  /// Called on the calling thread before some consecutive runs are read, to open what they need. May throw to
  /// end the reading.
  virtual void prepare(std::span<const Range> runs) = 0;
  /// Passes all rows of a run to `part`, and ends each by `FramePart::end_row`. Skips columns that the source
  /// lacks; the caller supplies them. Throws `Error(input)` for values that cannot be read.
  virtual void read(int thread, Range run, FramePart& part) = 0;
};

class FrameBuilder {
 public:
  /// `memory`: for the columns. `taker`: receives numbers in memory, or null.
  FrameBuilder(const ReadPlan& plan, Range rows, HostTeam& team, RowMemory memory = {},
               NumberTaker* taker = nullptr);

  /// Reads all rows, on the threads of the team unless the scan must read in order.
  void read(RowScan& scan);

  /// This rank's counts so far, by column of the plan.
  [[nodiscard]] std::vector<FieldCounts> counts() const;
  /// *Collective.* `counts()`, summed over the job.
  [[nodiscard]] std::vector<FieldCounts> counts(const mpi::Communicator& comm) const;
  /// Throws `Error(input)` for the first fault recorded in this rank's rows: a text among numbers, too many
  /// levels, a level that is not UTF-8, an infinite value. Call this after the types in the plan are decided
  /// from the job's `counts`.
  void refuse_faults(std::span<const FieldCounts> counts) const;
  /// *Collective.* The frame, with the levels of the job.
  [[nodiscard]] Frame finish(const mpi::Communicator& comm, std::int64_t file_rows);

 private:
  void for_each_part(const std::function<void(std::size_t part)>& work) const;
  static void read_run(RowScan& scan, int thread, Range run, FramePart& part);
  void guard(const std::function<void()>& read_rows);
  void refuse_lasting_infinity() const;
  [[nodiscard]] const Infinity* first_infinity() const;
  [[noreturn]] void refuse(const Infinity& infinity) const;
  [[nodiscard]] ColumnFindings::Stray first_of(ColumnFindings::Stray ColumnFindings::*kind,
                                               std::size_t column) const;
  void refuse_units(std::size_t column, const FieldCounts& counts) const;
  [[nodiscard]] std::int64_t first_not_utf8(std::size_t column) const;
  [[nodiscard]] bool has_too_many_levels(std::size_t column) const;
  void agree_on_levels(const mpi::Communicator& comm, Variable& variable, std::size_t column);
  [[nodiscard]] StrayTexts strays_in(const mpi::Communicator& comm, std::size_t column,
                                     const FieldCounts& counts) const;
  void describe_columns(const mpi::Communicator& comm);
  void describe_expressions(const mpi::Communicator& comm);

  const ReadPlan& plan_;
  HostTeam& team_;
  std::vector<Dictionary> known_;
  Frame frame_;
  std::deque<FramePart> parts_;  // one per thread of the team
};

}  // namespace TESSERA_NAMESPACE::gam
