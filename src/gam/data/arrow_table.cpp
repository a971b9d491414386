// SPDX-License-Identifier: Apache-2.0
#include "base/message.hpp"
#include "gam/data/arrow/arrow_columns.hpp"
#include "gam/data/table_source.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/arrow.hpp>
#include <tessera/job/together.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <unordered_set>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// *Collective.* The union of each column's levels over all ranks, in the order of ranks.
std::vector<ArrowColumns::Levels> united(const mpi::Communicator& comm,
                                         std::vector<ArrowColumns::Levels> mine) {
  const auto of_ranks = base::allgather_values(comm, mine);
  for (ArrowColumns::Levels& column : mine) {
    column.levels.clear();
    std::unordered_set<std::string> known;
    for (const std::vector<ArrowColumns::Levels>& of_rank : of_ranks) {
      for (const ArrowColumns::Levels& other : of_rank) {
        if (other.column != column.column) continue;
        for (const std::string& level : other.levels) {
          if (known.insert(level).second) column.levels.push_back(level);
        }
      }
    }
  }
  return mine;
}

Table table_of(Job& job, const std::function<ArrowBatches()>& take, const ArrowOptions& options) {
  const mpi::Communicator& comm = job.comm();
  const mpi::Purpose purpose(comm, "the reading of the table");
  HostTeam& team = job.host_team();
  std::shared_ptr<ArrowColumns> columns;
  together(comm, [&] { columns = std::make_shared<ArrowColumns>(take(), options, team); });
  std::vector<ArrowColumns::Levels> levels = united(comm, columns->levels());
  Table table{job.plan(comm.allreduce(columns->rows(), mpi::Reduction::sum), options.block_rows), {}};
  together(comm, [&] {
    const std::int64_t rows = job.local_range(table.plan).size();
    if (columns->rows() != rows)
      refuse_arrow(ErrorCode::usage,
                   "rank {} has {} of {} rows, but the plan of the job needs {} rows on this rank: give each "
                   "rank the rows of the plan",
                   comm.rank(), columns->rows(), table.plan.units(), rows);
    columns->set_levels(std::move(levels), team);
  });
  table.columns = columns->columns();
  table.owners.push_back(std::move(columns));
  return table;
}

}  // namespace

Table arrow_table(Job& job, ArrowArrayStream* stream, const ArrowOptions& options) {
  const HandedOver<ArrowArrayStream> handed_over(stream, 1);
  StopRequest* const stop = job.options().stop;
  return table_of(
      job, [&] { return take_batches(stream, [stop] { stop_if_asked(stop); }); }, options);
}

Table arrow_table(Job& job, ArrowSchema* schema, std::span<ArrowArray> batches, const ArrowOptions& options) {
  const HandedOver<ArrowSchema> handed_over(schema, 1);
  const HandedOver<ArrowArray> batches_too(batches.data(), batches.size());
  return table_of(
      job, [&] { return take_batches(schema, batches); }, options);
}

}  // namespace TESSERA_NAMESPACE::gam
