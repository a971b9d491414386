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
/// column has a large mean; all other numbers are the model's own. Empty: nothing is centred.
struct Centring {
  struct CentredComponent {
    int term = 0;
    int component = 0;
    std::vector<NumericPart> parts;
  };
  std::vector<CentredComponent> components;  ///< the centred components of the design's terms
  std::vector<int> coefficients;             ///< indices of the coefficients that centring changes
  std::vector<double> values;                ///< their values for centred columns
  Matrix covariance;                         ///< their columns of the covariance for centred columns
};

/// Design, coefficients and covariance for predictions, with the centred columns in place.
struct PredictiveModel {
  Design design;
  std::vector<double> coef;
  PartedMatrix covariance;
};

/// A fitted model: all that predictions, summaries and plots need (`Model` is the public value). It holds no
/// row of the data.
struct FittedModel {
  std::string formula;
  Family family;
  std::string weights;            ///< prior weights, as the user gave them; empty: none
  std::string offset;             ///< offset of the fit only, not of predictions; empty: none
  std::string subset;             ///< condition on the rows, as the user gave it; empty: none
  double rho = 0;                 ///< correlation of neighbouring residuals; 0: none
  std::string ar_start;           ///< expression, TRUE in the first row of a series; empty: one series
  std::int64_t rows = 0;          ///< n: complete rows
  std::int64_t rows_dropped = 0;  ///< rows of the file outside the subset or with a missing value
  /// Fingerprint of the response in these rows (response_fingerprint.hpp), in hexadecimal digits; empty in a
  /// model file of a version that did not keep it.
  std::string response_fingerprint;
  ModelResponse response;
  SmoothingOptions smoothing_options;
  SampledRows sample;
  Design design;
  /// What columns of dates count, by their names: "days since 1970-01-01".
  std::vector<std::pair<std::string, std::string>> units;
  Recipe recipe;  ///< how to compute the design's variables from columns
  std::vector<double> coef;
  PartedMatrix covariance;  ///< posterior (Bayesian) covariance of `coef`, on the scale of the data
  Centring centring;        ///< centring of the numeric columns
  // A model file of a version that did not keep them lacks column_means, edf1 and triangle: they are empty.
  std::vector<double> column_means;  ///< column means of the model matrix over the complete rows
  std::vector<double> edf;           ///< edf of each coefficient: the diagonal of F, their influence matrix
  std::vector<double> edf1;          ///< edf1 of each coefficient: the diagonal of 2F - FF; NaN if not known
  /// R of X'WX = R'R, upper triangular; W are the last working weights, in the units of the covariance over
  /// `covariance_scale`. Empty if there are many coefficients or the covariance has a part.
  Matrix triangle;
  double gamma = 1;            ///< gamma of the REML criterion (mgcv's `gamma`), which has n / gamma rows
  std::vector<double> log_sp;  ///< log smoothing parameter of every penalty, in the order of the blocks
  double scale = 1;
  double covariance_scale = 1;  ///< scale parameter in `covariance`: `RemlFit::covariance_scale`
  double deviance = 0;
  double null_deviance = 0;
  double r_squared_adjusted = 0;
  double reml = 0;
  /// The gradient of REML by the log smoothing parameters, and its Hessian by these and log phi, column by
  /// column; empty in a model that an earlier version wrote.
  std::vector<double> reml_gradient;
  std::vector<double> reml_hessian;
  double edf_total = 0;
  /// tr(2F - FF); NaN in a model file of a version that did not keep it.
  double edf1_total = std::numeric_limits<double>::quiet_NaN();
  double aic = 0;  ///< NaN for a custom family
  int iterations = 0;
  bool converged = false;
  std::string no_estimate;  ///< why there is no finite estimate (see separation.hpp); empty: there is one
  std::string why_not_converged;  ///< empty: it has converged, or there is no finite estimate
  std::vector<CoefficientTest> coefficient_tests;
  std::vector<SmoothTest> smooth_tests;
  std::string verdict;   ///< on which devices, or on the CPU, it was computed
  DataOutline outline;   ///< statistics of the data, for reports and typical values
  std::string path;      ///< the file from which it was read; empty: none
  std::string checksum;  ///< CRC-32 of the file

  /// The model in centred columns, for predictions.
  [[nodiscard]] PredictiveModel predictive() const;
  /// Precondition: the covariance has no sparsity pattern.
  [[nodiscard]] SmoothingUncertainty smoothing_uncertainty() const;
  [[nodiscard]] double block_edf(const CoefBlock& block) const;
  [[nodiscard]] double residual_df() const { return static_cast<double>(rows) - edf_total; }
  [[nodiscard]] double deviance_explained() const { return 1 - deviance / null_deviance; }
};

/// Writes model.json atomically: an existing file stays if writing fails. A covariance of more than
/// `inline_limit` coefficients goes to a second file, as raw little-endian doubles, column-major. Numbers
/// read back to the same bits. Bytes that are not UTF-8, for example in a host name, become U+FFFD. Throws
/// `tessera::Error(input)` if a file cannot be written.
///
/// The covariance file is named by the CRC-32 of its content, PATH.cov-XXXXXXXX, and the model names it. It
/// is on disk before the new model replaces the old one, and the old covariance file is removed afterwards:
/// after a failure at any moment there is one model with its covariance. Other covariance files of this path
/// are removed if the CRC-32 of their content is that of their name; other files were not written by a fit,
/// or by one before 0.2, and stay.
///
/// The file's version rises if old readers must refuse a file: newer versions are refused, and all from 2 on
/// are read forever (docs/model.md). Optional fields, such as `FittedModel::outline`, do not raise it: older
/// programs ignore them, and this one reads files without them.
SavedModel save_model(const FittedModel& model, const std::string& path, int inline_limit = 512);

/// Reads a model.json. The file is untrusted: counts, indices and shapes are checked before they are used; a
/// coefficient may be any finite number. Throws `tessera::Error(input)` that names the field: no such file,
/// not a model, a version that is not read, a field that no fit writes, a covariance file that is missing, of
/// the wrong size or of another fit.
[[nodiscard]] FittedModel read_model(const std::string& path);

/// The model as one text that contains its covariance, and the model of such a text.
[[nodiscard]] std::string model_text(const FittedModel& model);
[[nodiscard]] FittedModel parse_model(std::string_view text);

}  // namespace TESSERA_NAMESPACE::gam
