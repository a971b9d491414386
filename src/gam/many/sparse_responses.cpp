// SPDX-License-Identifier: Apache-2.0
#include "gam/many/sparse_responses.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/many/elements_by_response.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

class SparseResponses final : public ResponseSource {
 public:
  SparseResponses(const Workers& workers, StoredElements matrix, MatrixNames names)
      : workers_(workers), matrix_(std::move(matrix)), names_(std::move(names)) {
    const std::vector<std::int64_t>& begins = matrix_.begins;
    const std::int64_t runs = matrix_.by_response ? matrix_.responses : matrix_.rows;
    if (std::ssize(begins) != runs + 1)
      throw base::input_error(
          "{}: indptr has {} numbers for {} compressed rows or columns: give one more number than compressed "
          "rows or columns",
          matrix_.name, begins.size(), runs);
    if (const auto fall = std::ranges::is_sorted_until(begins); fall != begins.end())
      throw base::input_error("{}: indptr decreases from {} to {} at element {}: write the matrix again",
                              matrix_.name, *(fall - 1), *fall, fall - begins.begin() + 1);
    const std::int64_t elements = matrix_.data->columns();
    if (begins.front() != 0 || begins.back() != elements || matrix_.indices->columns() != elements)
      throw base::input_error(
          "{}: indptr runs from {} to {}, but data has {} elements and indices {}: write the matrix again",
          matrix_.name, begins.front(), begins.back(), elements, matrix_.indices->columns());
    if (names_.responses.empty()) names_.responses = numbers_as_names(matrix_.responses);
  }

  [[nodiscard]] const std::vector<std::string>& names() const override { return names_.responses; }
  [[nodiscard]] const std::vector<std::string>& row_names() const override { return names_.rows; }

  void prepare(Job& job, const MemoryOptions& memory) override {
    if (!matrix_.by_response) sorted_.emplace(job, matrix_, memory);
  }

  void read(Range responses, const ResponseColumns& to) override {
    to.fill(0);
    if (sorted_) {
      place(responses, responses, sorted_->begins(), to, [&](std::int64_t element) {
        return std::pair<double, double>(sorted_->row(element), sorted_->value(element));
      });
      return;
    }
    // Elements read at a time: some megabytes.
    constexpr std::int64_t at_once = std::int64_t{1} << 22;
    const std::vector<std::int64_t>& begins = matrix_.begins;
    for (std::int64_t response = responses.begin; response < responses.end;) {
      Range some{response, response + 1};
      while (some.end < responses.end && begins[at(some.end + 1)] - begins[at(some.begin)] <= at_once)
        ++some.end;
      const Range elements{begins[at(some.begin)], begins[at(some.end)]};
      const std::vector<double> rows = matrix_.indices->read(workers_.team, elements);
      const std::vector<double> numbers = matrix_.data->read(workers_.team, elements);
      place(some, responses, begins, to, [&](std::int64_t element) {
        return std::pair(rows[at(element - elements.begin)], numbers[at(element - elements.begin)]);
      });
      response = some.end;
    }
  }

 private:
  /// Writes the elements of some responses. `element(i)` returns the row and value.
  template <class Element>
  void place(Range some, Range responses, const std::vector<std::int64_t>& begins, const ResponseColumns& to,
             const Element& element) const {
    workers_.team.for_each_block(some, 1, [&](int /*thread*/, Range one) {
      for (std::int64_t i = begins[at(one.begin)]; i < begins[at(one.end)]; ++i) {
        const std::pair<double, double> placed = element(i);
        const double row = placed.first;
        const double value = placed.second;
        if (!(row >= 0 && row < static_cast<double>(matrix_.rows)))
          throw base::input_error(
              "{}: the index {} of element {} is outside of the matrix: give indices below {}", matrix_.name,
              row, i + 1, matrix_.rows);
        double& place = to.at(static_cast<std::int64_t>(row), one.begin - responses.begin);
        const auto refuse = [&](const char* why) -> Error {
          return base::input_error("{}: response '{}', row {}: {}", matrix_.name,
                                   names_.responses[at(one.begin)], row + 1, why);
        };
        if (std::isnan(value))
          throw refuse("is NaN, but a sparse matrix has no missing values: write a dense one");
        if (place != 0)
          throw refuse("has two elements in the same place: sum duplicates (SciPy: X.sum_duplicates())");
        place = value;
      }
    });
  }

  const Workers& workers_;
  StoredElements matrix_;
  MatrixNames names_;
  std::optional<ElementsByResponse> sorted_;
};

}  // namespace

std::unique_ptr<ResponseSource> sparse_responses(const Workers& workers, StoredElements matrix,
                                                 MatrixNames names) {
  return std::make_unique<SparseResponses>(workers, std::move(matrix), std::move(names));
}

}  // namespace TESSERA_NAMESPACE::gam
