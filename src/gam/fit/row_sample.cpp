// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/row_sample.hpp"

#include "base/at.hpp"
#include "gam/data/frame/sampled_rows.hpp"
#include "gam/predict/prediction_plan.hpp"
#include "gam/rows/prediction_pass.hpp"
#include "gam/rows/row_residuals.hpp"

#include <tessera/job/together.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Positions of a row's numbers in the sample. Linear predictors, variables and terms follow.
enum RowNumber : std::size_t { row_response, row_limit, row_weight, first_row_predictor };

/// The variables of the terms: numbers, then factors, with contrasts replaced by their factors.
std::vector<std::string> covariates_of(const FittedModel& model) {
  std::vector<std::string> names = model.design.known_numbers();
  std::vector<std::string> factors;
  const auto& contrasts = model.recipe.contrasts;
  std::erase_if(names, [&](const std::string& name) {
    if (std::ranges::none_of(contrasts, [&](const Expression& one) { return one.text == name; }))
      return false;
    factors.push_back(name.substr(0, name.find_last_of(".^")));
    return true;
  });
  for (const auto& [factor, levels] : model.design.known_levels()) factors.push_back(factor);
  for (const std::string& factor : factors) {
    if (std::ranges::find(names, factor) == names.end()) names.push_back(factor);
  }
  return names;
}

std::vector<std::string> sampled_terms(const Design& design) {
  std::vector<std::string> labels;
  for (const CoefBlock& block : design.blocks) {
    if (block.is_smooth() && labels.size() < most_sampled_terms) labels.push_back(block.label);
  }
  return labels;
}

class Sampling {
 public:
  Sampling(Job& job, const ModelRows& rows)
      : job_(job),
        model_(rows.model()),
        rows_(rows),
        sample_(local_sample({job.comm(), job.host_team()}, rows.frame())) {}

  [[nodiscard]] RowSample run() {
    const mpi::Communicator& comm = job_.comm();
    PredictionPlan plan;
    together(comm, [&] {
      plan = plan_of(model_, rows_.formula(),
                     {.type = PredictionType::terms, .terms = sampled_terms(model_.design)});
      plan.design = reindexed(std::move(plan.design), rows_.frame());
      first_variable_ = first_row_predictor + at(model_.family.predictor_count());
      first_term_ = first_variable_ + rows_.frame().variables.size();
      width_ = first_term_ + plan.names.size();
      numbers_.resize(sample_.size() * width_);
      put_rows();
    });
    put_terms(plan);
    std::vector<std::size_t> counts(at(comm.size()));
    counts[0] = numbers_.size();
    const std::vector<double> all = comm.alltoallv(std::span<const double>(numbers_), counts);
    RowSample out;
    together(comm, [&] {
      if (comm.rank() == 0) out = columns_of(all, plan.names);
    });
    return out;
  }

 private:
  [[nodiscard]] double& number(std::size_t row, std::size_t column) {
    return numbers_[row * width_ + column];
  }

  void put_rows() {
    const Rows& rows = rows_.rows();
    const std::vector<Variable>& variables = rows_.frame().variables;
    RowResiduals residuals(rows, rows_.raw_coef());
    for (std::size_t i = 0; i < sample_.size(); ++i) {
      const std::size_t row = at(sample_[i]);
      for (std::size_t next = first_row_predictor; const double eta : residuals.of(row).linear_predictors)
        number(i, next++) = eta / rows.response_factor;
      const Response y = response_of(rows, row);
      number(i, row_response) = y.value;
      number(i, row_limit) = y.limit;
      number(i, row_weight) = rows.prior_weight < 0 ? 1 : variables[at(rows.prior_weight)].numbers[row];
      for (std::size_t v = 0; v < variables.size(); ++v) {
        const bool codes = variables[v].numbers.size() == 0;
        number(i, first_variable_ + v) = codes ? variables[v].codes[row] : variables[v].numbers[row];
      }
    }
  }

  void put_terms(const PredictionPlan& plan) {
    if (plan.names.empty()) return;
    const Rows rows{.frame = &rows_.frame(), .design = &plan.design, .family = model_.family, .response = -1};
    const std::size_t terms = plan.names.size();
    predict_terms(job_, rows_.plan(), rows, plan.posterior,
                  [&](std::size_t first, std::span<const Prediction> predictions) {
                    const auto end = static_cast<std::int64_t>(first + predictions.size() / terms);
                    auto next = std::ranges::lower_bound(sample_, static_cast<std::int64_t>(first));
                    for (; next != sample_.end() && *next < end; ++next) {
                      for (std::size_t t = 0; t < terms; ++t)
                        number(at(next - sample_.begin()), first_term_ + t) =
                            predictions[(at(*next) - first) * terms + t].fit;
                    }
                  });
  }

  [[nodiscard]] RowSample columns_of(std::span<const double> all,
                                     const std::vector<std::string>& terms) const {
    RowSample out;
    out.rows = rows_.frame().complete_rows;
    const auto column = [&](std::size_t place) {
      std::vector<double> values;
      for (std::size_t i = place; i < all.size(); i += width_) values.push_back(all[i]);
      return values;
    };
    for (std::size_t p = first_row_predictor; p < first_variable_; ++p)
      out.linear_predictors.push_back(column(p));
    out.response = column(row_response);
    out.limit = column(row_limit);
    out.weight = column(row_weight);
    const std::vector<Variable>& variables = rows_.frame().variables;
    for (std::size_t v = 0; v < variables.size(); ++v)
      out.variables.push_back({variables[v].name, column(first_variable_ + v),
                               variables[v].factor ? variables[v].levels : std::vector<std::string>()});
    out.covariates = covariates_of(model_);
    for (std::size_t t = 0; t < terms.size(); ++t) out.terms.push_back({terms[t], column(first_term_ + t)});
    return out;
  }

  Job& job_;
  const FittedModel& model_;
  const ModelRows& rows_;
  std::vector<std::int64_t> sample_;  ///< rows of this rank in the sample
  std::size_t first_variable_ = 0;
  std::size_t first_term_ = 0;
  std::size_t width_ = 0;  ///< numbers stored per row
  std::vector<double> numbers_;
};

}  // namespace

const RowSample::Column* column_of(const std::vector<RowSample::Column>& columns, std::string_view name) {
  const auto found = std::ranges::find(columns, name, &RowSample::Column::name);
  return found == columns.end() ? nullptr : &*found;
}

RowSample sample_rows(Job& job, const ModelRows& rows, FitObserver& observer) {
  observer.now("sampling rows");
  return Sampling(job, rows).run();
}

}  // namespace TESSERA_NAMESPACE::gam
