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

/// Functions of tests of whole fits.
namespace TESSERA_NAMESPACE::gam::testing {

/// *Collective.* A job on the CPU.
[[nodiscard]] Job cpu_job(const mpi::Communicator& comm, int threads = 1);

/// *Collective.* Calls `run` with a job and an observer for a fit that is to be interrupted after this
/// iteration; fails if it is not.
void interrupted_after(const mpi::Communicator& comm, int iteration,
                       const std::function<void(Job&, FitObserver*)>& run);

/// The options of the case.
[[nodiscard]] FitOptions options_of(const ReferenceCase& reference);

/// A table in a file, read in blocks of this many rows.
[[nodiscard]] Table in_blocks(const std::string& path, std::int64_t block_rows);

/// *Collective.* The model of a table, on the CPU.
[[nodiscard]] FittedModel fitted(const mpi::Communicator& comm, const std::string& formula,
                                 const Table& table, const FitOptions& options = {}, int threads = 1);

/// *Collective.* The text of model.json, on rank 0; empty elsewhere.
[[nodiscard]] std::string text_of(const mpi::Communicator& comm, const Model& model);

/// *Collective.* Predictions with standard errors of all rows of a file, on every rank, with rank 0's model
/// as read from a file.
struct AllPredictions {
  std::vector<double> fit;
  std::vector<double> se;
};
[[nodiscard]] AllPredictions predicted_from_file(Job& job, const FittedModel& model, const std::string& data,
                                                 int inline_limit = 512);

}  // namespace TESSERA_NAMESPACE::gam::testing
