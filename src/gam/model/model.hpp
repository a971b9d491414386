// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/family/family.hpp"
#include "gam/inference/smoothing_uncertainty.hpp"
#include "gam/linalg/parted_matrix.hpp"
#include "gam/model/data_outline.hpp"
#include "gam/table/frame/frame.hpp"

#include <tessera/gam/model.hpp>
#include <tessera/gam/terms.hpp>

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Centred numeric columns of a model, in which predictions keep the digits that a large constant would take:
/// the model's own coefficients and covariance with some numbers replaced. Empty: nothing is centred.
struct Centring {
  struct CentredComponent {
    int term = 0;
    int component = 0;
    std::vector<NumericPart> parts;
  };
  std::vector<CentredComponent> components;  ///< of the design's terms
  std::vector<int> coefficients;             ///< those that are others for centred columns
  std::vector<double> values;                ///< of them
  Matrix covariance;                         ///< their columns of the covariance of centred columns
};

/// What predictions are computed from.
struct PredictiveModel {
  Design design;
  std::vector<double> coef;
  PartedMatrix covariance;
};

/// A fitted model: all that predicting, summarising and plotting need (`Model` is the public value). It does
/// not hold a row of the data.
struct FittedModel {
  std::string formula;
  Family family;
  std::string weights;            ///< prior weights, as they were given; empty: none
  std::string offset;             ///< of the fit alone, as it was given; empty: none
  std::string subset;             ///< the condition that rows met, as it was given; empty: none
  double rho = 0;                 ///< correlation of neighbouring residuals; 0: none
  std::string ar_start;           ///< where a series of them begins, as it was given; empty: one series
  std::int64_t rows = 0;          ///< n: complete rows
  std::int64_t rows_dropped = 0;  ///< rows of the file outside the subset or with a missing value
  /// Of the response in these rows (response_fingerprint.hpp), in hexadecimal digits; empty in a model of
  /// before it was kept.
  std::string response_fingerprint;
  Design design;
  Recipe recipe;  ///< of the variables that the design has
  std::vector<double> coef;
  PartedMatrix covariance;  ///< posterior (Bayesian) covariance of `coef`, on the scale of the data
  Centring centring;        ///< of the design's numbers
  /// Means of the columns of the model matrix over the complete rows; empty in a model of before they were
  /// kept.
  std::vector<double> column_means;
  std::vector<double> edf;  ///< of each coefficient
  /// Of each coefficient, the diagonal of 2F - FF, F the influence of the coefficients, NaN where it is not
  /// known; empty in a model of before it was kept.
  std::vector<double> edf1;
  /// R'R = X'WX, upper triangular, W the last working weights in the units of the covariance over
  /// `covariance_scale`. Empty of many coefficients, of a covariance with a part, and in a model of before it
  /// was kept.
  Matrix triangle;
  double gamma = 1;            ///< of the REML criterion
  std::vector<double> log_sp;  ///< of every penalty, in the order of the blocks
  double scale = 1;
  double covariance_scale = 1;  ///< the scale of the covariance, by `RemlFit::covariance_scale`
  double deviance = 0;
  double null_deviance = 0;
  double r_squared_adjusted = 0;
  double reml = 0;
  double edf_total = 0;
  /// tr(2F - FF); NaN in a model of before it was kept.
  double edf1_total = std::numeric_limits<double>::quiet_NaN();
  double aic = 0;  ///< NaN for a custom family
  int iterations = 0;
  bool converged = false;
  std::string no_estimate;  ///< why there is no finite estimate (see separation.hpp); empty: there is one
  std::string why_not_converged;  ///< empty: it has converged, or there is no finite estimate
  std::vector<CoefficientTest> coefficient_tests;
  std::vector<SmoothTest> smooth_tests;
  std::string verdict;   ///< where it was computed
  DataOutline outline;   ///< for the plots of a report
  std::string path;      ///< of the file that it was read from; empty: it was not
  std::string checksum;  ///< of that file

  /// The same model with centred columns.
  [[nodiscard]] PredictiveModel predictive() const;
  /// The covariance must have no pattern.
  [[nodiscard]] SmoothingUncertainty smoothing_uncertainty() const;
  [[nodiscard]] double block_edf(const CoefBlock& block) const;
  [[nodiscard]] double residual_df() const { return static_cast<double>(rows) - edf_total; }
  [[nodiscard]] double deviance_explained() const { return 1 - deviance / null_deviance; }
};

/// Writes model.json whole or not at all, and what was there stays if it cannot be written. A covariance of
/// more than `inline_limit` coefficients goes to a file beside it, as raw little-endian doubles, column by
/// column. Numbers read back to the same bits. A text that is not UTF-8, such as a host name, has U+FFFD in
/// its place. Throws `tessera::Error(input)` if a file cannot be written.
///
/// The covariance's file has its CRC-32 in its name, PATH.cov-XXXXXXXX, and the model tells which it is: it
/// is on the disk before the model takes its place, and that of the model before stays until then. Whatever
/// fails, and whenever, either model is there with its covariance. Covariances of this path that its model
/// does not name are removed: those whose content has the CRC-32 of their name. Others were not written by a
/// fit, or by one before 0.2, and stay.
///
/// The file's version counts changes that a reader must know of: later ones are refused, and all from 2 on
/// are read for good (docs/model.md). What a reader can do without, as `FittedModel::outline`, is added in
/// place: older programs pass over it, and this one reads files without it.
SavedModel save_model(const FittedModel& model, const std::string& path, int inline_limit = 512);

/// Reads a model.json, which anyone may have written: all counts, places and shapes are checked before they
/// are used, and every finite number may stand for a coefficient. Throws `tessera::Error(input)`, with the
/// field: no such file, not a model, another version of the format, a field that is not as a fit writes it, a
/// covariance file that is missing, of the wrong size or of another fit.
[[nodiscard]] FittedModel read_model(const std::string& path);

/// The same as one text, with the covariance in it, and back.
[[nodiscard]] std::string model_text(const FittedModel& model);
[[nodiscard]] FittedModel parse_model(std::string_view text);

}  // namespace TESSERA_NAMESPACE::gam
