// SPDX-License-Identifier: Apache-2.0
// A kernel that is compiled where the job runs, and shares by measured speed, also of the CPUs beside the
// GPUs: Kepler's equation for many orbits.
#include "kepler.hpp"

#include <cmath>
#include <cstdint>
#include <iostream>
#include <variant>
#include <vector>

/// By Newton's method, for an eccentricity of one half.
void kepler(const tessera::HostTile&, std::span<const double> mean, std::span<double> eccentric) {
  for (std::size_t i = 0; i < mean.size(); ++i) {
    double anomaly = mean[i];
    for (int step = 0; step < 20; ++step)
      anomaly -= (anomaly - 0.5 * std::sin(anomaly) - mean[i]) / (1 - 0.5 * std::cos(anomaly));
    eccentric[i] = anomaly;
  }
}

int main(int argc, char** argv) {
  tessera::mpi::Session session(argc, argv);

  // Each device is given work in proportion to how fast it does some of it as the job is made, and a
  // simulated one, or the CPU, to how fast the host does that. The function runs for several devices at once.
  const std::vector<double> sample(100'000, 1.0);
  const auto timed = [&sample](auto& tile, const auto& work) {
    std::vector<double> out(sample.size());
    work(tile, std::span<const double>(sample), std::span(out));
    return static_cast<std::int64_t>(sample.size());
  };
  tessera::JobOptions options;
  options.score_model = tessera::ScoreModel::measured;
  options.measure = [&](tessera::Tile& tile) { return timed(tile, kepler_on_device); };
  options.measure_on_host = [&](const tessera::HostTile& tile) { return timed(tile, kepler); };
  options.hosts = true;  // CPUs and GPUs may differ in the last bits, which is of no matter here
  tessera::Job job(session.world(), options);

  // One rank for each kind of GPU compiles, and the others get the code from it: the tiles find it there.
  for (const tessera::JobModule& compiled : job.compile(kepler_source)) {
    const auto* failure = std::get_if<tessera::CompileFailure>(&compiled.outcome);
    if (failure != nullptr && session.is_root()) std::cerr << to_string(*failure) << '\n';
  }

  const tessera::Plan plan = job.plan(1'000'000);
  const std::vector<double> mean(static_cast<std::size_t>(job.local_range(plan).size()), 1.0);
  const std::vector<double> eccentric =
      job.map<double>(plan, mean, kepler_on_device, kepler, 2 * sizeof(double));

  if (!session.is_root()) return 0;
  for (const tessera::InventoryDevice& device : job.inventory().devices())
    std::cout << device.name << " of rank " << device.rank << ": "
              << 100 * device.score / tessera::measured_score_of_fastest << " % of the fastest\n";
  std::cout << "eccentric anomaly " << eccentric.front() << ", " << job.last_verdict() << '\n';
}
