// SPDX-License-Identifier: Apache-2.0
#include "gam/c/shared_rows.hpp"

#include "gam/data/frame/column_numbers.hpp"
#include "gam/data/memory/memory_table.hpp"
#include "gam/data/row_pieces.hpp"

#include <tessera/error.hpp>
#include <tessera/mpi/communicator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace TESSERA_NAMESPACE::gam::c {
namespace {

/// Sends each of this rank's rows to the rank to which the job's plan assigns it (alltoall).
class Exchange {
 public:
  Exchange(const mpi::Communicator& comm, const Plan& plan, Range mine)
      : comm_(comm), counts_(rows_of_ranks(plan, mine)) {}

  [[nodiscard]] std::vector<double> operator()(const std::vector<double>& values) const {
    return of(std::span(values));
  }
  [[nodiscard]] std::vector<double> operator()(const NumberSpans& values) const { return of(values.pieces); }
  [[nodiscard]] std::vector<double> operator()(const IntegerSpans& values) const {
    std::vector<double> numbers;
    std::ranges::transform(of(values.pieces), std::back_inserter(numbers), number_of);
    return numbers;
  }
  [[nodiscard]] Factor operator()(const Factor& values) const {
    return {of(std::span(values.codes)), values.levels, values.order};
  }
  [[nodiscard]] Factor operator()(const FactorSpans& values) const {
    return {of(values.codes), values.levels, values.order};
  }

 private:
  template <class T>
  [[nodiscard]] std::vector<T> of(std::span<const T> values) const {
    return comm_.alltoallv(values, counts_);
  }
  template <class T>
  [[nodiscard]] std::vector<T> of(const std::vector<std::span<const T>>& pieces) const {
    const ColumnPieces<T> column{std::span(pieces)};
    std::vector<T> copy;
    return of(column.rows(0, column.size(), copy));
  }

  const mpi::Communicator& comm_;
  std::vector<std::size_t> counts_;  ///< number of rows sent to each rank
};

/// The names and types of the columns, to compare ranks.
std::string outline_of(const Table& table) {
  std::string text;
  for (const Table::Column& column : table.columns) {
    const bool is_factor =
        std::holds_alternative<Factor>(column.values) || std::holds_alternative<FactorSpans>(column.values);
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", column.name, is_factor ? " (a factor)" : "");
  }
  return text;
}

}  // namespace

Table shared_rows(Job& job, const Table& mine) {
  const mpi::Communicator& comm = job.comm();
  const std::vector<std::string> outlines = comm.allgather_text(outline_of(mine));
  const auto other = std::ranges::find_if(outlines, [&](const auto& one) { return one != outlines.front(); });
  if (other != outlines.end())
    throw Error(ErrorCode::usage, fmt::format("rank {} has the columns {}, but rank 0 has {}: give every "
                                              "rank the same columns in the same order",
                                              other - outlines.begin(), *other, outlines.front()));
  const std::vector<std::int64_t> rows = comm.allgather(mine.plan.units());
  const auto before = rows.begin() + comm.rank();
  const std::int64_t first = std::accumulate(rows.begin(), before, std::int64_t{0});
  Table out{job.plan(std::accumulate(before, rows.end(), first), mine.plan.block()), {}};
  const Exchange exchange(comm, out.plan, {first, first + *before});
  for (const Table::Column& column : mine.columns)
    std::visit(
        [&](const auto& values) {
          out.columns.push_back({column.name, exchange(values)});
        },
        column.values);
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam::c
