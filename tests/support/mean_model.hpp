// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/model/model.hpp"

#include <utility>

namespace TESSERA_NAMESPACE::gam::testing {

/// A model with only an intercept.
inline FittedModel mean_of(double mean, double variance) {
  FittedModel model;
  model.formula = "y ~ 1";
  CoefBlock intercept;
  intercept.label = "(Intercept)";
  intercept.kind = "parametric";
  intercept.names = {"(Intercept)"};
  intercept.raw_begin = model.design.add_term({});
  intercept.raw_size = 1;
  intercept.coef_size = 1;
  intercept.map = Matrix(1, 1);
  intercept.map(0, 0) = 1;
  model.design.blocks.push_back(std::move(intercept));
  model.design.coef_size = 1;
  model.coef = {mean};
  model.edf = {1};
  model.covariance = Matrix(1, 1);
  model.covariance.set(0, 0, variance);
  return model;
}

}  // namespace TESSERA_NAMESPACE::gam::testing
