// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <optional>

#include "common/program_end.hpp"
#include "common/streams.hpp"

int main(int argc, char** argv) {
  tessera::apps::keep_logs_harmless();
  tessera::apps::keep_memory_in_reserve();
  std::optional<tessera::mpi::Session> session;
  return tessera::apps::exit_status_of("tessera-fit", session,
                                       [&] { return tessera::gam::run_program(argc, argv, session); });
}
