// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/model/model.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>

/// One response of the results of many models (`fit_many`) as a model.
namespace TESSERA_NAMESPACE::gam {

/// How the fit of a response ended: by the number of a `ManyStatus`.
inline constexpr std::array<std::string_view, 6> status_names = {"converged", "all_zero",  "constant",
                                                                 "too_few",   "unbounded", "failed"};

/// Datasets of the results in HDF5, beside a column for each number.
struct ManyDatasets {
  /// The model that all responses share, as the text of its file; its coefficients are zero.
  static constexpr const char* model = "model";
  /// By response: the upper triangle of the covariance of the coefficients, row by row.
  static constexpr const char* covariance = "covariance";
  static constexpr const char* edf = "coefficient_edf";  ///< by response and coefficient
  /// By response and smoothing parameter: the natural logarithms with which the covariance is computed,
  /// finite where lambda is not.
  static constexpr const char* log_lambda = "log_lambda";
  /// Where curves may be at minus infinity, by response and coefficient: the coefficients of the predictor in
  /// all other rows, of which `covariance` is; and those whose predictor is 1 in these rows, and 0 in others.
  static constexpr const char* predictor = "predictor";
  static constexpr const char* absent_rows = "absent_rows";
};

/// A response of a file of results.
struct NamedResponse {
  std::string file;
  std::string response;
};

/// Of "FILE.h5:NAME" or "FILE.hdf5:NAME", unless there is a file of the whole name.
[[nodiscard]] std::optional<NamedResponse> named_response(const std::string& path);

/// The model of a response. Without covariances in the file `FittedModel::why_no_covariance` says so. Throws
/// `Error(input)`: no file of results, without the response, or damaged; `Error(usage)` for a response
/// without a fit.
[[nodiscard]] FittedModel read_response(const NamedResponse& named);

}  // namespace TESSERA_NAMESPACE::gam
