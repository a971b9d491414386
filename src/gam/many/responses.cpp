// SPDX-License-Identifier: Apache-2.0
#include "gam/many/responses.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/data/column_batches.hpp"
#include "gam/data/source/table_reader.hpp"
#include "gam/data/table_source.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

/// Responses that are the columns of a table.
class TableResponses final : public ResponseSource {
 public:
  TableResponses(const Workers& workers, std::unique_ptr<TableReader> table, std::int64_t rows)
      : workers_(workers), table_(std::move(table)), names_(chosen_columns(*table_, {})) {
    if (table_->rows() != rows)
      throw base::input_error("{}: has {} rows, but the covariates have {}: give one row for each",
                              table_->name(), table_->rows(), rows);
  }

  [[nodiscard]] const std::vector<std::string>& names() const override { return names_; }
  [[nodiscard]] bool reads_all() const override { return true; }

  [[nodiscard]] Matrix read(Range responses) override {
    Matrix values(static_cast<int>(table_->rows()), static_cast<int>(responses.size()));
    if (responses.size() == 0) return values;
    ColumnBatches batches;
    batches.names.assign(names_.begin() + responses.begin, names_.begin() + responses.end);
    int next = 0;
    read_in_batches(
        workers_, *table_, {0, table_->rows()}, batches,
        [&](std::span<const std::string> names, const Frame& frame, std::span<const StrayTexts> /*strays*/) {
          for (std::size_t c = 0; c < names.size(); ++c) {
            const Variable& variable = frame.variables[c];
            if (variable.factor)
              throw base::input_error("{}: the response '{}' has texts, such as '{}': leave it out",
                                      table_->name(), names[c],
                                      variable.levels.empty() ? "" : variable.levels.front());
            const auto column = values.column(next++);
            for (std::size_t i = 0; i < column.size(); ++i) column[i] = variable.numbers[i];
          }
        });
    return values;
  }

 private:
  const Workers& workers_;
  std::unique_ptr<TableReader> table_;
  std::vector<std::string> names_;
};

}  // namespace

bool responses_in_columns(const std::string& name, std::int64_t matrix_rows, std::int64_t matrix_columns,
                          ResponsesIn given, std::int64_t covariate_rows) {
  const bool columns = matrix_rows == covariate_rows;
  const bool rows = matrix_columns == covariate_rows;
  if (given == ResponsesIn::columns ? !columns : given == ResponsesIn::rows ? !rows : !columns && !rows)
    throw base::input_error("{}: is {} x {}, but the covariates have {} rows: give one value for each", name,
                            matrix_rows, matrix_columns, covariate_rows);
  if (given == ResponsesIn::automatic && rows && columns)
    throw base::usage_error(
        "{}: has as many rows as columns: set responses-in to rows or columns, whichever are the responses",
        name);
  return given == ResponsesIn::automatic ? columns : given == ResponsesIn::columns;
}

std::string name_of(const Responses& responses) {
  if (responses.table && responses.table->in_files()) return responses.table->paths.front();
  return responses.table || responses.matrix ? name_in_memory : responses.path;
}

std::unique_ptr<ResponseSource> open_responses(const Workers& workers, const Responses& responses,
                                               std::int64_t rows) {
  if (responses.matrix) return open_memory_responses(workers.team, *responses.matrix, responses.in, rows);
  // "FILE:/PATH" is a dataset or a group within an HDF5 file.
  if (const auto colon = responses.path.rfind(":/"); colon != std::string::npos && colon > 0)
    return open_hdf5_responses(responses.path.substr(0, colon), responses.path.substr(colon + 1), responses,
                               rows);
  if (responses.in == ResponsesIn::rows)
    throw base::usage_error(
        "{}: the responses of a table are its columns: transpose it, or name a matrix within an HDF5 file as "
        "FILE.h5:/PATH",
        name_of(responses));
  return std::make_unique<TableResponses>(workers,
                                          responses.table
                                              ? open_source(workers, source_of(*responses.table), nullptr)
                                              : open_table(workers, responses.path),
                                          rows);
}

}  // namespace TESSERA_NAMESPACE::gam
