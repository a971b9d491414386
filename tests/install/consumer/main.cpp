// SPDX-License-Identifier: Apache-2.0
// Calls the library, catches its exceptions, and links functions that need MPI; starts MPI with an argument.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <tessera/tessera.hpp>
#include <vector>

int main(int argc, char** argv) {
  std::optional<tessera::mpi::Session> session;
  if (argc > 1) session.emplace(argc, argv);
  const std::vector<std::uint64_t> scores{100, 50, 75};
  const std::vector<std::int64_t> ranks{0, 2, 3};
  const tessera::Plan plan = tessera::Plan::over_devices(1000, scores, ranks);
  try {
    (void)tessera::Plan::over_devices(-1, scores, ranks);
  } catch (const tessera::Error& error) {
    std::printf("tessera %s: %zu tiles, %zu of rank 0; an error was caught: %s\n", tessera::version(),
                plan.tiles().size(), plan.tiles_of(0).size(), error.what());
    return 0;
  }
  return 1;
}
