// SPDX-License-Identifier: Apache-2.0
// tessera-fit: generalized additive models of large tables, over every rank and GPU of an MPI job.
#include "run.hpp"

#include <optional>

#include "common/program_end.hpp"
#include "files/standard_error.hpp"

int main(int argc, char** argv) {
  using namespace tessera;
  files::keep_logs_harmless();
  apps::keep_memory_in_reserve();
  std::optional<mpi::Session> session;
  return apps::exit_status_of("tessera-fit", session, [&] { return gam::run_program(argc, argv, session); });
}
