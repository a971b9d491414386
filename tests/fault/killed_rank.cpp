// SPDX-License-Identifier: Apache-2.0
// killed_rank SIGNAL: rank 1 is ended by the signal of this number, while another rank waits for it.
#include <tessera/tessera.hpp>

#include <csignal>
#include <cstdlib>

int main(int argc, char** argv) {
  const tessera::mpi::Session session(argc, argv);
  if (argc == 2 && session.world().rank() == 1) (void)std::raise(std::atoi(argv[1]));
  session.world().barrier();
}
