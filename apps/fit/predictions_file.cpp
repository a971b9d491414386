// SPDX-License-Identifier: Apache-2.0
#include "predictions_file.hpp"

#include "base/csv_text.hpp"
#include "files/output_stream.hpp"
#include "gam/table/hdf5/hdf5_writer.hpp"
#include "gam/table/row_pieces.hpp"

#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>
#include <tessera/error.hpp>
#include <variant>

#include "files/output_file.hpp"
#include "files/standard_error.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Numbers whose text travels to rank 0 at once: some megabytes.
constexpr std::int64_t numbers_per_piece = 1 << 18;
/// For the watchdog's messages.
constexpr const char* writing = "the writing of the predictions";

/// As a table has it, which is read as the same column.
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

/// Local rows [begin, end), a line each.
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

/// As a table has it in HDF5. A part may have missing levels where the first has none.
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

ColumnEncoding encoding_of(const Table::Column& column) {
  return encoding_of(variable_of(column), {.name = column.name, .missing = 1}, "--out");
}

std::string_view bytes_of(const std::vector<double>& values, Range rows) {
  return {reinterpret_cast<const char*>(values.data() + rows.begin),
          static_cast<std::size_t>(rows.size()) * sizeof(double)};
}

}  // namespace

bool is_hdf5_name(const std::string& out) {
  return out.ends_with(".h5") || out.ends_with(".hdf5");
}

PredictionsTarget::PredictionsTarget() = default;
PredictionsTarget::~PredictionsTarget() = default;

void PredictionsTarget::open(const std::string& out) {
  if (!is_hdf5_name(out)) {
    csv = std::make_unique<files::OutputStream>(out);
    return;
  }
  hdf5 = std::make_unique<files::OutputFile>(out);
  begin_hdf5(*hdf5);
}

void PredictionsFile::begin(const Predictions& predictions) {
  std::vector<std::string> names;
  if (row_numbers_) names.emplace_back("row");
  for (const Table::Column& column : predictions.kept) names.push_back(column.name);
  for (const Predictions::Column& column : predictions.columns) names.push_back(column.name);
  if (to_.csv != nullptr) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ",") + base::csv_name(name);
    to_.csv->write(text + '\n');
  }
  if (!is_hdf5_) return;
  std::vector<NewColumn> columns;
  for (const std::string& name : names) {
    if (const std::string problem = problem_of_hdf5_name(name); !problem.empty())
      throw Error(ErrorCode::usage, fmt::format("--out: the column '{}' {}: write CSV", name, problem));
    columns.push_back({name, {}});
  }
  for (std::size_t i = 0; i < predictions.kept.size(); ++i)
    columns[i + (row_numbers_ ? 1 : 0)].encoding = encoding_of(predictions.kept[i]);
  places_.resize(columns.size());
  if (to_.hdf5 != nullptr) places_ = add_hdf5_columns(*to_.hdf5, columns, predictions.table_rows);
}

void PredictionsFile::add(const Predictions& predictions) {
  const mpi::Purpose purpose(comm_, writing);
  if (predictions.first_row == 0) together(comm_, [&] { begin(predictions); });
  if (is_hdf5_) return add_to_hdf5(predictions);
  const auto columns = std::ssize(predictions.columns) + std::ssize(predictions.kept) + 1;
  const Range mine = predictions.plan.range_of(comm_.rank());
  write_in_row_order(
      comm_, predictions.plan, std::max<std::int64_t>(1, numbers_per_piece / columns),
      [&](Range rows) { return lines_of(predictions, row_numbers_, mine, rows); },
      [&](std::string_view text) { to_.csv->write(text); });
}

void PredictionsFile::add_to_hdf5(const Predictions& predictions) {
  std::size_t next = 0;
  const auto write = [&](const auto& make) {
    std::int64_t& place = places_[next++];
    write_in_row_order(comm_, predictions.plan, numbers_per_piece, make, [&](std::string_view bytes) {
      to_.hdf5->write_at(place, bytes);
      place += std::ssize(bytes);
    });
  };
  const std::int64_t first = predictions.first_row + predictions.plan.range_of(comm_.rank()).begin + 1;
  if (row_numbers_) {
    write([&](Range rows) {
      std::vector<double> numbers(static_cast<std::size_t>(rows.size()));
      std::iota(numbers.begin(), numbers.end(), static_cast<double>(first + rows.begin));
      return std::string(bytes_of(numbers, {0, rows.size()}));
    });
  }
  for (const Table::Column& column : predictions.kept) {
    const ColumnEncoding encoding = encoding_of(column);
    const Variable variable = variable_of(column);
    write([&](Range rows) { return encoding.bytes_of(variable, rows); });
  }
  for (const Predictions::Column& column : predictions.columns)
    write([&](Range rows) { return std::string(bytes_of(column.values, rows)); });
}

void PredictionsFile::commit() {
  const mpi::Purpose purpose(comm_, writing);
  together(comm_, [&] {
    if (comm_.rank() != 0) return;
    if (const std::string problem = is_hdf5_ ? to_.hdf5->commit() : to_.csv->commit(); !problem.empty())
      files::say_line({"tessera-fit: ", problem});
  });
}

}  // namespace TESSERA_NAMESPACE::gam
