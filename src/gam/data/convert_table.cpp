// SPDX-License-Identifier: Apache-2.0
#include "gam/data/convert_table.hpp"

#include "base/errors.hpp"
#include "base/pluralised.hpp"
#include "gam/data/column_batches.hpp"
#include "gam/data/hdf5/hdf5_writer.hpp"
#include "gam/data/table_source.hpp"

#include <tessera/gam/convert.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

class Converter {
 public:
  Converter(Job& job, const Table& table, const Conversion& conversion)
      : comm_(job.comm()),
        workers_{job.comm(), job.host_team()},
        conversion_(conversion),
        source_(source_of(table)),
        table_(open_source(workers_, source_, job.options().stop, {.tell = conversion.tell})),
        plan_(source_.plan ? *source_.plan : Plan::over_hosts(table_->rows(), comm_.size())) {
    columns_ = {.names = wanted(), .options = source_.options, .at_once = conversion.columns_at_once};
    conversion_.tell(fmt::format("{}: {}, {}", source_.name, base::pluralised(table_->rows(), "row"),
                                 base::pluralised(columns_.names.size(), "column")));
  }

  /// For HDF5, which takes columns in batches.
  void write_columns(TableOutput& to) {
    for (const std::string& name : columns_.names) {
      const std::string problem = problem_of_hdf5_name(name);
      if (!problem.empty())
        throw base::input_error("{}: the column '{}' {}, or leave it out by naming the other columns",
                                source_.name, name, problem);
    }
    write(to, [&](const Variable& variable, const ColumnReading& reading) {
      const bool may_be_missing = reading.missing > 0;
      static_cast<void>(encoding_of(variable, reading.name, may_be_missing, source_.name));
      return may_be_missing;
    });
  }

  /// For other formats, which take whole rows. Columns that do not fit into memory are in scratch files.
  void write_rows(TableOutput& to) {
    columns_.at_once = std::max<std::size_t>(1, columns_.names.size());
    columns_.memory = MemoryOptions{};
    write(to, [&](const Variable& variable, const ColumnReading& reading) {
      require_no_missing_level(variable, reading.name, source_.name);
      return true;
    });
  }

 private:
  [[nodiscard]] std::vector<std::string> wanted() const {
    std::vector<std::string> names = chosen_columns(*table_, conversion_.columns);
    if (conversion_.columns.empty()) tell_left_out(std::ssize(table_->columns()) - std::ssize(names));
    return names;
  }

  void tell_left_out(std::int64_t nameless) const {
    if (nameless > 0)
      conversion_.tell(fmt::format("left out: {} without a name", base::pluralised(nameless, "column")));
    constexpr std::size_t most_lines = 20;
    std::size_t told = 0;
    const std::map<std::string, std::string> left_out = table_->left_out();
    for (const auto& [name, why] : left_out) {
      if (told++ == most_lines) {
        conversion_.tell(fmt::format("left out: {} more; to see the reason, name the object as a column",
                                     base::pluralised(left_out.size() - most_lines, "object")));
        return;
      }
      conversion_.tell(fmt::format("left out: '{}' {}", name, why));
    }
  }

  /// `check` throws if the format cannot represent a column; it returns whether the column may have missing
  /// values.
  template <class Check>
  void write(TableOutput& to, const Check& check) {
    read_in_batches(
        workers_, *table_, plan_.range_of(comm_.rank()), columns_,
        [&](std::span<const std::string> names, Frame& frame, std::span<const StrayTexts> /*strays*/) {
          std::vector<OutputColumn> columns;
          for (std::size_t c = 0; c < names.size(); ++c) {
            conversion_.tell(to_string(frame.columns[c]));
            const bool may_be_missing = check(frame.variables[c], frame.columns[c]);
            columns.push_back({.name = names[c],
                               .values = std::move(frame.variables[c]),
                               .has_constant_levels = true,
                               .may_be_missing = may_be_missing});
          }
          to.add({.plan = plan_, .first_row = 0, .table_rows = table_->rows(), .columns = columns});
        });
  }

  const mpi::Communicator& comm_;
  Workers workers_;
  const Conversion& conversion_;
  TableSource source_;
  std::unique_ptr<TableReader> table_;
  Plan plan_;
  ColumnBatches columns_;
};

}  // namespace

void add_columns_to_hdf5(Job& job, const Table& table, const Conversion& conversion, TableOutput& to) {
  Converter(job, table, conversion).write_columns(to);
}

void convert_table(Job& job, const Table& table, const std::string& path, const Conversion& conversion) {
  const mpi::Purpose purpose(job.comm(), "the conversion of the table");
  const bool is_folder = is_folder_name(path);
  const auto named = output_format_of(path);
  const OutputFormat format =
      named ? *named : parquet_or(job.comm(), is_folder ? OutputFormat::csv : OutputFormat::hdf5);
  const auto output = TableOutput::make(job.comm(), path, format);
  Converter converter(job, table, conversion);
  if (format == OutputFormat::hdf5 && !is_folder)
    converter.write_columns(*output);
  else
    converter.write_rows(*output);
  if (const std::string problem = output->commit(); !problem.empty()) conversion.tell(problem);
}

void convert_table(Job& job, const Table& table, const std::string& path,
                   const std::vector<std::string>& columns, FitObserver* observer) {
  Conversion conversion{.columns = columns};
  if (observer != nullptr) conversion.tell = [observer](std::string_view line) { observer->note(line); };
  convert_table(job, table, path, conversion);
}

}  // namespace TESSERA_NAMESPACE::gam
