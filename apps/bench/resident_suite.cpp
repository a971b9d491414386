// SPDX-License-Identifier: Apache-2.0
#include "iterated_arrays.hpp"
#include "resident_work.hpp"
#include "suite.hpp"

#include <tessera/job/device_adder.hpp>
#include <tessera/job/together.hpp>
#include <tessera/memory/arena.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cmath>
#include <optional>

namespace tessera::bench {
namespace {

struct ResidentSuite {
  std::int64_t units = std::int64_t{1} << 20;
  int passes = 200;
  int repeats = 5;
  bool peer = true;
};

double sum_of_block(std::span<const double> state) {
  double sum = 0;
  for (const double value : state) sum += value;
  return sum;
}

/// Half of the passes change the state, half of them sum it up.
class Solver {
 public:
  Solver(Job& job, std::int64_t units) : job_(job), arrays_(job, units) {}

  double run(int passes) {
    double last_sum = 0;
    for (int pass = 0; pass < passes; pass += 2) {
      arrays_.advance(1);
      last_sum = job_.reduce(arrays(arrays_.state.read()), 1, sum_on_device,
                             [](const HostTile&, std::span<double> partial, std::span<const double> state) {
                               partial[0] += sum_of_block(state);
                             })
                     .front();
    }
    return last_sum;
  }

  [[nodiscard]] std::span<const double> matrix() const { return arrays_.matrix.host(); }
  /// As it was at first.
  [[nodiscard]] std::vector<double> state() const {
    return std::vector<double>(arrays_.state.host().size(), 1.0);
  }

 private:
  static void sum_on_device(Tile& tile, ReproducibleSum& sum, std::span<const double> state) {
    const std::int64_t blocks = (tile.range().size() - 1) / sum_block + 1;
    auto* const sums = tile.arena().take<double>(static_cast<std::size_t>(blocks));
    sum_blocks_on_device(state.data(), tile.range().size(), sums, tile.stream());
    add_on_device(tile, sum, sums, blocks);
  }

  Job& job_;
  IteratedArrays arrays_;
};

/// The same loop on the one device of each rank.
class SolverOnDevices {
 public:
  SolverOnDevices(Job& job, std::span<const double> matrix, std::span<const double> state) : job_(job) {
    job.devices().context_at(0).bind();
    by_hand_.emplace(matrix, state);
  }

  double run(int passes) {
    double last_sum = 0;
    for (int pass = 0; pass < passes; pass += 2) {
      by_hand_->advance();
      last_sum = by_hand_->sum();
      MPI_Allreduce(MPI_IN_PLACE, &last_sum, 1, MPI_DOUBLE, MPI_SUM, job_.comm().native());
    }
    return last_sum;
  }

 private:
  Job& job_;
  std::optional<SolverByHand> by_hand_;
};

/// Throws unless the two sums are one up to rounding.
void require_same(double ours, double theirs) {
  if (std::abs(ours - theirs) > 1e-9 * std::abs(ours))
    throw Error(ErrorCode::job_fault, fmt::format("the sum is {}, by hand {}", ours, theirs));
}

std::vector<Measurement> measure_resident(Job& job, const ResidentSuite& suite) {
  const mpi::Communicator& comm = job.comm();
  const bool simulated = !job.on_host() && job.inventory().devices()[0].simulated;
  const std::string name = fmt::format(
      "{} units, {} passes, {}", suite.units, suite.passes,
      job.on_host() ? counted(comm.size(), "rank") : counted(job.inventory().devices().size(), "device"));
  Solver solver(job, suite.units);
  double ours = 0;
  std::vector<Measurement> all;
  all.push_back({"resident", name, "tessera", "s",
                 seconds_of(comm, suite.repeats, 1, [&] { ours = solver.run(suite.passes); })});
  if (!suite.peer) return all;
  if (job.on_host() || simulated || job.devices().size() > 1) {
    note(comm, "resident", "the loop by hand is for one GPU a rank: left out");
    return all;
  }
  std::optional<SolverOnDevices> peer;
  together(comm, [&] { peer.emplace(job, solver.matrix(), solver.state()); });
  double theirs = 0;
  all.push_back({"resident", name, "by hand", "s",
                 seconds_of(comm, suite.repeats, 1, [&] { theirs = peer->run(suite.passes); })});
  require_same(ours, theirs);
  all.push_back(ratio_of(all[0], all[1]));
  return all;
}

}  // namespace

Suite resident_suite() {
  auto chosen = std::make_shared<ResidentSuite>();
  return {"resident", "A solver that iterates over arrays on the devices, beside the same loop by hand",
          in_a_job("resident", chosen, measure_resident), [chosen](CLI::App& command) {
            command.add_option("--units", chosen->units, "Units, of nine doubles each")
                ->check(from_to(1, std::int64_t{1} << 40))
                ->capture_default_str();
            command.add_option("--passes", chosen->passes, "Passes of a run")
                ->check(from_to(1, 1'000'000))
                ->capture_default_str();
          }};
}

}  // namespace tessera::bench
