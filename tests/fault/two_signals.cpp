// SPDX-License-Identifier: Apache-2.0
// two_signals: a hanging rank gets a request to end, and another one until it has ended.
#include <tessera/tessera.hpp>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  const tessera::mpi::Session session(argc, argv);
  const tessera::StopRequest stop(session.world());
  std::thread([] {
    for (;; std::this_thread::sleep_for(50ms)) (void)kill(getpid(), SIGTERM);
  }).detach();
  while (!stop.requested()) std::this_thread::sleep_for(1ms);
  std::puts("the first one asks");
  std::fflush(stdout);
  for (;;) std::this_thread::sleep_for(1h);
}
