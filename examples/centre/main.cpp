// SPDX-License-Identifier: Apache-2.0
// A job that may be stopped, and goes on: the robust centre of many values, by bisection.
#include <tessera/tessera.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

struct State {
  std::int64_t step = 0;
  double low = 0;
  double high = 3;
};

int main(int argc, char** argv) {
  tessera::mpi::Session session(argc, argv);
  try {
    tessera::StopRequest stop(session.world());  // at SIGUSR1 or SIGTERM, on any rank
    tessera::JobOptions options;
    options.policy = tessera::Policy::cpu;
    options.stop = &stop;
    tessera::Job job(session.world(), options);
    const tessera::Plan plan = job.plan(100'000, 1024);

    // What the state belongs to is all that changes the answer; not the ranks, nor the hardware.
    tessera::Checkpoint checkpoint(job.comm(), "centre.checkpoint",
                                   {{"program", "centre 1"}, {"units", "100000"}});
    State state;
    if (checkpoint.state()) std::memcpy(&state, checkpoint.state()->data(), sizeof state);
    if (session.is_root()) std::cerr << "going on after step " << state.step << '\n';

    while (state.step < 40) {
      const double middle = (state.low + state.high) / 2;
      const std::vector<double> pull = job.reduce(
          plan, 1, tessera::host_only, [&](const tessera::HostTile& tile, std::span<double> partial) {
            for (std::int64_t unit = tile.range.begin; unit < tile.range.end; ++unit)
              partial[0] += std::tanh(std::exp(std::sin(static_cast<double>(unit))) - middle);
          });
      (pull[0] > 0 ? state.low : state.high) = middle;
      ++state.step;
      const std::string problem = checkpoint.save({reinterpret_cast<const char*>(&state), sizeof state});
      if (!problem.empty() && session.is_root()) std::cerr << problem << '\n';  // and another may be tried
    }
    if (session.is_root()) std::cout << std::setprecision(17) << "centre " << state.low << std::endl;
    checkpoint.remove();
  } catch (const tessera::Error& error) {
    if (session.is_root()) std::cerr << error.what() << '\n';
    return tessera::exit_status(error.code());  // 75 if it was stopped: the same command resumes
  }
}
