// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/at.hpp"
#include "base/huge_pages.hpp"
#include "gam/data/frame/workers.hpp"
#include "gam/data/source/table_reader.hpp"
#include "gam/formula/expression.hpp"

#include <tessera/gam/many.hpp>
#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

inline constexpr const char* name_in_memory = "the responses in memory";
/// For messages: the path, or `name_in_memory`.
[[nodiscard]] std::string name_of(const Responses& responses);

/// Destination of a read: a column for each response, in the order of the covariates' rows.
class ResponseColumns {
 public:
  /// `row_of`: destination row by source row; empty: identity.
  ResponseColumns(std::span<double> values, std::int64_t rows, std::span<const std::size_t> row_of)
      : values_(values), rows_(base::at(rows)), row_of_(row_of) {}

  /// `row` is a row of the source.
  [[nodiscard]] double& at(std::int64_t row, std::int64_t column) const {
    return values_[base::at(column) * rows_ + row_at(row)];
  }
  /// Sets consecutive source rows of a column, from `first_row` on.
  void set(std::int64_t first_row, std::int64_t column, std::span<const double> values) const {
    const auto to = values_.subspan(base::at(column) * rows_, rows_);
    if (row_of_.empty()) std::ranges::copy(values, to.begin() + first_row);
    for (std::size_t i = 0; !row_of_.empty() && i < values.size(); ++i)
      to[row_of_[base::at(first_row) + i]] = values[i];
  }
  void fill(double value) const { std::ranges::fill(values_, value); }
  [[nodiscard]] ResponseColumns part(Range columns) const {
    const auto size = base::at(columns.size()) * rows_;
    return {values_.subspan(base::at(columns.begin) * rows_, size), static_cast<std::int64_t>(rows_),
            row_of_};
  }

 private:
  [[nodiscard]] std::size_t row_at(std::int64_t row) const {
    return row_of_.empty() ? base::at(row) : row_of_[base::at(row)];
  }

  std::span<double> values_;
  std::size_t rows_;
  std::span<const std::size_t> row_of_;
};

/// Buffer of the values of a batch of responses, reused by the next batch.
class ResponseValues {
 public:
  void resize(std::int64_t rows, std::int64_t responses) {
    rows_ = base::at(rows);
    const std::size_t size = rows_ * base::at(responses);
    if (size > values_.capacity()) {
      values_ = {};
      base::resize_in_huge_pages(values_, size);
    }
    values_.resize(size);
  }
  [[nodiscard]] std::span<double> all() noexcept { return values_; }
  [[nodiscard]] std::span<const double> of(std::int64_t response) const {
    return std::span(values_).subspan(base::at(response) * rows_, rows_);
  }

 private:
  std::vector<double> values_;
  std::size_t rows_ = 0;
};

/// A matrix of responses in a file or in memory, read in parts, independently on each rank.
class ResponseSource {
 public:
  ResponseSource() = default;
  virtual ~ResponseSource() = default;
  ResponseSource(const ResponseSource&) = delete;
  ResponseSource& operator=(const ResponseSource&) = delete;

  /// "1", "2", … for a matrix without names.
  [[nodiscard]] virtual const std::vector<std::string>& names() const = 0;
  /// Names of the rows, e.g. cells; empty if the source has none.
  [[nodiscard]] virtual const std::vector<std::string>& row_names() const;
  /// *Collective.* Must be called before `read`. Throws the same `Error(input)` on every rank.
  virtual void prepare(Job& /*job*/, const MemoryOptions& /*memory*/) {}
  /// Reads responses [begin, end), a column each, and sets every value (NaN: missing). Throws `Error(input)`.
  virtual void read(Range responses, const ResponseColumns& to) = 0;
  /// Number of consecutive responses that cost as much to read as one, e.g. those in a chunk.
  [[nodiscard]] virtual std::int64_t stored_together() const { return 1; }
};

/// Opens responses with a value for each of `rows` rows. Arguments must outlive the source. `workers` must
/// have a serial communicator. Throws `Error(input)` for a file that is not such a matrix, or has another
/// number of rows. Throws `Error(usage)` if the matrix is square and the options do not say whether rows or
/// columns are responses.
[[nodiscard]] std::unique_ptr<ResponseSource> open_responses(const Workers& workers,
                                                             const Responses& responses, std::int64_t rows);

/// `open_responses` for "FILE.h5:/PATH": a two-dimensional dataset, or the group of a compressed sparse
/// matrix as AnnData and Cell Ranger write it (data, indices, indptr, and the attribute or dataset `shape`).
[[nodiscard]] std::unique_ptr<ResponseSource> open_hdf5_responses(const Workers& workers,
                                                                  const std::string& file,
                                                                  const std::string& path, ResponsesIn in,
                                                                  std::int64_t rows);

/// `open_responses` for a matrix in memory, which must outlive the source.
[[nodiscard]] std::unique_ptr<ResponseSource> open_memory_responses(HostTeam& team,
                                                                    const ResponseMatrix& matrix,
                                                                    ResponsesIn in, std::int64_t rows);

/// Refuses covariates that are matrices with a value for each response. Throws `Error(usage)` if the table
/// lacks a variable, but a matrix has its name: in the table's HDF5 file or beside the responses
/// ("…/FC/values" beside "…/FD/values", or a layer).
void refuse_covariates_by_response(const Workers& workers, const TableReader& covariates,
                                   const Responses& responses, std::span<const Expression> variables);

/// Whether responses are the columns of a matrix, not its rows. Throws like `open_responses`.
[[nodiscard]] bool responses_in_columns(const std::string& name, std::int64_t matrix_rows,
                                        std::int64_t matrix_columns, ResponsesIn given,
                                        std::int64_t covariate_rows);

/// "1", "2", …
[[nodiscard]] std::vector<std::string> numbers_as_names(std::int64_t count);

/// The strings of a column. Throws `Error(input)` for a row without a string.
[[nodiscard]] std::vector<std::string> names_of_rows(const Workers& workers, TableReader& table,
                                                     const TableOptions& options, const std::string& column);

/// Reads the responses of a fit in the order of the covariates' rows.
class ResponseReader {
 public:
  /// `row_names`: names of the covariates' rows, by which source rows are matched; empty: matched by
  /// position. Throws `Error(input)` if the source has other row names, or none.
  ResponseReader(std::unique_ptr<ResponseSource> source, const std::string& path,
                 const std::vector<std::string>& row_names);

  [[nodiscard]] ResponseSource& source() const noexcept { return *source_; }
  /// Chooses the responses of `of`, by name if both sources have names, otherwise by index. Throws
  /// `Error(input)` for a missing response.
  void choose_as(const ResponseReader& of);
  /// Source indices of the responses to read.
  std::vector<std::int64_t> chosen{};

  /// Reads the elements `some` of `chosen`. Calls `between` before each read of the source.
  void read(Range some, std::int64_t rows, FunctionRef<void()> between, ResponseValues& to) const;

 private:
  std::unique_ptr<ResponseSource> source_;
  std::string path_;
  std::vector<std::size_t> row_of_;  ///< the covariates' row by source row; empty: identity
};

}  // namespace TESSERA_NAMESPACE::gam
