// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/table_source.hpp"
#include "gam/many/shared_design.hpp"
#include "gam/many/shared_model.hpp"
#include "support/on_cpu.hpp"

#include <tessera/gam/formula.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {

/// The shared design of `terms`, a formula without a response, over a table in memory in a serial job.
class ManyModel {
 public:
  ManyModel(std::vector<Table::Column> columns, std::int64_t rows, const std::string& terms,
            const std::string& weights = {}, bool with_spectrum = true)
      : job_(comm_, on_cpu(1)), table_(job_.plan_for_hosts(rows), std::move(columns)) {
    const Workers workers{comm_, job_.host_team()};
    const TableSource source = source_of(table_);
    const auto reader = open_source(workers, source, nullptr);
    const FormulaTerms formula = parse_terms("`(response)` ~ " + terms);
    design_ = make_shared_design(
        workers, *reader, source.options,
        {.formula = formula, .weights = weights, .knots = {}, .with_spectrum = with_spectrum});
    model_ = shared_model(design_, formula, {.weights = weights});
  }
  [[nodiscard]] const SharedDesign& design() const noexcept { return design_; }
  [[nodiscard]] const FittedModel& model() const noexcept { return model_; }

 private:
  mpi::Communicator comm_ = mpi::Communicator::serial();
  Job job_;
  Table table_;
  SharedDesign design_;
  FittedModel model_;
};

/// The columns of a fixture; text columns become factors.
inline std::vector<Table::Column> columns_of(const nlohmann::json& table) {
  std::vector<Table::Column> columns;
  for (const auto& [name, values] : table.items()) {
    if (values.front().is_number()) {
      columns.push_back({name, values.get<std::vector<double>>()});
      continue;
    }
    Factor factor;
    for (const auto& value : values) {
      const auto text = value.get<std::string>();
      auto found = std::ranges::find(factor.levels, text);
      if (found == factor.levels.end()) found = factor.levels.insert(found, text);
      factor.codes.push_back(static_cast<std::int32_t>(found - factor.levels.begin()));
    }
    columns.push_back({name, std::move(factor)});
  }
  return columns;
}

}  // namespace TESSERA_NAMESPACE::gam::testing
