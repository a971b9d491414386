// SPDX-License-Identifier: Apache-2.0
#include "gam/data/column_batches.hpp"
#include "gam/data/table_source.hpp"

#include <tessera/gam/columns.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::size_t most_first = 5;  // maximum number of levels listed

/// *Collective.* Sets the column's range over the job, and whether all its numbers are integers.
void describe_numbers(const Workers& workers, const Variable& variable, std::int64_t rows,
                      ColumnDescription& column) {
  struct Part {
    Extent extent;
    bool whole = true;
  };
  std::vector<Part> parts(static_cast<std::size_t>(workers.team.size()));
  constexpr std::int64_t block = std::int64_t{1} << 16;
  workers.team.for_each_block({0, rows}, block, [&](int thread, Range some) {
    Part& part = parts[static_cast<std::size_t>(thread)];
    variable.numbers.for_each_piece(static_cast<std::size_t>(some.begin), static_cast<std::size_t>(some.end),
                                    [&](std::span<const double> numbers) {
                                      for (const double number : numbers) {
                                        if (std::isnan(number)) continue;
                                        part.extent.add(number);
                                        part.whole = part.whole && number == std::trunc(number);
                                      }
                                    });
  });
  Part all;
  for (const Part& part : parts) {
    all.extent.add(part.extent);
    all.whole = all.whole && part.whole;
  }
  std::array<double, 3> least{all.extent.min, -all.extent.max, all.whole ? 1.0 : 0.0};
  workers.comm.allreduce(std::span<double>(least), mpi::Reduction::min);
  if (least[0] > -least[1]) return;
  column.least = least[0];
  column.greatest = -least[1];
  column.whole = least[2] != 0;
}

ColumnDescription description_of(const std::string& name, const ColumnReading& reading, std::int64_t rows) {
  const std::size_t bytes = reading.factor ? sizeof(std::int32_t) : sizeof(double);
  return {.name = name,
          .factor = reading.factor,
          .unit = reading.unit,
          .in_quotes = reading.without_quotes,
          .missing = reading.missing,
          .blank = reading.blank,
          .levels = reading.levels,
          .bytes = rows * static_cast<std::int64_t>(bytes)};
}

}  // namespace

TableDescription describe_columns(Job& job, const Table& table, const std::vector<std::string>& columns) {
  const mpi::Purpose purpose(job.comm(), "the description of the columns");
  const Workers workers{job.comm(), job.host_team()};
  const TableSource source = source_of(table);
  const auto reader = open_source(workers, source, job.options().stop);
  const Plan plan = source.plan ? *source.plan : Plan::over_hosts(reader->rows(), job.comm().size());
  const Range rows = plan.range_of(job.comm().rank());
  TableDescription out{.name = source.name, .rows = reader->rows(), .left_out = reader->left_out()};
  const std::vector<std::string> ordered = reader->ordered_columns();
  const ColumnBatches batches{
      .names = chosen_columns(*reader, columns), .options = source.options, .described = true};
  read_in_batches(
      workers, *reader, rows, batches,
      [&](std::span<const std::string> names, Frame& frame, std::span<const StrayTexts> strays) {
        for (std::size_t c = 0; c < names.size(); ++c) {
          ColumnDescription& column =
              out.columns.emplace_back(description_of(names[c], frame.columns[c], out.rows));
          const Variable& variable = frame.variables[c];
          if (variable.factor) {
            column.ordered = std::ranges::find(ordered, names[c]) != ordered.end();
            column.too_many_levels = column.levels > static_cast<std::int64_t>(max_levels);
            column.first.assign(
                variable.levels.begin(),
                variable.levels.begin() + std::min<std::ptrdiff_t>(std::ssize(variable.levels), most_first));
          } else {
            describe_numbers(workers, variable, rows.size(), column);
          }
          column.strays = strays[c].count;
          column.stray = strays[c].first;
          column.stray_place = strays[c].place;
        }
      });
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
