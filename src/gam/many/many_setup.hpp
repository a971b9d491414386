// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/response_fit.hpp"
#include "gam/many/shared_design.hpp"

#include <tessera/gam/many.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

/// Setup shared by `fit_many` and `fit_response`.
namespace TESSERA_NAMESPACE::gam {

/// Parses a formula without a response; applies `options.basis_size`. Throws `Error(usage)` if `basis_size`
/// applies to no smooth.
[[nodiscard]] FormulaTerms terms_of_many(const std::string& formula, const ManyOptions& options);
/// The formula without the term `label`, for the same rows. Throws `Error(usage)` if there is no such term.
[[nodiscard]] FormulaTerms without_term(const FormulaTerms& formula, const std::string& label);
[[nodiscard]] SharedDesignRequest design_request(const FormulaTerms& formula, const ManyOptions& options);
/// `rows`: number of complete rows of the covariates. Throws `Error(usage)` for a family that `fit_many` does
/// not support.
[[nodiscard]] ManyEstimator estimator_of(const ManyOptions& options, std::int64_t rows);

/// Thread-safe pool of response fitters. Grows on demand.
class FitterPool {
 public:
  /// Both arguments must outlive this object.
  FitterPool(const SharedDesign& design, const ManyEstimator& estimator)
      : design_(design), estimator_(estimator) {}

  [[nodiscard]] std::unique_ptr<ResponseFitter> take() {
    {
      const std::scoped_lock lock(mutex_);
      if (!fitters_.empty()) {
        auto fitter = std::move(fitters_.back());
        fitters_.pop_back();
        return fitter;
      }
    }
    return std::make_unique<ResponseFitter>(design_, estimator_);
  }
  void give_back(std::unique_ptr<ResponseFitter> fitter) {
    const std::scoped_lock lock(mutex_);
    fitters_.push_back(std::move(fitter));
  }

 private:
  const SharedDesign& design_;
  const ManyEstimator& estimator_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ResponseFitter>> fitters_;
};

}  // namespace TESSERA_NAMESPACE::gam
