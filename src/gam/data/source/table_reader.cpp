// SPDX-License-Identifier: Apache-2.0
#include "gam/data/source/table_reader.hpp"

#include "base/errors.hpp"
#include "gam/data/frame/variable_summary.hpp"

#include <tessera/job/together.hpp>
#include <tessera/topology/memory_shortage.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

// Number of rows read first, to decide the columns' types.
constexpr std::int64_t rows_of_sample = 1000;

/// Bytes of a frame per row: the minimum memory for a rank's part of the table.
std::int64_t bytes_per_row(const ReadPlan& plan) {
  std::size_t bytes = sizeof(Frame{}.complete[0]);
  for (const ReadPlan::PlannedVariable& variable : plan.variables()) {
    if (plan.in_memory(variable) == nullptr)
      bytes += plan.is_factor(variable) ? sizeof(std::int32_t) : sizeof(double);
  }
  return static_cast<std::int64_t>(bytes) + plan.request().more_bytes_per_row;
}

struct Share {
  RowMemory memory;
  std::string limit;
};

/// *Collective.* Whether a rank lacks memory for its columns. `spare_bytes`: size of the cache, which is not
/// part of the measured free memory, but counts towards a limit given by the user.
bool is_short_of_memory(const mpi::Communicator& comm, const ReadPlan& plan, Range rows,
                        std::int64_t spare_bytes) {
  const std::int64_t bytes = rows.size() * bytes_per_row(plan);
  if (!plan.request().memory) return find_memory_shortage(comm, bytes).has_value();
  const auto node_bytes = plan.request().memory->node_bytes;
  return share_memory(comm, bytes + (node_bytes ? spare_bytes : 0), node_bytes).shortage.has_value();
}

/// *Collective.* Divides the memory among ranks. Refuses a table that must be in memory and does not fit,
/// because the kernel would otherwise kill a rank.
Share share_for(const mpi::Communicator& comm, const ReadPlan& plan, Range rows) {
  const std::int64_t bytes = rows.size() * bytes_per_row(plan);
  if (!plan.request().memory) {
    if (const auto shortage = find_memory_shortage(comm, bytes))
      throw base::input_error("{}: the rows {}", plan.path(), to_string(*shortage));
    return {};
  }
  const MemoryShare share = share_memory(comm, bytes, plan.request().memory->node_bytes);
  if (!share.shortage) return {};
  const std::string& source = share.shortage->limit.source;
  const std::string& folder = plan.request().memory->scratch;
  return {RowMemory(share.bytes, folder.empty() ? files::default_scratch_folder() : folder),
          source.empty() ? "the given limit" : source};
}

/// *Collective.*
SpilledColumns spilled_of(const mpi::Communicator& comm, const Frame& frame, std::int64_t all_bytes,
                          const std::string& limit) {
  std::array<std::int64_t, 2> bytes{frame.memory.spilled_bytes(), all_bytes};
  comm.allreduce(std::span<std::int64_t>(bytes), mpi::Reduction::sum);
  return {bytes[0], bytes[1], comm.broadcast_text(frame.memory.folder(), 0), limit};
}

/// *Collective.* Predicts from a sample which ranges contain the medians, so that the reading collects the
/// values in these ranges.
void look_for_medians(const Workers& workers, ReadPlan& plan, std::int64_t file_rows) {
  if (plan.request().every_row) return;
  std::vector<std::size_t> variables;
  std::vector<const ColumnNumbers*> columns;
  for (std::size_t v = 0; v < plan.variables().size(); ++v) {
    const ReadPlan::PlannedVariable& planned = plan.variables()[v];
    const ColumnNumbers* const numbers = plan.in_memory(planned);
    if (!planned.wants_median || numbers == nullptr) continue;
    variables.push_back(v);
    columns.push_back(numbers);
  }
  const std::vector<KeySpan> ranges = likely_medians(workers, columns, file_rows);
  for (std::size_t i = 0; i < variables.size(); ++i) plan.set_near_median(variables[i], ranges[i]);
}

}  // namespace

Frame TableReader::read(const Workers& workers, const FrameRequest& request, Range rows,
                        std::vector<StrayTexts>* strays) {
  return read_unchanged(workers.comm, [&] {
    ReadPlan plan = this->plan(request, {});
    plan.set_strays(strays);
    plan.set_places([this](std::int64_t row_number) { return place(row_number); });
    return read_rows(workers, plan, rows);
  });
}

// Type inference: the first rows suggest a type; if the whole table implies another, rows are read again.
Frame TableReader::read_rows(const Workers& workers, ReadPlan& plan, Range rows) {
  const mpi::Communicator& comm = workers.comm;
  // Sets the types implied by the fields; true if a type changes.
  const auto retyped = [&](std::span<const FieldCounts> counts) {
    bool changed = false;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      const UsedColumn& used = plan.columns()[c];
      if (used.known_levels != nullptr || !used.numbers_for.empty()) continue;
      const bool number_levels = used.made_factor && counts[c].texts == 0;
      const bool text = used.typed ? used.text : counts[c].factor();
      if (used.text == text && used.number_levels == number_levels) continue;
      plan.column(c).text = text;
      plan.column(c).number_levels = number_levels;
      changed = true;
    }
    return changed;
  };
  {
    // The rank with the first rows of the table samples them.
    const std::int64_t first = comm.allreduce(
        rows.empty() ? std::numeric_limits<std::int64_t>::max() : rows.begin, mpi::Reduction::min);
    Range sample = rows;
    sample.end = rows.begin == first ? std::min(rows.end, first + rows_of_sample) : rows.begin;
    std::optional<FrameBuilder> builder;
    together(comm,
             [&] { builder.emplace(plan, sample, workers.team).read(*scan(plan, workers.team.size())); });
    static_cast<void>(retyped(builder->counts(comm)));
  }
  for (;;) {
    if (is_short_of_memory(comm, plan, rows, kept_bytes())) let_go_of_kept();
    const Share share = share_for(comm, plan, rows);
    look_for_medians(workers, plan, this->rows());
    std::optional<FrameBuilder> builder;
    together(comm, [&] {
      builder.emplace(plan, rows, workers.team, share.memory, plan.request().taker)
          .read(*scan(plan, workers.team.size()));
    });
    const std::vector<FieldCounts> counts = builder->counts(comm);
    if (retyped(counts)) continue;
    together(comm, [&] { builder->refuse_faults(counts); });
    Frame frame = builder->finish(comm, this->rows());
    frame.spilled = spilled_of(comm, frame, rows.size() * bytes_per_row(plan), share.limit);
    return frame;
  }
}

ReadPlan TableReader::plan(const FrameRequest& request, std::span<const std::string> more_columns) const {
  const std::map<std::string, std::string> unusable = left_out();
  for (const Expression& variable : request.variables) {
    for (const std::string& column : variable.columns()) {
      auto found = unusable.find(column);
      // For a path into a group of HDF5: the reason why the group is not read.
      if (found == unusable.end()) found = unusable.find(column.substr(0, column.find('/')));
      if (found != unusable.end())
        throw base::input_error("{}: '{}' {}", name(), found->first, found->second);
    }
  }
  std::vector<std::string> names = columns();
  names.insert(names.end(), more_columns.begin(), more_columns.end());
  ReadPlan plan(request, names, name());
  describe(plan);
  return plan;
}

std::string TableReader::place(std::int64_t row_number) const {
  return fmt::format("{}, {} {}", name(), row_word(), row_number);
}

}  // namespace TESSERA_NAMESPACE::gam
