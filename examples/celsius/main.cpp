// SPDX-License-Identifier: Apache-2.0
// scatter: units are changed where they are.
#include <tessera/tessera.hpp>

#include <iostream>
#include <span>
#include <vector>

/// In device.cu: the same on the tile's device.
void to_celsius_on_device(tessera::Tile& tile, std::span<double> degrees);

void to_celsius(const tessera::HostTile&, std::span<double> degrees) {
  for (double& value : degrees) value = (value - 32) / 1.8;
}

int main(int argc, char** argv) {
  tessera::mpi::Session session(argc, argv);
  tessera::Job job(session.world());

  const tessera::Plan plan = job.plan(1'000'000);
  std::vector<double> degrees(static_cast<std::size_t>(job.local_range(plan).size()), 212.0);

  // Where a GPU fails, what it had changed already is undone before the CPU function begins.
  job.scatter(plan, degrees, to_celsius_on_device, to_celsius, sizeof(double));

  if (session.is_root()) std::cout << "212 F are " << degrees.front() << " C, " << job.last_verdict() << '\n';
}
