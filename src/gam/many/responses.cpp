// SPDX-License-Identifier: Apache-2.0
#include "gam/many/responses.hpp"

#include "base/at.hpp"
#include "base/did_you_mean.hpp"
#include "base/errors.hpp"
#include "gam/data/column_batches.hpp"
#include "gam/data/table_source.hpp"
#include "gam/many/dense_responses.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

class TableResponses final : public ResponseSource {
 public:
  TableResponses(const Workers& workers, std::unique_ptr<TableReader> table, const std::string& key,
                 std::int64_t rows)
      : workers_(workers), table_(std::move(table)), names_(chosen_columns(*table_, {})) {
    if (table_->rows() != rows)
      throw base::input_error(
          "{}: has {} rows, but the covariates have {}: give one row of responses per row of covariates",
          table_->name(), table_->rows(), rows);
    if (std::erase(names_, key) > 0) row_names_ = names_of_rows(workers, *table_, {}, key);
  }

  [[nodiscard]] const std::vector<std::string>& names() const override { return names_; }
  [[nodiscard]] const std::vector<std::string>& row_names() const override { return row_names_; }
  [[nodiscard]] std::int64_t stored_together() const override { return std::ssize(names_); }

  void read(Range responses, const ResponseColumns& to) override {
    if (responses.size() == 0) return;
    ColumnBatches batches;
    batches.names.assign(names_.begin() + responses.begin, names_.begin() + responses.end);
    std::int64_t next = 0;
    read_in_batches(
        workers_, *table_, {0, table_->rows()}, batches,
        [&](std::span<const std::string> names, const Frame& frame, std::span<const StrayTexts> /*strays*/) {
          for (std::size_t c = 0; c < names.size(); ++c) {
            const Variable& variable = frame.variables[c];
            if (variable.factor)
              throw base::input_error("{}: the response '{}' has texts, such as '{}': leave the response out",
                                      table_->name(), names[c],
                                      variable.levels.empty() ? "" : variable.levels.front());
            for (std::int64_t i = 0; i < table_->rows(); ++i) to.at(i, next) = variable.numbers[at(i)];
            ++next;
          }
        });
  }

 private:
  const Workers& workers_;
  std::unique_ptr<TableReader> table_;
  std::vector<std::string> names_;
  std::vector<std::string> row_names_;
};

/// Index by name. Throws `Error(input)` for a duplicate.
std::unordered_map<std::string_view, std::size_t> places_of(const std::vector<std::string>& names,
                                                            const std::string& whose) {
  std::unordered_map<std::string_view, std::size_t> places;
  places.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto [other, is_new] = places.emplace(names[i], i);
    if (!is_new)
      throw base::input_error("{}: rows {} and {} have the same name '{}': give each row a distinct name",
                              whose, other->second + 1, i + 1, names[i]);
  }
  return places;
}

/// For each source row, the covariates' row with the same name.
std::vector<std::size_t> matched_rows(const std::vector<std::string>& covariates,
                                      const std::vector<std::string>& source, const std::string& path) {
  const auto places = places_of(covariates, "the covariates");
  const auto own = places_of(source, path);
  const auto absent_from = [](const auto& names, const auto& others) {
    return std::ranges::find_if(names, [&](const std::string& name) { return !others.contains(name); });
  };
  const auto missing = absent_from(covariates, own);
  const auto superfluous = absent_from(source, places);
  if (missing != covariates.end() || superfluous != source.end()) {
    // With equal row counts and unique names, each side lacks a name of the other.
    throw base::input_error(
        "{}: has no row '{}', which the covariates have, but has a row '{}', which the covariates lack: give "
        "both the same rows, in any order",
        path, *missing, *superfluous);
  }
  std::vector<std::size_t> rows;
  rows.reserve(source.size());
  for (const std::string& name : source) rows.push_back(places.at(name));
  return rows;
}

std::vector<std::string> paths_of_matrix(const std::string& name, const TableReader& covariates,
                                         const Responses& responses) {
  std::vector<std::string> paths{covariates.name() + ":/" + name};
  const auto colon = responses.path.rfind(":/");
  if (colon == std::string::npos) return paths;
  paths.push_back(responses.path.substr(0, colon) + ":/layers/" + name);
  // Replaces each part of the path by the name.
  for (auto slash = colon + 1; slash != std::string::npos; slash = responses.path.find('/', slash + 1)) {
    const auto end = responses.path.find('/', slash + 1);
    paths.push_back(responses.path.substr(0, slash + 1) + name +
                    (end == std::string::npos ? "" : responses.path.substr(end)));
  }
  return paths;
}

bool is_matrix_of(const Workers& workers, const std::string& path, ResponsesIn in, std::int64_t rows) {
  try {
    static_cast<void>(open_responses(workers, {.path = path, .in = in}, rows));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void refuse_covariates_by_response(const Workers& workers, const TableReader& covariates,
                                   const Responses& responses, std::span<const Expression> variables) {
  const std::vector<std::string> columns = covariates.columns();
  for (const Expression& variable : variables) {
    for (const std::string& name : variable.columns()) {
      if (std::ranges::find(columns, name) != columns.end()) continue;
      for (const std::string& path : paths_of_matrix(name, covariates, responses)) {
        if (is_matrix_of(workers, path, responses.in, covariates.rows()))
          throw base::usage_error(
              "the variable '{}' has a value for each response ({}), but covariates are the same for all: "
              "fit each response separately; weights and offsets may differ (weights-matrix, offset-matrix)",
              name, path);
      }
    }
  }
}

const std::vector<std::string>& ResponseSource::row_names() const {
  static const std::vector<std::string> none;
  return none;
}

bool responses_in_columns(const std::string& name, std::int64_t matrix_rows, std::int64_t matrix_columns,
                          ResponsesIn given, std::int64_t covariate_rows) {
  const bool columns = matrix_rows == covariate_rows;
  const bool rows = matrix_columns == covariate_rows;
  if (given == ResponsesIn::columns ? !columns : given == ResponsesIn::rows ? !rows : !columns && !rows)
    throw base::input_error("{}: is {} x {}, but the covariates have {} rows: give one value for each", name,
                            matrix_rows, matrix_columns, covariate_rows);
  if (given == ResponsesIn::automatic && rows && columns)
    throw base::usage_error(
        "{}: has as many rows as columns: set responses-in to rows if each row is a response, else to "
        "columns",
        name);
  return given == ResponsesIn::automatic ? columns : given == ResponsesIn::columns;
}

std::vector<std::string> numbers_as_names(std::int64_t count) {
  std::vector<std::string> numbers;
  for (std::int64_t i = 1; i <= count; ++i) numbers.push_back(std::to_string(i));
  return numbers;
}

std::vector<std::string> names_of_rows(const Workers& workers, TableReader& table,
                                       const TableOptions& options, const std::string& column) {
  FrameRequest request;
  request.options = options;
  request.every_row = true;
  request.variables = {column_expression(column)};
  request.texts = {request.variables.front().text};
  // Options for other columns do not apply to this request.
  for (auto* const of_options : {&request.options.factors, &request.options.numbers, &request.options.dates})
    of_options->clear();
  const Frame frame = table.read(workers, request, {0, table.rows()});
  const Variable& names = frame.variables.front();
  std::vector<std::string> texts;
  texts.reserve(names.codes.size());
  for (std::size_t row = 0; row < names.codes.size(); ++row) {
    if (names.codes[row] < 0)
      throw base::input_error("{}: a row has no name in the column '{}': give each row a name",
                              table.place(static_cast<std::int64_t>(row) + 1), column);
    texts.push_back(names.levels[at(names.codes[row])]);
  }
  return texts;
}

ResponseReader::ResponseReader(std::unique_ptr<ResponseSource> source, const std::string& path,
                               const std::vector<std::string>& row_names)
    : source_(std::move(source)), path_(path) {
  if (row_names.empty()) return;
  if (source_->row_names().empty())
    throw base::input_error(
        "{}: has no row names to match with the key: leave the key out to match rows by position", path);
  row_of_ = matched_rows(row_names, source_->row_names(), path);
}

void ResponseReader::choose_as(const ResponseReader& of) {
  const std::vector<std::string>& names = of.source().names();
  const std::vector<std::string>& own = source_->names();
  const auto are_numbers = [](const std::vector<std::string>& all) {
    return all == numbers_as_names(std::ssize(all));
  };
  if (are_numbers(own) || are_numbers(names)) {
    if (own.size() != names.size())
      throw base::input_error("{}: has {} responses, but {} has {}: give both the same responses", path_,
                              own.size(), of.path_, names.size());
    chosen = of.chosen;
    return;
  }
  std::unordered_map<std::string_view, std::int64_t> places;
  for (std::size_t i = 0; i < own.size(); ++i) places.emplace(own[i], static_cast<std::int64_t>(i));
  for (const std::int64_t one : of.chosen) {
    const auto found = places.find(names[at(one)]);
    if (found == places.end())
      throw base::input_error("{}: has no response '{}'{}", path_, names[at(one)],
                              base::names_like(own, names[at(one)]));
    chosen.push_back(found->second);
  }
}

void ResponseReader::read(Range some, std::int64_t rows, FunctionRef<void()> between,
                          ResponseValues& to) const {
  to.resize(rows, some.size());
  const ResponseColumns columns(to.all(), rows, row_of_);
  // Reads each run of consecutive responses at once.
  for (std::int64_t begin = some.begin; begin < some.end;) {
    between();
    std::int64_t end = begin + 1;
    while (end < some.end && chosen[at(end)] == chosen[at(end - 1)] + 1) ++end;
    source_->read({chosen[at(begin)], chosen[at(end - 1)] + 1},
                  columns.part({begin - some.begin, end - some.begin}));
    begin = end;
  }
}

std::string name_of(const Responses& responses) {
  if (responses.table && responses.table->in_files()) return responses.table->paths.front();
  return responses.table || responses.matrix ? name_in_memory : responses.path;
}

std::unique_ptr<ResponseSource> open_responses(const Workers& workers, const Responses& responses,
                                               std::int64_t rows) {
  if (responses.matrix) return open_memory_responses(workers.team, *responses.matrix, responses.in, rows);
  const std::string& path = responses.path;
  // "FILE:/PATH": a dataset or group in an HDF5 file.
  if (const auto colon = path.rfind(":/"); colon != std::string::npos && colon > 0)
    return open_hdf5_responses(workers, path.substr(0, colon), path.substr(colon + 1), responses.in, rows);
  if (path.ends_with(".npy")) return open_npy_responses(workers, path, responses.in, rows);
  if (path.ends_with(".npz"))
    throw base::input_error("{}: is an archive of NumPy arrays: write the matrix by numpy.save(FILE.npy, X)",
                            path);
  if (responses.in == ResponsesIn::rows)
    throw base::usage_error(
        "{}: the responses of a table are its columns: transpose it, or name a matrix within an HDF5 file as "
        "FILE.h5:/PATH",
        name_of(responses));
  return std::make_unique<TableResponses>(workers,
                                          responses.table
                                              ? open_source(workers, source_of(*responses.table), nullptr)
                                              : open_table(workers, path),
                                          responses.key, rows);
}

}  // namespace TESSERA_NAMESPACE::gam
