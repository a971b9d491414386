// SPDX-License-Identifier: Apache-2.0
#include "base/csv_text.hpp"
#include "base/errors.hpp"
#include "files/output_stream.hpp"
#include "gam/data/convert_table.hpp"
#include "gam/data/hdf5/hdf5_writer.hpp"
#include "gam/data/row_pieces.hpp"

#include <tessera/gam/predictions_file.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>
#include <variant>

#include "files/output_file.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Numbers whose text is sent to rank 0 at once: some megabytes.
constexpr std::int64_t numbers_per_piece = 1 << 18;
/// For the watchdog's messages.
constexpr const char* writing = "the writing of the predictions";

/// Writes a value as in a table, so that it is read as the same column.
void append_kept(std::string& text, const Table::Column& column, std::size_t row) {
  if (const auto* numbers = std::get_if<std::vector<double>>(&column.values)) {
    if (std::isnan((*numbers)[row]))
      text += "NA";
    else
      fmt::format_to(std::back_inserter(text), "{}", (*numbers)[row]);
    return;
  }
  const Factor& factor = std::get<Factor>(column.values);
  const std::int32_t code = factor.codes[row];
  text += code < 0 ? "NA" : base::in_quotes(factor.levels[static_cast<std::size_t>(code)]);
}

/// Text of local rows [begin, end), one line each.
std::string lines_of(const Predictions& predictions, bool row_numbers, Range mine, Range rows) {
  std::string text;
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    const auto row = static_cast<std::size_t>(i);
    if (row_numbers)
      fmt::format_to(std::back_inserter(text), "{},", predictions.first_row + mine.begin + i + 1);
    for (const Table::Column& column : predictions.kept) {
      append_kept(text, column, row);
      text += ',';
    }
    for (const Predictions::Column& column : predictions.columns) {
      base::append_number(text, column.values[row]);
      text += ',';
    }
    if (text.empty() || text.back() != ',')
      text += '\n';
    else
      text.back() = '\n';
  }
  return text;
}

/// A column as a table has it in HDF5. A part may have missing levels where the first has none.
Variable variable_of(const Table::Column& column) {
  Variable variable;
  variable.name = column.name;
  if (const auto* numbers = std::get_if<std::vector<double>>(&column.values)) {
    variable.numbers = ColumnStorage<double>::borrow(*numbers);
    return variable;
  }
  const Factor& factor = std::get<Factor>(column.values);
  variable.factor = true;
  variable.levels = factor.levels;
  variable.codes = ColumnStorage<std::int32_t>::borrow(factor.codes);
  return variable;
}

ColumnEncoding encoding_of(const Table::Column& column, const std::string& path) {
  return encoding_of(variable_of(column), {.name = column.name, .missing = 1}, path);
}

std::string_view bytes_of(const std::vector<double>& values, Range rows) {
  return {reinterpret_cast<const char*>(values.data() + rows.begin),
          static_cast<std::size_t>(rows.size()) * sizeof(double)};
}

}  // namespace

bool is_hdf5_name(const std::string& path) {
  return path.ends_with(".h5") || path.ends_with(".hdf5");
}

struct PredictionsFile::State {
  const mpi::Communicator& comm;
  std::string path;
  bool is_hdf5;
  bool row_numbers;
  std::unique_ptr<files::OutputStream> csv{};  ///< the CSV output, on rank 0
  std::unique_ptr<files::OutputFile> hdf5{};   ///< the HDF5 output, on rank 0
  std::vector<std::int64_t> places{};          ///< offset in the HDF5 file of the next number of each column

  void begin(const Predictions& predictions);
  void add_to_hdf5(const Predictions& predictions);
};

PredictionsFile::PredictionsFile(const mpi::Communicator& comm, const std::string& path, bool row_numbers)
    : state_(std::make_unique<State>(State{comm, path, is_hdf5_name(path), row_numbers})) {
  together(comm, [&] {
    if (comm.rank() != 0) return;
    if (!state_->is_hdf5) {
      state_->csv = std::make_unique<files::OutputStream>(path);
      return;
    }
    state_->hdf5 = std::make_unique<files::OutputFile>(path);
    begin_hdf5(*state_->hdf5);
  });
}
PredictionsFile::~PredictionsFile() = default;

void PredictionsFile::add_columns(Job& job, const Table& table, const std::vector<std::string>& columns) {
  add_columns_to_hdf5(job, table, {.columns = columns}, state_->hdf5.get());
}

void PredictionsFile::State::begin(const Predictions& predictions) {
  std::vector<std::string> names;
  if (row_numbers) names.emplace_back("row");
  for (const Table::Column& column : predictions.kept) names.push_back(column.name);
  for (const Predictions::Column& column : predictions.columns) names.push_back(column.name);
  if (csv != nullptr) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ",") + base::csv_name(name);
    csv->write(text + '\n');
  }
  if (!is_hdf5) return;
  std::vector<NewColumn> columns;
  for (const std::string& name : names) {
    if (const std::string problem = problem_of_hdf5_name(name); !problem.empty())
      throw base::usage_error("{}: the column '{}' {}: write CSV", path, name, problem);
    columns.push_back({name, {}});
  }
  for (std::size_t i = 0; i < predictions.kept.size(); ++i)
    columns[i + (row_numbers ? 1 : 0)].encoding = encoding_of(predictions.kept[i], path);
  places.resize(columns.size());
  if (hdf5 != nullptr) places = add_hdf5_columns(*hdf5, columns, predictions.table_rows);
}

void PredictionsFile::add(const Predictions& predictions) {
  const mpi::Communicator& comm = state_->comm;
  const mpi::Purpose purpose(comm, writing);
  if (predictions.first_row == 0) together(comm, [&] { state_->begin(predictions); });
  if (state_->is_hdf5) return state_->add_to_hdf5(predictions);
  const auto columns = std::ssize(predictions.columns) + std::ssize(predictions.kept) + 1;
  const Range mine = predictions.plan.range_of(comm.rank());
  write_in_row_order(
      comm, predictions.plan, std::max<std::int64_t>(1, numbers_per_piece / columns),
      [&](Range rows) { return lines_of(predictions, state_->row_numbers, mine, rows); },
      [&](std::string_view text) { state_->csv->write(text); });
}

void PredictionsFile::State::add_to_hdf5(const Predictions& predictions) {
  std::size_t next = 0;
  const auto write = [&](const auto& make) {
    std::int64_t& place = places[next++];
    write_in_row_order(comm, predictions.plan, numbers_per_piece, make, [&](std::string_view bytes) {
      hdf5->write_at(place, bytes);
      place += std::ssize(bytes);
    });
  };
  const std::int64_t first = predictions.first_row + predictions.plan.range_of(comm.rank()).begin + 1;
  if (row_numbers) {
    write([&](Range rows) {
      std::vector<double> numbers(static_cast<std::size_t>(rows.size()));
      std::iota(numbers.begin(), numbers.end(), static_cast<double>(first + rows.begin));
      return std::string(bytes_of(numbers, {0, rows.size()}));
    });
  }
  for (const Table::Column& column : predictions.kept) {
    const ColumnEncoding encoding = encoding_of(column, path);
    const Variable variable = variable_of(column);
    write([&](Range rows) { return encoding.bytes_of(variable, rows); });
  }
  for (const Predictions::Column& column : predictions.columns)
    write([&](Range rows) { return std::string(bytes_of(column.values, rows)); });
}

std::string PredictionsFile::commit() {
  const mpi::Purpose purpose(state_->comm, writing);
  std::string problem;
  together(state_->comm, [&] {
    if (state_->comm.rank() != 0) return;
    problem = state_->is_hdf5 ? state_->hdf5->commit() : state_->csv->commit();
  });
  return problem;
}

}  // namespace TESSERA_NAMESPACE::gam
