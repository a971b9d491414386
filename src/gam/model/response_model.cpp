// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/math/elementary.hpp"
#include "gam/inference/term_tests.hpp"
#include "gam/model/fitted_response.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

class ResponseModel {
 public:
  ResponseModel(const FittedModel& shared, const ResponseRecord& record) : record_(record), model_(shared) {}

  FittedModel run() {
    const std::string status = record_.text("status");
    model_.converged = status == status_names[0];
    if (!model_.converged && status != "unbounded")
      throw base::usage_error("{}: the response '{}' has no fit (status {}): name another response",
                              record_.source(), record_.name(), status);
    if (!model_.converged)
      model_.why_not_converged = "the criterion has no minimum in the range of a smoothing parameter";
    add_coefficients();
    add_family();
    add_summary();
    if (record_.has(ManyDatasets::covariance))
      add_covariance();
    else
      add_edf_alone();
    add_tests();
    return std::move(model_);
  }

 private:
  void add_coefficients() {
    names_ = model_.design.coef_names();
    for (std::size_t i = 0; i < names_.size(); ++i) model_.coef[i] = record_.number(names_[i]);
    if (record_.has(ManyDatasets::absent_rows)) {
      model_.absent_rows = record_.numbers(ManyDatasets::absent_rows, names_.size());
      model_.predictor_coef = record_.numbers(ManyDatasets::predictor, names_.size());
      if (std::ranges::all_of(model_.absent_rows, [](double one) { return one == 0; })) {
        model_.absent_rows.clear();
        model_.predictor_coef.clear();
      }
    }
    int parameter = 0;
    std::vector<double> log_sp;
    const std::vector<PenaltyParameter> parameters = model_.design.parameters();
    std::size_t penalty = 0;
    std::vector<double> log_lambda;
    const auto count = parameter_count(parameters);
    if (record_.has(ManyDatasets::log_lambda)) log_lambda = record_.numbers(ManyDatasets::log_lambda, count);
    for (const CoefBlock& block : model_.design.blocks) {
      for (std::size_t j = 0; block.penalty && j < block.penalty->count(); ++j, ++penalty) {
        const PenaltyParameter& one = parameters[penalty];
        if (one.index < 0) continue;
        if (one.index == parameter) {
          log_sp.push_back(!log_lambda.empty()
                               ? log_lambda[at(parameter)]
                               : base::log(record_.number("lambda:" + block.penalty->labels[j])));
          ++parameter;
        }
        // Upper limit of a stored log lambda, because smoothing parameters of a model are finite.
        constexpr double most = 100;
        model_.log_sp[penalty] = std::min(most, one.log_lambda(log_sp[at(one.index)]));
      }
    }
  }
  static std::size_t parameter_count(const std::vector<PenaltyParameter>& parameters) {
    int count = 0;
    for (const PenaltyParameter& one : parameters) count = std::max(count, one.index + 1);
    return at(count);
  }

  void add_family() {
    if (!record_.has("theta")) return;
    const double theta = record_.number("theta");
    model_.family = std::isinf(theta) ? *parse_family("poisson") : model_.family.at({theta});
  }

  void add_summary() {
    const std::int64_t table_rows = model_.rows + model_.rows_dropped;
    model_.rows = static_cast<std::int64_t>(record_.number("rows"));
    model_.rows_dropped = table_rows - model_.rows;
    model_.iterations = static_cast<int>(record_.number("iterations"));
    model_.reml = record_.number("reml");
    model_.aic = record_.number("aic");
    model_.deviance = record_.number("deviance");
    model_.null_deviance = model_.deviance / (1 - record_.number("deviance_explained"));
    model_.scale = record_.has("scale") ? record_.number("scale") : 1;
    model_.covariance_scale = model_.scale;
    model_.r_squared_adjusted = std::numeric_limits<double>::quiet_NaN();
    model_.edf_total = record_.number("edf");
    model_.verdict = "computed on the " + std::string(record_.text("computed_on") == "gpu" ? "GPU" : "CPU");
    model_.response.name = record_.name();
    if (record_.name().find_first_of("`\\") == std::string::npos)
      model_.formula = "`" + record_.name() + "`" + model_.formula.substr(model_.formula.find(" ~"));
  }

  void add_covariance() {
    const auto size = static_cast<int>(names_.size());
    const std::vector<double> packed =
        record_.numbers(ManyDatasets::covariance, names_.size() * (names_.size() + 1) / 2);
    Matrix covariance(size, size);
    std::size_t next = 0;
    for (int i = 0; i < size; ++i) {
      for (int j = i; j < size; ++j, ++next) covariance(i, j) = covariance(j, i) = packed[next];
    }
    model_.covariance = std::move(covariance);
    model_.edf = record_.numbers(ManyDatasets::edf, names_.size());
  }

  /// Without covariances, the coefficients of a smooth get equal shares of its edf.
  void add_edf_alone() {
    model_.covariance = PartedMatrix();
    model_.why_no_covariance = record_.source() + " contains no covariances: fit again with covariances";
    for (const CoefBlock& block : model_.design.blocks) {
      for (int i = block.coef_begin; i < block.coef_begin + block.coef_size; ++i) {
        const double error = record_.number("se:" + names_[at(i)]);
        const double edf = block.penalty ? record_.number("edf:" + block.label) / block.coef_size
                                         : static_cast<double>(error > 0 ? 1 : 0);
        model_.edf[at(i)] = std::isnan(edf) ? 0 : edf;
      }
    }
  }

  void add_tests() {
    model_.smooth_tests.clear();
    const auto is_smooth = [](const CoefBlock& block) { return block.penalty.has_value(); };
    const auto smooths = at(std::ranges::count_if(model_.design.blocks, is_smooth));
    std::vector<double> tests(3 * smooths, std::numeric_limits<double>::quiet_NaN());
    if (record_.has(ManyDatasets::smooth_tests))
      tests = record_.numbers(ManyDatasets::smooth_tests, tests.size());
    auto next = tests.begin();
    for (const CoefBlock& block : model_.design.blocks) {
      if (block.penalty) {
        model_.smooth_tests.push_back({block.label, model_.block_edf(block), next[0], next[1], next[2]});
        next += 3;
        continue;
      }
      for (int i = block.coef_begin; i < block.coef_begin + block.coef_size; ++i)
        model_.coefficient_tests.push_back(
            test_coefficient(names_[at(i)], model_.coef[at(i)], record_.number("se:" + names_[at(i)]),
                             !model_.family.scale_is_known(), model_.residual_df()));
    }
  }

  const ResponseRecord& record_;
  FittedModel model_;
  std::vector<std::string> names_;
};

}  // namespace

FittedModel response_model(const FittedModel& shared, const ResponseRecord& record) {
  return ResponseModel(shared, record).run();
}

}  // namespace TESSERA_NAMESPACE::gam
