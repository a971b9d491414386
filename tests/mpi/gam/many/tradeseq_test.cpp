// SPDX-License-Identifier: Apache-2.0
// The model of tradeSeq's fitGAM over simulated lineages and batches: tests/data/many/make_tradeseq.R.
#include "support/design_support.hpp"
#include "support/many_model.hpp"
#include "support/on_cpu.hpp"
#include "support/table_support.hpp"

#include <tessera/gam/many.hpp>
#include <tessera/gam/predict.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

using nlohmann::json;

constexpr const char* lineage_terms =
    "-1 + batch + s(t1, by = l1, bs = 'cr', id = 1, k = 6) + s(t2, by = l2, bs = 'cr', id = 1, k = 6) + "
    "offset(offset)";

class TradeSeq : public OverRanks {
 protected:
  TradeSeq() {
    const auto rows = std::ssize(all["table"]["t1"]);
    std::vector<double> counts;
    for (const json& response : all["responses"]) {
      const auto own = response["y"].get<std::vector<double>>();
      counts.insert(counts.end(), own.begin(), own.end());
    }
    const auto knots = all["knots"].get<std::vector<double>>();
    fits =
        fit_many(job, lineage_terms, Table{Plan::over_hosts(rows, 1), columns_of(all["table"])},
                 {.matrix = ResponseMatrix{DenseMatrix{counts, rows, std::ssize(all["responses"]), 1, rows}}},
                 {.family = family("nb"), .knots = {{"t1", knots}, {"t2", knots}}, .covariances = true});
  }
  [[nodiscard]] double number(const std::string& column, std::size_t response) const {
    for (const std::vector<Table::Column>* const table : {&fits.fits, &fits.tests}) {
      const auto found = std::ranges::find(*table, column, &Table::Column::name);
      if (found != table->end()) return std::get<std::vector<double>>(found->values)[response];
    }
    ADD_FAILURE() << column;
    return 0;
  }

  const json all = test_data("many/tradeseq.json");
  Job job{comm, on_cpu(2)};
  ManyResults fits;
};

TEST_F(TradeSeq, HasTheModelsOfGam) {
  const auto grid = columns_of(all["grid"]);
  const auto points = std::ssize(all["grid"]["t1"]);
  const mpi::Communicator serial = mpi::Communicator::serial();
  Job alone(serial, on_cpu(1));
  for (std::size_t i = 0; i < all["responses"].size(); ++i) {
    const json& expected = all["responses"][i];
    // Where the smoothing parameter has no finite best value, gam stops at a large one.
    const double close = std::isinf(number("lambda:s(t1):l1", i)) ? 1e-4 : 2e-6;
    EXPECT_NEAR(number("theta", i), expected["theta"].get<double>(), close * number("theta", i));
    EXPECT_NEAR(number("edf", i), expected["edf"].get<double>(), 10 * close);
    // The batches' constants are those of the lineages: the last batch has no coefficient.
    EXPECT_EQ(number("batchc", i), 0);
    EXPECT_EQ(number("se:batchc", i), 0);
    const Predictions link = predict(alone, model_of(fits, std::to_string(i + 1)),
                                     Table{Plan::over_hosts(points, 1), grid}, {.standard_errors = true});
    for (std::size_t row = 0; row < link["fit"].size(); ++row) {
      EXPECT_NEAR(link["fit"][row], expected["link"][row].get<double>(), 10 * close);
      EXPECT_NEAR(link["se"][row], expected["link_se"][row].get<double>(), 10 * close);
    }
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
