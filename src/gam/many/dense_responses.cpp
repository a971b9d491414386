// SPDX-License-Identifier: Apache-2.0
#include "gam/many/dense_responses.hpp"

#include "base/at.hpp"

#include <algorithm>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

class DenseResponses final : public ResponseSource {
 public:
  DenseResponses(const Workers& workers, std::unique_ptr<StoredMatrix> stored, bool in_columns,
                 MatrixNames names)
      : workers_(workers), stored_(std::move(stored)), in_columns_(in_columns), names_(std::move(names)) {
    if (names_.responses.empty())
      names_.responses = numbers_as_names(in_columns_ ? stored_->columns() : stored_->rows());
  }

  [[nodiscard]] const std::vector<std::string>& names() const override { return names_.responses; }
  [[nodiscard]] const std::vector<std::string>& row_names() const override { return names_.rows; }
  [[nodiscard]] std::int64_t stored_together() const override {
    return in_columns_ ? stored_->chunk().columns : stored_->chunk().rows;
  }

  void read(Range responses, const ResponseColumns& to) override {
    const Range rows{0, in_columns_ ? stored_->rows() : stored_->columns()};
    const MatrixBlock all = in_columns_ ? MatrixBlock{rows, responses} : MatrixBlock{responses, rows};
    stored_->read(workers_.team, all, [&](const MatrixBlock& block, std::span<const double> from) {
      const auto wide = at(block.columns.size());
      for (std::int64_t j = 0; j < (in_columns_ ? block.columns : block.rows).size(); ++j) {
        const std::int64_t column = (in_columns_ ? block.columns : block.rows).begin + j - responses.begin;
        if (!in_columns_) {
          to.set(block.columns.begin, column, from.subspan(at(j) * wide, wide));
          continue;
        }
        for (std::int64_t i = 0; i < block.rows.size(); ++i)
          to.at(block.rows.begin + i, column) = from[at(i) * wide + at(j)];
      }
    });
  }

 private:
  const Workers& workers_;
  std::unique_ptr<StoredMatrix> stored_;
  bool in_columns_;
  MatrixNames names_;
};

}  // namespace

std::unique_ptr<ResponseSource> dense_responses(const Workers& workers, std::unique_ptr<StoredMatrix> stored,
                                                bool in_columns, MatrixNames names) {
  return std::make_unique<DenseResponses>(workers, std::move(stored), in_columns, std::move(names));
}

std::unique_ptr<ResponseSource> open_npy_responses(const Workers& workers, const std::string& path,
                                                   ResponsesIn in, std::int64_t rows) {
  NpyMatrix npy = open_npy(path);
  std::int64_t high = npy.stored->rows();
  std::int64_t wide = npy.stored->columns();
  if (npy.is_transposed) std::swap(high, wide);
  const bool in_columns = responses_in_columns(path, high, wide, in, rows);
  return dense_responses(workers, std::move(npy.stored), in_columns != npy.is_transposed, {});
}

}  // namespace TESSERA_NAMESPACE::gam
