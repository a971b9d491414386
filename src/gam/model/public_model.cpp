// SPDX-License-Identifier: Apache-2.0
// Members of the public `Model`, except for its parts: see model_parts.cpp.
#include "gam/linalg/linalg.hpp"
#include "gam/model/covariance.hpp"
#include "gam/model/fitted_response.hpp"
#include "gam/model/model.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/model.hpp>

#include <fmt/core.h>

#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

const std::string& Model::formula() const noexcept {
  return fitted_->formula;
}
std::int64_t Model::rows() const noexcept {
  return fitted_->rows;
}
bool Model::converged() const noexcept {
  return fitted_->converged;
}
const std::string& Model::no_estimate() const noexcept {
  return fitted_->no_estimate;
}
const std::string& Model::why_not_converged() const noexcept {
  return fitted_->why_not_converged;
}
int Model::iterations() const noexcept {
  return fitted_->iterations;
}
const std::string& Model::verdict() const noexcept {
  return fitted_->verdict;
}
std::vector<std::string> Model::coefficient_names() const {
  return fitted_->design.coef_names();
}
std::span<const double> Model::coefficients() const noexcept {
  return fitted_->coef;
}
std::span<const double> Model::covariance() const noexcept {
  return fitted_->covariance.is_parted() ? std::span<const double>() : fitted_->covariance.core.values();
}
double Model::covariance(int i, int j) const {
  const PartedMatrix& covariance = fitted_->covariance;
  for (const int index : {i, j}) {
    if (index < 0 || index >= covariance.size())
      throw Error(ErrorCode::usage, fmt::format("Model::covariance: coefficient index {} is out of range: "
                                                "the model has {} coefficients, counted from 0",
                                                index, covariance.size()));
  }
  return covariance.has(i, j) ? covariance(i, j) : std::numeric_limits<double>::quiet_NaN();
}
double Model::scale() const noexcept {
  return fitted_->scale;
}
double Model::deviance() const noexcept {
  return fitted_->deviance;
}
double Model::edf() const noexcept {
  return fitted_->edf_total;
}
ResponseFamily Model::family() const {
  return ResponseFamily(std::make_shared<const Family>(fitted_->family));
}
const std::string& Model::weights() const noexcept {
  return fitted_->weights;
}
const std::string& Model::offset() const noexcept {
  return fitted_->offset;
}
const std::string& Model::subset() const noexcept {
  return fitted_->subset;
}
const std::string& Model::ar_start() const noexcept {
  return fitted_->ar_start;
}
double Model::rho() const noexcept {
  return fitted_->rho;
}
double Model::gamma() const noexcept {
  return fitted_->gamma;
}
const SmoothingOptions& Model::smoothing_options() const noexcept {
  return fitted_->smoothing_options;
}
const ModelResponse& Model::response() const noexcept {
  return fitted_->response;
}
std::span<const double> Model::reml_gradient() const noexcept {
  return fitted_->reml_gradient;
}
std::span<const double> Model::reml_hessian() const noexcept {
  return fitted_->reml_hessian;
}
const SampledRows& Model::sample() const noexcept {
  return fitted_->sample;
}
std::int64_t Model::rows_dropped() const noexcept {
  return fitted_->rows_dropped;
}
bool Model::scale_is_estimated() const noexcept {
  return !fitted_->family.scale_is_known();
}
double Model::covariance_scale() const noexcept {
  return fitted_->covariance_scale;
}
double Model::null_deviance() const noexcept {
  return fitted_->null_deviance;
}
double Model::residual_df() const noexcept {
  return fitted_->residual_df();
}
double Model::r_squared_adjusted() const noexcept {
  return fitted_->r_squared_adjusted;
}
double Model::deviance_explained() const noexcept {
  return fitted_->deviance_explained();
}
double Model::reml() const noexcept {
  return fitted_->reml;
}
double Model::aic() const noexcept {
  return fitted_->aic;
}
std::span<const double> Model::coefficient_edf() const noexcept {
  return fitted_->edf;
}
std::span<const double> Model::coefficient_edf1() const noexcept {
  return fitted_->edf1;
}
const Matrix& Model::triangle() const noexcept {
  return fitted_->triangle;
}

std::vector<double> Model::coefficient_edf2() const {
  if (fitted_->triangle.empty()) return {};
  const Matrix root = fitted_->smoothing_uncertainty().root;
  const Matrix weighted = multiply_tn(fitted_->triangle, multiply(fitted_->triangle, root));
  std::vector<double> edf2 = fitted_->edf;
  for (int k = 0; k < root.cols(); ++k) {
    for (int i = 0; i < root.rows(); ++i)
      edf2[static_cast<std::size_t>(i)] += root(i, k) * weighted(i, k) / fitted_->covariance_scale;
  }
  // As in mgcv: edf1 replaces an edf2 that the first-order correction makes too large.
  if (std::accumulate(edf2.begin(), edf2.end(), 0.0) > fitted_->edf1_total) return fitted_->edf1;
  return edf2;
}

Matrix Model::estimator_covariance() const {
  if (fitted_->triangle.empty()) return {};
  const Matrix root = multiply(fitted_->triangle, fitted_->covariance.core);
  Matrix out = multiply_tn(root, root);
  for (double& value : out.values()) value /= fitted_->covariance_scale;
  return out;
}

Matrix Model::corrected_covariance() const {
  if (fitted_->covariance.is_parted() || fitted_->covariance.empty()) return {};
  return covariance_of(*fitted_, true).core;
}

SavedModel save_model(const Model& model, const std::string& path) {
  return save_model(model.fitted(), path);
}

Model load_model(const std::string& path) {
  const auto named = named_response(path);
  return Model(std::make_shared<const FittedModel>(named ? read_response(*named) : read_model(path)));
}

std::string file_of_model(const std::string& path) {
  const auto named = named_response(path);
  return named ? named->file : path;
}

std::string to_json(const Model& model) {
  return model_text(model.fitted());
}

Model model_from_json(std::string_view text) {
  return Model(std::make_shared<const FittedModel>(parse_model(text)));
}

}  // namespace TESSERA_NAMESPACE::gam
