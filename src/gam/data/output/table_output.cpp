// SPDX-License-Identifier: Apache-2.0
#include "gam/data/output/table_output.hpp"

#include "base/at.hpp"
#include "base/csv_text.hpp"
#include "base/errors.hpp"
#include "files/output_stream.hpp"
#include "gam/data/output/arrow_output.hpp"
#include "gam/data/output/folder_output.hpp"
#include "gam/data/row_pieces.hpp"

#include <tessera/job/together.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

void append_shortest(std::string& text, double number) {
  if (std::isnan(number))
    text += "NA";
  else
    fmt::format_to(std::back_inserter(text), "{}", number);
}

std::string csv_header(std::span<const OutputColumn> columns) {
  // If a factor's name is quoted and another name is not, readers ignore quotes around numbers: quote all.
  const bool all_in_quotes = std::ranges::any_of(columns, [](const OutputColumn& column) {
    return column.values.factor && base::csv_name(column.name) != column.name;
  });
  std::string text;
  for (const OutputColumn& column : columns) {
    if (!text.empty()) text += ',';
    text += all_in_quotes ? base::in_quotes(column.name) : base::csv_name(column.name);
  }
  return text + '\n';
}

/// Lines for local rows: NA for missing values, levels in quotes, so that a reader gets the same columns.
std::string csv_lines(std::span<const OutputColumn> columns, Range rows) {
  std::vector<std::vector<std::string>> levels(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (const std::string& level : columns[c].values.levels) levels[c].push_back(base::in_quotes(level));
  }
  std::string text;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (c > 0) text += ',';
      const Variable& values = columns[c].values;
      if (values.factor) {
        const std::int32_t code = values.codes[at(row)];
        text += code < 0 ? "NA" : levels[c][at(code)];
      } else if (columns[c].with_all_digits) {
        base::append_number(text, values.numbers[at(row)]);
      } else {
        append_shortest(text, values.numbers[at(row)]);
      }
    }
    text += '\n';
  }
  return text;
}

/// Numbers per piece sent to rank 0: some megabytes.
constexpr std::int64_t numbers_per_piece = 1 << 18;

std::int64_t rows_per_piece(const OutputRows& rows) {
  return std::max<std::int64_t>(1, numbers_per_piece / (std::ssize(rows.columns) + 1));
}

/// *Collective.* Commits the file, which only rank 0 has. Returns a problem on rank 0.
template <class File>
std::string commit_on_root(const mpi::Communicator& comm, std::optional<File>& file) {
  std::string problem;
  together(comm, [&] {
    if (file) problem = file->commit();
  });
  return problem;
}

class CsvTableOutput final : public TableOutput {
 public:
  CsvTableOutput(const mpi::Communicator& comm, const std::string& path) : comm_(comm) {
    together(comm, [&] {
      if (comm.rank() == 0) file_.emplace(path);
    });
  }

  void add(const OutputRows& rows) override {
    together(comm_, [&] {
      if (rows.first_row == 0 && file_) file_->write(csv_header(rows.columns));
    });
    write_in_row_order(
        comm_, rows.plan, rows_per_piece(rows), [&](Range some) { return csv_lines(rows.columns, some); },
        [&](std::string_view text) { file_->write(text); });
  }
  std::string commit() override { return commit_on_root(comm_, file_); }

 private:
  const mpi::Communicator& comm_;
  std::optional<files::OutputStream> file_;  // only on rank 0
};

class Hdf5TableOutput final : public TableOutput {
 public:
  Hdf5TableOutput(const mpi::Communicator& comm, const std::string& path) : comm_(comm), path_(path) {
    together(comm, [&] {
      if (comm.rank() != 0) return;
      file_.emplace(path);
      begin_hdf5(*file_);
    });
  }

  void add_texts(std::span<const NewText> texts) override {
    together(comm_, [&] {
      if (file_) add_hdf5_texts(*file_, texts);
    });
  }

  void add(const OutputRows& rows) override {
    if (rows.first_row == 0) together(comm_, [&] { begin(rows); });
    for (std::size_t c = 0; c < rows.columns.size(); ++c) {
      const Variable& values = rows.columns[c].values;
      const ColumnEncoding encoding = encoding_of_part(rows.columns[c]);
      write(rows.plan, numbers_per_piece, places_[c],
            [&](Range some) { return encoding.bytes_of(values, some); });
    }
    for (std::size_t m = 0; m < rows.matrices.size(); ++m) {
      const OutputMatrix& matrix = rows.matrices[m];
      write(rows.plan, std::max<std::int64_t>(1, numbers_per_piece / matrix.width),
            places_[rows.columns.size() + m], [&](Range some) {
              const auto numbers =
                  std::span(matrix.values)
                      .subspan(at(some.begin * matrix.width), at(some.size() * matrix.width));
              return std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
            });
    }
  }
  std::string commit() override { return commit_on_root(comm_, file_); }

 private:
  /// Writes the bytes of all rows of the plan from file offset `place` on, and advances `place`.
  template <class Make>
  void write(const Plan& plan, std::int64_t rows_of_piece, std::int64_t& place, const Make& bytes_of) {
    write_in_row_order(comm_, plan, rows_of_piece, bytes_of, [&](std::string_view bytes) {
      file_->write_at(place, bytes);
      place += std::ssize(bytes);
    });
  }

  [[nodiscard]] ColumnEncoding encoding_of_part(const OutputColumn& column) const {
    return encoding_of(column.values, column.name, column.may_be_missing, path_);
  }

  void begin(const OutputRows& rows) {
    std::vector<NewColumn> columns;
    for (const OutputColumn& column : rows.columns) {
      if (const std::string problem = problem_of_hdf5_name(column.name); !problem.empty())
        throw base::usage_error("{}: the column '{}' {}: write CSV", path_, column.name, problem);
      columns.push_back({column.name, encoding_of_part(column)});
    }
    for (const OutputMatrix& matrix : rows.matrices) columns.push_back({matrix.name, {}, matrix.width});
    places_.resize(columns.size());
    if (file_) places_ = add_hdf5_columns(*file_, columns, rows.table_rows);
  }

  const mpi::Communicator& comm_;
  std::string path_;
  std::optional<files::OutputFile> file_;  // only on rank 0
  std::vector<std::int64_t> places_;       // file offset of the next value of each column
};

}  // namespace

bool is_folder_name(std::string_view path) {
  return path.ends_with('/');
}

bool holds_matrices(std::string_view path) {
  return !is_folder_name(path) && output_format_of(path) == OutputFormat::hdf5;
}

std::optional<OutputFormat> output_format_of(std::string_view path) {
  while (is_folder_name(path)) path.remove_suffix(1);
  static constexpr std::pair<std::string_view, OutputFormat> endings[] = {
      {".csv", OutputFormat::csv},         {".h5", OutputFormat::hdf5},
      {".hdf5", OutputFormat::hdf5},       {".parquet", OutputFormat::parquet},
      {".feather", OutputFormat::feather}, {".arrow", OutputFormat::feather}};
  for (const auto& [ending, format] : endings) {
    if (path.ends_with(ending)) return format;
  }
  return std::nullopt;
}

OutputFormat parquet_or(const mpi::Communicator& comm, OutputFormat other) {
  bool can = false;
  together(comm, [&] { can = comm.rank() == 0 && has_arrow_output(); });
  return comm.allreduce(can ? 1 : 0, mpi::Reduction::max) != 0 ? OutputFormat::parquet : other;
}

std::unique_ptr<TableOutput> TableOutput::make(const mpi::Communicator& comm, const std::string& path,
                                               OutputFormat format) {
  if (is_folder_name(path)) return make_folder_output(comm, path, format);
  switch (format) {
    case OutputFormat::csv: return std::make_unique<CsvTableOutput>(comm, path);
    case OutputFormat::hdf5: return std::make_unique<Hdf5TableOutput>(comm, path);
    default: return make_arrow_output(comm, path, format);
  }
}

}  // namespace TESSERA_NAMESPACE::gam
