// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "gam/data/convert_table.hpp"
#include "gam/data/output/table_output.hpp"

#include <tessera/gam/predictions_file.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <variant>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Purpose of the collectives, for the watchdog's messages.
constexpr const char* writing = "the writing of the predictions";

OutputColumn numbers_column(const std::string& name, std::span<const double> numbers) {
  OutputColumn column{.name = name, .values = {}, .with_all_digits = true};
  column.values.name = name;
  column.values.numbers = ColumnStorage<double>::borrow(numbers);
  return column;
}

/// A copied column of the table, which reads back as the same column.
OutputColumn kept_column(const Table::Column& kept) {
  if (const auto* numbers = std::get_if<std::vector<double>>(&kept.values)) {
    OutputColumn column = numbers_column(kept.name, *numbers);
    column.with_all_digits = false;
    return column;
  }
  const auto& factor = std::get<Factor>(kept.values);
  OutputColumn column{.name = kept.name, .values = {}};
  column.values.name = kept.name;
  column.values.factor = true;
  column.values.levels = factor.levels;
  column.values.codes = ColumnStorage<std::int32_t>::borrow(factor.codes);
  return column;
}

/// *Collective.* The format by the ending of the path. Without an ending: CSV for a file; for a folder
/// Parquet if it can be written.
OutputFormat format_of(const mpi::Communicator& comm, const std::string& path) {
  if (const auto format = output_format_of(path)) return *format;
  return is_folder_name(path) ? parquet_or(comm, OutputFormat::csv) : OutputFormat::csv;
}

}  // namespace

bool is_hdf5_name(const std::string& path) {
  return !is_folder_name(path) && output_format_of(path) == OutputFormat::hdf5;
}

struct PredictionsFile::State {
  const mpi::Communicator& comm;
  bool row_numbers;
  std::unique_ptr<TableOutput> output;
};

PredictionsFile::PredictionsFile(const mpi::Communicator& comm, const std::string& path, bool row_numbers)
    : state_(std::make_unique<State>(
          State{comm, row_numbers, TableOutput::make(comm, path, format_of(comm, path))})) {}
PredictionsFile::~PredictionsFile() = default;

void PredictionsFile::add_columns(Job& job, const Table& table, const std::vector<std::string>& columns) {
  add_columns_to_hdf5(job, table, {.columns = columns}, *state_->output);
}

void PredictionsFile::add(const Predictions& predictions) {
  const mpi::Communicator& comm = state_->comm;
  const mpi::Purpose purpose(comm, writing);
  const Range mine = predictions.plan.range_of(comm.rank());
  std::vector<double> row_numbers;
  std::vector<OutputColumn> columns;
  if (state_->row_numbers) {
    row_numbers.resize(base::at(mine.size()));
    std::iota(row_numbers.begin(), row_numbers.end(),
              static_cast<double>(predictions.first_row + mine.begin + 1));
    columns.push_back(numbers_column("row", row_numbers));
  }
  for (const Table::Column& column : predictions.kept) columns.push_back(kept_column(column));
  for (const Predictions::Column& column : predictions.columns)
    columns.push_back(numbers_column(column.name, column.values));
  state_->output->add({.plan = predictions.plan,
                       .first_row = predictions.first_row,
                       .table_rows = predictions.table_rows,
                       .columns = columns});
}

std::string PredictionsFile::commit() {
  const mpi::Purpose purpose(state_->comm, writing);
  return state_->output->commit();
}

}  // namespace TESSERA_NAMESPACE::gam
