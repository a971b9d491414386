// SPDX-License-Identifier: Apache-2.0
// One pass with a short vote timeout, for TESSERA_FAULT to disturb.
#include <tessera/tessera.hpp>

#include <iostream>

int main(int argc, char** argv) {
  tessera::mpi::Session session(argc, argv);
  tessera::JobOptions options;
  options.policy = tessera::Policy::cpu;
  options.threads = 1;
  options.collective_timeout = std::chrono::milliseconds(300);
  tessera::Job job(session.world(), options);
  const auto plan = job.plan(100);
  const std::vector<double> units(static_cast<std::size_t>(job.local_range(plan).size()), 1.0);
  const auto results = job.map<double>(
      plan, std::span<const double>(units), [](tessera::Tile&, std::span<const double>, std::span<double>) {},
      [](const tessera::HostTile&, std::span<const double>, std::span<double>) {});
  if (session.is_root()) std::cout << "pass 1 is done" << std::endl;
  return results.size() == units.size() ? 0 : 1;
}
