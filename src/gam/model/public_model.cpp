// SPDX-License-Identifier: Apache-2.0
// The public interface of a model.
#include "gam/model/model.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/model.hpp>

#include <fmt/core.h>

#include <limits>

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
      throw Error(ErrorCode::usage,
                  fmt::format("Model::covariance: no coefficient {} of {}", index, covariance.size()));
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

std::string save_model(const Model& model, const std::string& path) {
  const SavedModel saved = save_model(model.fitted(), path);
  if (!saved.problem.empty()) throw Error(ErrorCode::input, saved.problem);
  return saved.checksum;
}

Model load_model(const std::string& path) {
  return Model(std::make_shared<const FittedModel>(read_model(path)));
}

}  // namespace TESSERA_NAMESPACE::gam
