// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/many/responses.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

/// Rows or responses that a thread reads together; a cache line of each fits into the L1 cache.
constexpr std::int64_t runs_at_once = 256;

std::int64_t count_of(const auto& in_place) {
  return std::visit([](const auto& values) { return std::ssize(values); }, in_place);
}

void transpose(DenseMatrix& matrix) {
  std::swap(matrix.rows, matrix.columns);
  std::swap(matrix.row_stride, matrix.column_stride);
}
void transpose(SparseMatrix& matrix) {
  std::swap(matrix.rows, matrix.columns);
  matrix.by_columns = !matrix.by_columns;
}

/// Responses in the columns of a dense strided matrix.
class StridedResponses final : public ResponseSource {
 public:
  StridedResponses(HostTeam& team, const DenseMatrix& matrix, std::vector<std::string> names)
      : team_(team), matrix_(matrix), names_(std::move(names)) {
    const std::int64_t count = count_of(matrix.values);
    const auto [rows, columns] = std::pair(matrix.rows, matrix.columns);
    // Whether offsets stay within `count` elements. The products below then do not overflow.
    const auto is_possible = [&](std::int64_t size, std::int64_t stride) {
      return stride >= 0 && (size <= 1 || stride <= (count - 1) / (size - 1));
    };
    const bool is_empty = rows == 0 || columns == 0;
    if (!is_empty &&
        (count == 0 || !is_possible(rows, matrix.row_stride) || !is_possible(columns, matrix.column_stride) ||
         (rows - 1) * matrix.row_stride + (columns - 1) * matrix.column_stride >= count))
      throw base::usage_error(
          "{}: strides of {} and {} lead outside its {} numbers: give the strides of rows and columns in "
          "elements, not in bytes",
          name_in_memory, matrix.row_stride, matrix.column_stride, count);
  }

  [[nodiscard]] const std::vector<std::string>& names() const override { return names_; }

  void read(Range responses, const ResponseColumns& to) override {
    std::visit(
        [&](const auto& from) {
          team_.for_each_block({0, matrix_.rows}, runs_at_once, [&](int /*thread*/, Range rows) {
            for (std::int64_t j = 0; j < responses.size(); ++j) {
              const std::int64_t first = (responses.begin + j) * matrix_.column_stride;
              for (std::int64_t i = rows.begin; i < rows.end; ++i)
                to.at(i, j) = static_cast<double>(from[at(first + i * matrix_.row_stride)]);
            }
          });
        },
        matrix_.values);
  }

 private:
  HostTeam& team_;
  DenseMatrix matrix_;
  std::vector<std::string> names_;
};

/// Responses in the columns of a compressed sparse matrix (CSR or CSC).
class CompressedResponses final : public ResponseSource {
 public:
  CompressedResponses(HostTeam& team, const SparseMatrix& matrix, std::vector<std::string> names)
      : team_(team), matrix_(matrix), names_(std::move(names)) {
    std::visit([&](const auto& begins) { begins_.assign(begins.begin(), begins.end()); }, matrix.begins);
    const std::int64_t runs = matrix.by_columns ? matrix.columns : matrix.rows;
    const std::int64_t count = count_of(matrix.indices);
    if (std::ssize(begins_) != runs + 1 || begins_.front() < 0 || !std::ranges::is_sorted(begins_) ||
        begins_.back() > count || count_of(matrix.values) != count)
      throw base::usage_error(
          "{}: is not a compressed sparse matrix of {} x {}, because values, indices and begins do not "
          "match: give these arrays of one matrix",
          name_in_memory, matrix.rows, matrix.columns);
    std::visit([&](const auto& indices) { check(indices); }, matrix.indices);
  }

  [[nodiscard]] const std::vector<std::string>& names() const override { return names_; }
  [[nodiscard]] std::int64_t stored_together() const override {
    return matrix_.by_columns || is_sorted_ ? 1 : std::ssize(names_);
  }

  void read(Range responses, const ResponseColumns& to) override {
    to.fill(0);
    const Range runs = matrix_.by_columns ? responses : Range{0, matrix_.rows};
    std::visit(
        [&](const auto& from, const auto& indices) {
          team_.for_each_block(runs, runs_at_once, [&](int /*thread*/, Range some) {
            for (std::int64_t run = some.begin; run < some.end; ++run) {
              const Range elements = elements_of(run, responses, indices);
              for (std::int64_t e = elements.begin; e < elements.end; ++e) {
                const std::int64_t index = indices[at(e)];
                const std::int64_t row = matrix_.by_columns ? index : run;
                const std::int64_t response = matrix_.by_columns ? run : index;
                if (response >= responses.begin && response < responses.end)
                  to.at(row, response - responses.begin) += static_cast<double>(from[at(e)]);
              }
            }
          });
        },
        matrix_.values, matrix_.indices);
  }

 private:
  /// Elements of a run (row or response). If indices are sorted, only the range that contains `responses`.
  [[nodiscard]] Range elements_of(std::int64_t run, Range responses, const auto& indices) const {
    const Range all{begins_[at(run)], begins_[at(run + 1)]};
    if (matrix_.by_columns || !is_sorted_) return all;
    const auto place = [&](std::int64_t index) {
      const auto first = indices.begin();
      return std::lower_bound(first + all.begin, first + all.end, index) - first;
    };
    return {place(responses.begin), place(responses.end)};
  }

  /// Throws for an index outside the matrix. Sets `is_sorted_`.
  void check(const auto& indices) {
    const std::int64_t size = matrix_.by_columns ? matrix_.rows : matrix_.columns;
    std::atomic<bool> is_sorted = true;
    team_.for_each_block({0, std::ssize(begins_) - 1}, runs_at_once, [&](int /*thread*/, Range runs) {
      for (std::int64_t run = runs.begin; run < runs.end; ++run) {
        for (std::int64_t e = begins_[at(run)]; e < begins_[at(run + 1)]; ++e) {
          if (indices[at(e)] < 0 || indices[at(e)] >= size)
            throw base::input_error(
                "{}: the index {} of element {} is outside of the matrix: give indices below {}",
                name_in_memory, indices[at(e)], e, size);
          if (e > begins_[at(run)] && indices[at(e)] < indices[at(e - 1)]) is_sorted = false;
        }
      }
    });
    is_sorted_ = is_sorted;
  }

  HostTeam& team_;
  SparseMatrix matrix_;
  std::vector<std::int64_t> begins_;
  bool is_sorted_ = true;
  std::vector<std::string> names_;
};

std::unique_ptr<ResponseSource> source_of_columns(HostTeam& team, const DenseMatrix& matrix,
                                                  std::vector<std::string> names) {
  return std::make_unique<StridedResponses>(team, matrix, std::move(names));
}
std::unique_ptr<ResponseSource> source_of_columns(HostTeam& team, const SparseMatrix& matrix,
                                                  std::vector<std::string> names) {
  return std::make_unique<CompressedResponses>(team, matrix, std::move(names));
}

}  // namespace

std::unique_ptr<ResponseSource> open_memory_responses(HostTeam& team, const ResponseMatrix& matrix,
                                                      ResponsesIn in, std::int64_t rows) {
  return std::visit(
      [&](auto elements) {
        if (elements.rows < 0 || elements.columns < 0)
          throw base::usage_error("{}: has {} rows and {} columns: give numbers of at least 0",
                                  name_in_memory, elements.rows, elements.columns);
        if (!responses_in_columns(name_in_memory, elements.rows, elements.columns, in, rows))
          transpose(elements);
        std::vector<std::string> names = matrix.names;
        if (names.empty()) {
          names = numbers_as_names(elements.columns);
        } else if (std::ssize(names) != elements.columns) {
          throw base::usage_error("{}: {} names are given for {} responses: give one name per response",
                                  name_in_memory, names.size(), elements.columns);
        }
        return source_of_columns(team, elements, std::move(names));
      },
      matrix.elements);
}

}  // namespace TESSERA_NAMESPACE::gam
