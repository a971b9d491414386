// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/model/model.hpp"
#include "support/reference_case.hpp"

#include <tessera/gam/gam.hpp>
#include <tessera/job/job.hpp>
#include <tessera/mpi/communicator.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {

/// *Collective.*
[[nodiscard]] Job cpu_job(const mpi::Communicator& comm, int threads = 1);

/// *Collective.* Calls `run` with a job and an observer that stops the fit after `iteration`. Fails the test
/// if `run` is not interrupted.
void interrupted_after(const mpi::Communicator& comm, int iteration,
                       const std::function<void(Job&, FitObserver*)>& run);

[[nodiscard]] FitOptions options_of(const ReferenceCase& reference);

[[nodiscard]] Table in_blocks(const std::string& path, std::int64_t block_rows);

/// *Collective.*
[[nodiscard]] FittedModel fitted(const mpi::Communicator& comm, const std::string& formula,
                                 const Table& table, const FitOptions& options = {}, int threads = 1);

/// *Collective.* The text of the saved model on rank 0; empty on other ranks.
[[nodiscard]] std::string text_of(const mpi::Communicator& comm, const Model& model);

/// *Collective.* Predictions and standard errors of all rows of `data`, on every rank. Saves rank 0's model,
/// and predicts with the loaded one.
struct AllPredictions {
  std::vector<double> fit;
  std::vector<double> se;
};
[[nodiscard]] AllPredictions predicted_from_file(Job& job, const FittedModel& model, const std::string& data,
                                                 int inline_limit = 512);

}  // namespace TESSERA_NAMESPACE::gam::testing
