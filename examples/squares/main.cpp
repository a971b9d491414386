// SPDX-License-Identifier: Apache-2.0
#include <tessera/tessera.hpp>

#include <iostream>
#include <numeric>
#include <span>
#include <vector>

/// In square.cu: copies `in` to the tile's device, squares it there, copies it back to `out`.
void square_on_device(tessera::Tile& tile, std::span<const double> in, std::span<double> out);

int main(int argc, char** argv) {
  tessera::mpi::Session session(argc, argv);
  tessera::Job job(session.world());  // what is here, who drives which GPU

  const tessera::Plan plan = job.plan(1'000'000);     // the same on every rank
  const tessera::Range mine = job.local_range(plan);  // this rank's units
  std::vector<double> units(static_cast<std::size_t>(mine.size()));
  std::iota(units.begin(), units.end(), static_cast<double>(mine.begin));

  const std::vector<double> squares = job.map<double>(
      plan, units, square_on_device,
      [](const tessera::HostTile&, std::span<const double> in, std::span<double> out) {
        for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] * in[i];
      },
      sizeof(double));  // device memory that a unit needs: a tile that does not fit is done in parts

  if (session.is_root()) std::cout << squares.size() << " squares here, " << job.last_verdict() << '\n';
}
