// SPDX-License-Identifier: Apache-2.0
// Uneven work: the area of the Mandelbrot set. Points outside of it take a few steps, points inside all.
#include "mandelbrot.hpp"

#include <tessera/tessera.hpp>

#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

/// In device.cu: `scan_row` for each row of the tile, on its device.
void scan_on_device(tessera::Tile& tile, std::span<Row> part, int pass);

void scan_row(Row& row, std::int64_t number, int pass) {
  row.steps = 0;
  for (std::int64_t column = 0; column < columns; ++column) {
    const int steps = steps_of(number, column, pass);
    row.steps += static_cast<unsigned>(steps);
    row.inside += steps == most_steps ? 1 : 0;
  }
}

void scan(tessera::Job& job, const tessera::Plan& plan, std::vector<Row>& mine, int pass) {
  job.scatter(
      plan, mine, [pass](tessera::Tile& tile, std::span<Row> part) { scan_on_device(tile, part, pass); },
      [pass](const tessera::HostTile& tile, std::span<Row> part) {
        std::int64_t number = tile.range.begin;
        for (Row& row : part) scan_row(row, number++, pass);
      });
}

std::vector<Row> new_rows(const tessera::Job& job, const tessera::Plan& plan) {
  return std::vector<Row>(static_cast<std::size_t>(job.local_range(plan).size()));
}

/// The work of the rank that has the most, divided by the mean.
double imbalance(const tessera::mpi::Communicator& comm, std::span<const Row> mine) {
  double steps = 0;
  for (const Row& row : mine) steps += static_cast<double>(row.steps);
  const double most = comm.allreduce(steps, tessera::mpi::Reduction::max);
  return most * comm.size() / comm.allreduce(steps, tessera::mpi::Reduction::sum);
}

int main(int argc, char** argv) {
  tessera::mpi::Session session(argc, argv);
  tessera::Job job(session.world());

  // By counts: every device of the same speed has as many rows.
  const tessera::Plan by_counts = job.plan(rows);
  std::vector<Row> mine = new_rows(job, by_counts);
  scan(job, by_counts, mine, 0);
  const double counted = imbalance(job.comm(), mine);

  // By weights: where the work is known, or can be estimated, as here by a few points of each row.
  const auto estimate = [](std::int64_t row) {
    double steps = 0;
    for (std::int64_t column = 0; column < columns; column += 10) steps += steps_of(row, column, 0);
    return steps;
  };
  const tessera::Plan by_weights = job.plan(rows, {.weights = estimate});
  mine = new_rows(job, by_weights);
  scan(job, by_weights, mine, 0);
  const double weighed = imbalance(job.comm(), mine);

  // By times: a loop learns it from its passes, and takes its data from plan to plan.
  constexpr int passes = 18;
  tessera::Balancer balancer(job, by_counts);
  mine = new_rows(job, by_counts);
  for (int pass = 0; pass < passes; ++pass) {
    scan(job, balancer.plan(), mine, pass);
    if (const auto left = balancer.rebalance()) mine = job.move(mine, *left, balancer.plan());
  }
  const double timed = imbalance(job.comm(), mine);

  double inside = 0;
  for (const Row& row : mine) inside += static_cast<double>(row.inside);
  inside = job.comm().allreduce(inside, tessera::mpi::Reduction::sum);
  if (session.is_root()) {
    std::cout << "the most work of a rank by the mean: by counts " << counted << ", by weights " << weighed
              << ", by times " << timed << '\n'
              << "area " << 2 * 2.5 * 1.25 * inside / (rows * columns * passes) << ", " << job.last_verdict()
              << '\n';
  }
}
