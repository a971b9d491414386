// SPDX-License-Identifier: Apache-2.0
#include <tessera/gam/quantiles.hpp>

#include <tessera/gam/predict.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tessera/mpi/communicator.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

std::int64_t crossing_rows(Job& job, std::span<const Model> models, const Table& table) {
  std::vector<double> highest;
  std::vector<bool> crosses;
  for (const Model& model : models) {
    const Predictions found = predict(job, model, table);
    const std::span<const double> fit = found["fit"];
    highest.resize(fit.size(), -std::numeric_limits<double>::infinity());
    crosses.resize(fit.size());
    for (std::size_t row = 0; row < fit.size(); ++row) {
      if (fit[row] < highest[row]) crosses[row] = true;
      highest[row] = std::max(highest[row], fit[row]);
    }
  }
  return job.comm().allreduce(std::int64_t{std::ranges::count(crosses, true)}, mpi::Reduction::sum);
}

}  // namespace TESSERA_NAMESPACE::gam
