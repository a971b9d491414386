// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/design/design.hpp"
#include "gam/family/family.hpp"
#include "gam/inference/smoothing_uncertainty.hpp"
#include "gam/linalg/parted_matrix.hpp"
#include "gam/model/data_outline.hpp"

#include <tessera/gam/model.hpp>
#include <tessera/gam/terms.hpp>

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Coefficients and covariance for centred numeric columns. Predictions use them to avoid cancellation if a
/// column has a large mean. All other numbers refer to the formula's columns. Empty if no column is centred.
struct Centring {
  struct CentredComponent {
    int term = 0;
    int component = 0;
    std::vector<NumericPart> parts;
  };
  std::vector<CentredComponent> components;  ///< the centred components of the design's terms
  std::vector<int> coefficients;             ///< indices of the coefficients that centring changes
  std::vector<double> values;                ///< values of these coefficients for centred columns
  Matrix covariance;                         ///< covariance columns of these coefficients for centred columns
};

/// For predictions: design, coefficients and covariance, with centred columns substituted.
struct PredictiveModel {
  Design design;
  std::vector<double> coef;
  PartedMatrix covariance;
};

/// A fitted model: all that predictions, summaries and plots need. Only `sample` has rows of the data.
struct FittedModel {
  std::string formula;
  Family family;
  std::string weights;            ///< prior weights, the user's text; empty: none
  std::string offset;             ///< offset in the fit but not in predictions; empty: none
  std::string subset;             ///< condition on the rows, the user's text; empty: none
  double rho = 0;                 ///< correlation of neighbouring residuals; 0: none
  std::string ar_start;           ///< expression, TRUE in the first row of a series; empty: one series
  std::int64_t rows = 0;          ///< number of complete rows, n
  std::int64_t rows_dropped = 0;  ///< rows of the file outside the subset or with a missing value
  /// Hexadecimal fingerprint of the response in these rows (response_fingerprint.hpp). Empty if the version
  /// that wrote the model file did not store it.
  std::string response_fingerprint;
  ModelResponse response;
  SmoothingOptions smoothing_options;
  SampledRows sample;
  Design design;
  /// Units of columns read from dates, by column: "days since 1970-01-01".
  std::vector<std::pair<std::string, std::string>> units;
  Recipe recipe;             ///< how to compute the design's variables from columns
  std::vector<double> coef;  ///< NaN for a coefficient of a curve at minus infinity
  /// Empty unless a curve is at minus infinity. `absent_rows`: coefficients whose predictor is 1 in rows at
  /// minus infinity, 0 elsewhere. `predictor_coef`: coefficients elsewhere, to which `covariance` refers.
  std::vector<double> absent_rows;
  std::vector<double> predictor_coef;
  PartedMatrix covariance;        ///< posterior (Bayesian) covariance of `coef`, on the scale of the data
  std::string why_no_covariance;  ///< for messages; empty if there is a covariance
  Centring centring;
  // Empty in a model file of an old version: column_means, edf1 and triangle.
  std::vector<double> column_means;  ///< column means of the model matrix over the complete rows
  std::vector<double> edf;           ///< edf of each coefficient: the diagonal of the influence matrix F
  std::vector<double> edf1;          ///< edf1 of each coefficient: the diagonal of 2F - FF; NaN if unknown
  /// Upper triangular R with R'R = X'WX for the last working weights W, in units of the covariance divided by
  /// `covariance_scale`. Empty if there are many coefficients, or if the covariance has a part.
  Matrix triangle;
  double gamma = 1;            ///< mgcv's `gamma`: the REML criterion counts n / gamma rows
  std::vector<double> log_sp;  ///< log smoothing parameter of every penalty, in the order of the blocks
  double scale = 1;
  double covariance_scale = 1;  ///< scale in `covariance`: `RemlFit::covariance_scale`
  double deviance = 0;
  double null_deviance = 0;
  double r_squared_adjusted = 0;
  double reml = 0;
  /// The gradient of REML with respect to the log smoothing parameters, and its Hessian with respect to these
  /// and log phi, column by column; empty in a model file of an earlier version.
  std::vector<double> reml_gradient;
  std::vector<double> reml_hessian;
  double edf_total = 0;
  /// tr(2F - FF); NaN in a model file of a version that did not store it.
  double edf1_total = std::numeric_limits<double>::quiet_NaN();
  double aic = 0;  ///< NaN for a custom family
  int iterations = 0;
  bool converged = false;
  std::string no_estimate;        ///< why there is no finite estimate (separation.hpp); else empty
  std::string why_not_converged;  ///< empty if the fit converged, or if there is no finite estimate
  std::vector<CoefficientTest> coefficient_tests;
  std::vector<SmoothTest> smooth_tests;
  std::string verdict;   ///< the devices, or the CPU, that computed the fit
  DataOutline outline;   ///< statistics of the data, for reports and typical values
  std::string path;      ///< file that the model was read from, or empty
  std::string checksum;  ///< CRC-32 of the model file

  [[nodiscard]] PredictiveModel predictive() const;
  /// Precondition: the covariance has no sparsity pattern.
  [[nodiscard]] SmoothingUncertainty smoothing_uncertainty() const;
  [[nodiscard]] double block_edf(const CoefBlock& block) const;
  [[nodiscard]] double residual_df() const { return static_cast<double>(rows) - edf_total; }
  [[nodiscard]] double deviance_explained() const { return 1 - deviance / null_deviance; }
};

/// Writes model.json atomically: an existing file stays if writing fails. The covariance of more than
/// `inline_limit` coefficients goes to a second file, as little-endian doubles in column-major order. Numbers
/// are read back with the same bits. Bytes that are not UTF-8, for example in a host name, become U+FFFD.
/// Throws `tessera::Error(input)` if a file cannot be written.
///
/// The covariance file has the CRC-32 of its content in its name, PATH.cov-XXXXXXXX, which the model records.
/// This file is on disk before the new model replaces the old model; the old covariance file is removed
/// afterwards. After a failure at any moment, one model with its covariance exists. Other covariance files of
/// this path are removed if the CRC-32 in their name is correct; all other files stay.
///
/// The format's version rises if old readers must refuse the file. Readers refuse newer versions, and read
/// all versions from 2 on forever (docs/model.md). Optional fields, such as `FittedModel::outline`, do not
/// raise the version: older programs ignore them, and this program reads files without them.
SavedModel save_model(const FittedModel& model, const std::string& path, int inline_limit = 512);

/// Reads a model.json. The file is untrusted: counts, indices and shapes are checked before use; a
/// coefficient may be any finite number. Throws `tessera::Error(input)`, naming the field, for a missing
/// file, a file that is no model, an unknown version, or a value that no fit writes; and for a covariance
/// file that is missing, has the wrong size, or belongs to another fit.
[[nodiscard]] FittedModel read_model(const std::string& path);

/// A model with its covariance as one text, which `parse_model` reads.
[[nodiscard]] std::string model_text(const FittedModel& model);
[[nodiscard]] FittedModel parse_model(std::string_view text);

}  // namespace TESSERA_NAMESPACE::gam
