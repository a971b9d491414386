// SPDX-License-Identifier: Apache-2.0
#include <tessera/gam/fit_response.hpp>

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/data/table_source.hpp"
#include "gam/many/many_setup.hpp"
#include "gam/many/response_results.hpp"
#include "gam/many/shared_model.hpp"
#include "gam/model/fitted_response.hpp"

#include <memory>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;

struct ManyDesign::State {
  State(SharedDesign shared, const FormulaTerms& formula, const ManyOptions& options)
      : design(std::move(shared)),
        estimator(estimator_of(options, design.rows)),
        results(design, shared_model(design, formula, options), estimator, {}) {}

  SharedDesign design;
  ManyEstimator estimator;
  ResponseResults results;
  FitterPool fitters{design, estimator};
};

ManyDesign::ManyDesign(const std::string& formula, const Table& covariates, const ManyOptions& options) {
  const mpi::Communicator serial = mpi::Communicator::serial();
  HostTeam team(1);
  const Workers alone{serial, team};
  const TableSource source = source_of(covariates);
  const auto table = open_source(alone, source, nullptr);
  const FormulaTerms terms = terms_of_many(formula, options);
  state_ = std::make_shared<State>(
      make_shared_design(alone, *table, source.options, design_request(terms, options)), terms, options);
}
ManyDesign::~ManyDesign() = default;
ManyDesign::ManyDesign(const ManyDesign&) = default;
ManyDesign& ManyDesign::operator=(const ManyDesign&) = default;
std::int64_t ManyDesign::rows() const noexcept {
  return state_->design.table_rows;
}
const std::vector<std::string>& ManyDesign::columns() const noexcept {
  return state_->results.value_names();
}
const std::vector<std::string>& ManyDesign::tests() const noexcept {
  return state_->results.tests();
}

ResponseResult fit_response(const ManyDesign& design, std::span<const double> values,
                            std::span<const double> weights, std::span<const double> offsets) {
  ManyDesign::State& state = *design.state_;
  const auto require_rows = [&](std::span<const double> given, const char* what) {
    if (std::ssize(given) != design.rows())
      throw base::usage_error("the response has {} {}, but the covariates have {} rows: give one per row",
                              given.size(), what, design.rows());
  };
  require_rows(values, "values");
  if (!weights.empty()) require_rows(weights, "weights");
  if (!offsets.empty()) require_rows(offsets, "offsets");
  auto fitter = state.fitters.take();
  ResponseRow row = state.results.row_of(fitter->fit(values, {.weights = weights, .offsets = offsets}));
  state.fitters.give_back(std::move(fitter));
  return {status_names[at(static_cast<int>(row.status))], std::move(row.values), std::move(row.p_values)};
}

}  // namespace TESSERA_NAMESPACE::gam
