// SPDX-License-Identifier: Apache-2.0
#include "gam/report/report_json.hpp"

#include "gam/model/model.hpp"

#include <cmath>

namespace TESSERA_NAMESPACE::gam {

ReportJson facts_json(const Model& model, const ModelFigures& figures) {
  const FittedModel& fitted = model.fitted();
  return {{"model", fitted.path.empty() ? ReportJson() : ReportJson(fitted.path)},
          {"formula", fitted.formula},
          {"family", fitted.family.title()},
          {"link", fitted.family.link_name()},
          {"n", fitted.rows},
          {"edf", fitted.edf_total},
          {"edf1", figures.edf1},
          {"edf2", figures.edf2},
          {"residual_df", figures.residual_df},
          {"deviance", fitted.deviance},
          {"scale", fitted.scale},
          {"reml", fitted.reml},
          {"log_likelihood", figures.log_likelihood},
          {"log_likelihood_df", figures.log_likelihood_df},
          {"AIC", figures.aic},
          {"aic", figures.plain_aic},
          {"statistic", fitted.family.scale_is_known() ? "Chi.sq" : "F"}};
}

ReportJson test_json(const TermTest& test) {
  ReportJson json{{"term", test.label}, {"df", test.df}};
  if (!std::isnan(test.edf)) json["edf"] = test.edf;
  json["statistic"] = test.statistic;
  json["p_value"] = test.p_value;
  return json;
}

std::string json_text(const ReportJson& json) {
  return json.dump(1, ' ', true, ReportJson::error_handler_t::replace) + '\n';
}

}  // namespace TESSERA_NAMESPACE::gam
