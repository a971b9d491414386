// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/at.hpp"

#include <tessera/function.hpp>
#include <tessera/gam/many.hpp>
#include <tessera/gam/matrix.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/gam/predict.hpp>
#include <tessera/job/job.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Coefficients and covariances of a range of responses, concatenated by response.
struct SomeFits {
  std::size_t size;              ///< number of coefficients
  std::vector<double> coef{};    ///< NaN for a coefficient of a curve at minus infinity
  std::vector<double> packed{};  ///< upper triangles of the covariances, row by row
  [[nodiscard]] std::span<const double> coef_of(std::size_t i) const {
    return std::span(coef).subspan(i * size, size);
  }
  [[nodiscard]] Matrix covariance_of(std::size_t i) const;
};

/// The fits of many responses. Each rank reads a range of responses.
class CurveFits {
 public:
  CurveFits(const Model& shared, std::vector<std::string> responses);
  CurveFits(const CurveFits&) = delete;
  CurveFits& operator=(const CurveFits&) = delete;
  virtual ~CurveFits() = default;

  [[nodiscard]] const Model& shared() const noexcept { return shared_; }
  [[nodiscard]] const std::vector<std::string>& responses() const noexcept { return responses_; }
  [[nodiscard]] SomeFits read(Range responses, bool with_covariances) const;

 private:
  [[nodiscard]] virtual std::vector<double> column(const std::string& name, Range responses) const = 0;
  [[nodiscard]] virtual std::vector<double> packed_covariances(Range responses) const = 0;

  Model shared_;
  std::vector<std::string> responses_;
};

/// *Collective.* Fits in a file; throws `Error(input)` if it has no covariances.
[[nodiscard]] std::unique_ptr<CurveFits> fits_of_curves(Job& job, const std::string& path);
/// Fits in memory; throws `Error(usage)` if they have no covariances. `results` must outlive the returned
/// object.
[[nodiscard]] std::unique_ptr<CurveFits> fits_of_curves(const ManyResults& results);

/// A result with a row per response, divided among the ranks, and the column `response` of names.
[[nodiscard]] Predictions row_of_each(const Job& job, const CurveFits& fits);

/// Whether no coefficient with a nonzero weight in `contrasts` (coefficients x contrasts) is NaN.
[[nodiscard]] bool are_known(const Matrix& contrasts, std::span<const double> coef);

/// Replaces NaN by 0, for contrasts that satisfy `are_known`.
[[nodiscard]] std::vector<double> with_zeros(std::span<const double> coef);

/// The standard errors of L'b, for the columns of L (coefficients x contrasts).
[[nodiscard]] std::vector<double> standard_errors(const Matrix& contrasts, const Matrix& covariance);

/// *Collective.* Calls `of(some, i)` for each response in `mine`, on several threads, and returns the results
/// by response. `i`: index of the response in `some`.
using ValuesOfFit = FunctionRef<std::vector<double>(const SomeFits& some, std::size_t i)>;
[[nodiscard]] std::vector<std::vector<double>> values_of_fits(Job& job, Range mine, const CurveFits& fits,
                                                              bool with_covariances, ValuesOfFit of);

}  // namespace TESSERA_NAMESPACE::gam
