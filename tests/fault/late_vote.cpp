// SPDX-License-Identifier: Apache-2.0
// late_vote TIMEOUT_MS: one pass with that timeout of votes, for TESSERA_FAULT to disturb.
#include <tessera/tessera.hpp>

#include <iostream>
#include <string>

int main(int argc, char** argv) {
  tessera::mpi::Session session(argc, argv);
  if (argc != 2) return tessera::exit_status(tessera::ErrorCode::usage);
  session.world().barrier();  // a rank that starts late is not what is looked at
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
