// SPDX-License-Identifier: Apache-2.0
// Watchdog: late_vote TIMEOUT_MS: one pass with this timeout of votes, to be disturbed by TESSERA_FAULT.
#include <tessera/tessera.hpp>

#include <iostream>
#include <string>

int main(int argc, char** argv) {
  tessera::mpi::Session session(argc, argv);
  if (argc != 2) return tessera::exit_status(tessera::ErrorCode::usage);
  session.world().barrier();  // a late start of a rank is not tested here
  tessera::JobOptions options;
  options.policy = tessera::Policy::cpu;
  options.threads = 1;
  options.collective_timeout = std::chrono::milliseconds(std::stoi(argv[1]));
  tessera::Job job(session.world(), options);
  const auto plan = job.plan(100);
  const std::vector<double> units(static_cast<std::size_t>(job.local_range(plan).size()), 1.0);
  const auto results = job.map<double>(
      plan, std::span<const double>(units), [](tessera::Tile&, std::span<const double>, std::span<double>) {},
      [](const tessera::HostTile&, std::span<const double>, std::span<double>) {});
  if (session.is_root()) std::cout << "pass 1 is done" << std::endl;
  return results.size() == units.size() ? 0 : 1;
}
