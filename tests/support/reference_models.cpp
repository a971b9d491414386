// SPDX-License-Identifier: Apache-2.0
#include "support/reference_models.hpp"

#include <algorithm>

namespace TESSERA_NAMESPACE::gam::testing {

DenseModel smooths_of(const ReferenceCase& data, const std::vector<std::string>& variables, int k) {
  DenseModel model(static_cast<int>(data.fitted.size()));
  model.add_intercept();
  for (const std::string& x : variables) model.add_ps("s(" + x + ")", data.numbers.at(x), k);
  return model;
}

DenseModel factor_by_model(const ReferenceCase& data) {
  DenseModel model(static_cast<int>(data.fitted.size()));
  model.add_intercept();
  model.add_parametric("fac", treatment_contrasts(data.texts.at("fac")));
  Matrix x1(static_cast<int>(data.fitted.size()), 1);
  std::copy(data.numbers.at("x1").begin(), data.numbers.at("x1").end(), x1.values().begin());
  model.add_parametric("x1", x1);
  model.add_ps_by("s(x2):fac", data.numbers.at("x2"), 15, data.texts.at("fac"));
  model.add_ps("s(x0)", data.numbers.at("x0"), 15);
  return model;
}

}  // namespace TESSERA_NAMESPACE::gam::testing
