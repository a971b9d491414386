// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/family.hpp>
#include <tessera/gam/matrix.hpp>
#include <tessera/gam/terms.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

struct FittedModel;

/// A fitted model: everything needed to predict, summarise and plot, without the rows of the data (except
/// `sample`). An immutable value, cheap to copy; a move is a copy. Any thread may read it.
///
/// After a fit rank 0 has the complete model. On other ranks the members marked *every rank* have the same
/// bits as on rank 0, and the remaining fields are empty. A model read from a file is complete.
class TESSERA_EXPORT Model {
 public:
  Model(const Model&) = default;
  Model& operator=(const Model&) = default;
  ~Model() = default;

  [[nodiscard]] const std::string& formula() const noexcept;  ///< the formula's text; *every rank*
  [[nodiscard]] std::int64_t rows() const noexcept;           ///< number of complete rows, n; *every rank*
  /// False if the iteration did not converge; the model is then that of the last iteration. *Every rank.*
  [[nodiscard]] bool converged() const noexcept;
  /// Why no finite estimate exists, for example with separated groups; empty if one exists. *Every rank.*
  [[nodiscard]] const std::string& no_estimate() const noexcept;
  /// Why the iteration stopped without convergence although an estimate exists, with advice; empty if it
  /// converged. *Every rank.*
  [[nodiscard]] const std::string& why_not_converged() const noexcept;
  [[nodiscard]] int iterations() const noexcept;              ///< *every rank*
  [[nodiscard]] const std::string& verdict() const noexcept;  ///< where the fit was computed; *every rank*
  [[nodiscard]] std::vector<std::string> coefficient_names()
      const;  ///< "(Intercept)", "s(x).1"; *every rank*
  [[nodiscard]] std::span<const double> coefficients() const noexcept;  ///< *every rank*
  /// Posterior covariance of the coefficients, p x p, column by column, in the units of the data. Empty if a
  /// random effect has more than `FitOptions::largest_tested_effect` coefficients. For such effects, which
  /// may have 10^5 levels, only the diagonal and the elements for pairs of levels that occur together in a
  /// row are stored.
  [[nodiscard]] std::span<const double> covariance() const noexcept;
  /// An element of the covariance, indexed from 0; NaN if it is not stored. Throws `Error(usage)` for an
  /// index out of range.
  [[nodiscard]] double covariance(int i, int j) const;
  [[nodiscard]] double scale() const noexcept;     ///< phi, estimated or known; *every rank*
  [[nodiscard]] double deviance() const noexcept;  ///< *every rank*
  [[nodiscard]] double edf() const noexcept;       ///< total effective degrees of freedom; *every rank*

  // Options of the fit, as in `FitOptions`; *every rank*.
  [[nodiscard]] ResponseFamily family() const;  ///< with the values of its parameters
  [[nodiscard]] const std::string& weights() const noexcept;
  [[nodiscard]] const std::string& offset() const noexcept;
  [[nodiscard]] const std::string& subset() const noexcept;
  [[nodiscard]] const std::string& ar_start() const noexcept;
  [[nodiscard]] double rho() const noexcept;  ///< given or estimated: mgcv's `AR1.rho`
  [[nodiscard]] double gamma() const noexcept;
  /// The options `select`, `sp`, `min_sp` and `knots` of the fit; their defaults in a model of an earlier
  /// version.
  [[nodiscard]] const SmoothingOptions& smoothing_options() const noexcept;
  [[nodiscard]] std::int64_t rows_dropped() const noexcept;  ///< rows outside the subset, or with a missing
                                                             ///< value

  /// Whether the scale was estimated, by REML together with the smoothing parameters, instead of fixed by the
  /// family: R's `scale.estimated`. *Every rank.*
  [[nodiscard]] bool scale_is_estimated() const noexcept;
  /// The scale factor of `covariance`. If estimated, it is the Pearson statistic divided by n - edf, as in
  /// mgcv.
  [[nodiscard]] double covariance_scale() const noexcept;
  [[nodiscard]] double null_deviance() const noexcept;       ///< R's `null.deviance`, with the offset
  [[nodiscard]] double residual_df() const noexcept;         ///< n minus the edf: R's `df.residual`
  [[nodiscard]] double r_squared_adjusted() const noexcept;  ///< `r.sq` of `summary.gam`
  [[nodiscard]] double deviance_explained() const noexcept;  ///< `dev.expl` of `summary.gam`
  [[nodiscard]] double reml() const noexcept;                ///< the minimum of fREML: mgcv's `gcv.ubre`
  [[nodiscard]] double aic() const noexcept;                 ///< NaN for a custom family

  // Parts of the model, described in <tessera/gam/terms.hpp>. Each call constructs them anew.
  [[nodiscard]] std::vector<Term> terms() const;
  [[nodiscard]] std::vector<TermPenalty> penalties() const;  ///< mgcv's `S` and `full.sp`, by term
  [[nodiscard]] std::vector<SmoothingParameter> smoothing_parameters() const;  ///< mgcv's `sp`
  [[nodiscard]] TermTests tests() const;
  [[nodiscard]] std::vector<ModelVariable> variables() const;
  [[nodiscard]] const ModelResponse& response() const noexcept;
  [[nodiscard]] const SampledRows& sample() const noexcept;
  [[nodiscard]] std::vector<MeasuredExpression> measured() const;

  /// Effective degrees of freedom of each coefficient. mgcv's `edf`: the diagonal of F = (X'WX + S)^-1 X'WX.
  /// `edf1`: the diagonal of 2F - FF, NaN if unknown, empty in a model of an earlier version. `edf2`:
  /// corrected for the uncertainty of the smoothing parameters, empty if `triangle` is empty.
  [[nodiscard]] std::span<const double> coefficient_edf() const noexcept;
  [[nodiscard]] std::span<const double> coefficient_edf1() const noexcept;
  [[nodiscard]] std::vector<double> coefficient_edf2() const;
  /// mgcv's `R` up to the signs of its rows: p x p, upper triangular, R'R = X'WX with the weights W of the
  /// last iteration. The covariance is (R'R + sum_j lambda_j S_j)^-1 times `covariance_scale()`. Empty for
  /// more than 2,000 coefficients, if `covariance()` is empty, and in a model of an earlier version.
  [[nodiscard]] const Matrix& triangle() const noexcept;
  /// mgcv's `Ve`, the covariance of the estimator, p x p: V R'R V / s, where V is the posterior covariance
  /// and s its scale. Empty if `triangle` is empty. Cost: O(p^3).
  [[nodiscard]] Matrix estimator_covariance() const;
  /// mgcv's `Vc`, p x p: the posterior covariance with the uncertainty of the smoothing parameters (Wood, Pya
  /// and Saefken, JASA 111, 2016, sec. 4, the first order term). Empty if `covariance()` is empty. Cost:
  /// O(q^3) for each pair of penalties of q coefficients, and O(p^2) for each penalty.
  [[nodiscard]] Matrix corrected_covariance() const;

  /// The gradient of fREML with respect to the logarithms of the smoothing parameters, in the order of
  /// `smoothing_parameters`, and the Hessian with respect to these logarithms and, if REML estimates the
  /// scale phi, to log phi: square, column by column. mgcv's `outer.info`, which sp.vcov() and gam.vcomp()
  /// read. With several large random effects the Hessian is the average information. Empty without a
  /// smoothing parameter, and in a model of an earlier version.
  [[nodiscard]] std::span<const double> reml_gradient() const noexcept;
  [[nodiscard]] std::span<const double> reml_hessian() const noexcept;

  /// For the library: conversion from and to its internal type.
  explicit Model(std::shared_ptr<const FittedModel> fitted) : fitted_(std::move(fitted)) {}
  [[nodiscard]] const FittedModel& fitted() const noexcept { return *fitted_; }

 private:
  std::shared_ptr<const FittedModel> fitted_;
};

/// Result of `save_model`.
struct SavedModel {
  std::string checksum;  ///< checksum of the model's file, which identifies the model in a run report
  std::string problem;   ///< why the written file may not survive a power failure; else empty
  std::vector<std::string> strangers;  ///< other files with names of covariance files of this model
};

/// Writes a complete model to a JSON file, atomically. The covariance of a model of more than 512
/// coefficients is in a separate file in the same folder. Numbers are restored exactly. Not collective: rank
/// 0 calls it, within `together`. Throws `Error(input)` if a file cannot be written; an existing file is then
/// unchanged.
TESSERA_EXPORT SavedModel save_model(const Model& model, const std::string& path);

/// Whether `text` is the suffix of the covariance's file name after the model's: ".cov-" and eight
/// hexadecimal digits, or ".cov" from earlier versions.
[[nodiscard]] TESSERA_EXPORT bool is_covariance_suffix(std::string_view text);

/// Reads and validates a model from an untrusted file. Not collective. Throws `Error(input)`, with the field,
/// for a file that cannot be read, is damaged, or is not a model of a supported version.
///
/// "FITS.h5:NAME" is the model of a response among the results of `fit_many` in HDF5. If the response has no
/// count at the levels of a curve (a smooth by levels of a factor), the fit excluded the curve's coefficients
/// (docs/many.md): they are NaN, and the linear predictor is minus infinity in rows with a nonzero element in
/// their columns. The model has a covariance if the results have covariances (`ManyOptions::covariances`),
/// and no residuals. Throws `Error(usage)` for a response without a fit.
[[nodiscard]] TESSERA_EXPORT Model load_model(const std::string& path);

/// The name of the file that `load_model` reads: FITS.h5 for "FITS.h5:NAME".
[[nodiscard]] TESSERA_EXPORT std::string file_of_model(const std::string& path);

/// A complete model as a single text: the content of its file, always including the covariance. For
/// databases, and for objects of R or Python. Numbers are restored exactly. Pure. Memory: about 20 bytes for
/// each number of the covariance.
[[nodiscard]] TESSERA_EXPORT std::string to_json(const Model& model);

/// Reads and validates a model from a text of `to_json`, which may be untrusted, or from the text of a model
/// file without a separate covariance. Pure. Throws `Error(input)`, with the field, like `load_model`.
[[nodiscard]] TESSERA_EXPORT Model model_from_json(std::string_view text);

}  // namespace TESSERA_NAMESPACE::gam
