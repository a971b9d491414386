// SPDX-License-Identifier: Apache-2.0
// A solver whose time step is a minimum: comets about a star, in steps that the fastest turn of any comet
// allows. One source: what is done to a comet stands here once, for the kernel and the host function.
#include <tessera/tessera.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <span>

#ifdef __CUDACC__  // where there is a compiler of CUDA, it compiles this file
#define ON_BOTH __host__ __device__
#else
#define ON_BOTH
#endif

constexpr std::int64_t block = 32;  // comets that one thread looks at, in their order

struct Comet {
  double x, y;  // the star is at 0, 0
  double u, v;  // velocities
};

/// What is known of some comets.
struct Look {
  double step;                        // that none of them turns too far in
  double energy;                      // of all together
  tessera::Located<double> distance;  // of the nearest to the star, and its number
};
using Looks = tessera::Fields<tessera::Field<&Look::step, tessera::Minimum<double>>,
                              tessera::Field<&Look::energy, tessera::Sum<double>>,
                              tessera::Field<&Look::distance, tessera::MinimumAt<double>>>;

ON_BOTH inline void accelerate(Comet& comet, double time) {
  const double distance = std::sqrt(comet.x * comet.x + comet.y * comet.y);
  comet.u -= time * comet.x / (distance * distance * distance);
  comet.v -= time * comet.y / (distance * distance * distance);
}

/// By leapfrog.
ON_BOTH inline void move(Comet& comet, double step) {
  accelerate(comet, step / 2);
  comet.x += step * comet.u;
  comet.y += step * comet.v;
  accelerate(comet, step / 2);
}

ON_BOTH inline Look look_at(const Comet& comet, std::int64_t number) {
  const double distance = std::sqrt(comet.x * comet.x + comet.y * comet.y);
  return {0.02 * distance * std::sqrt(distance),
          (comet.u * comet.u + comet.v * comet.v) / 2 - 1 / distance,
          {distance, number}};
}

/// Moves the comets of a block, the first of which has the number `first`, and looks at them.
ON_BOTH inline Look move_block(Comet* comets, std::int64_t count, std::int64_t first, double step) {
  Look look = Looks::identity();
  for (std::int64_t i = 0; i < count; ++i) {
    move(comets[i], step);
    look = Looks::combine(look, look_at(comets[i], first + i));
  }
  return look;
}

#ifdef __CUDACC__
__global__ void move_blocks(Comet* comets, std::int64_t count, std::int64_t first, double step, Look* looks) {
  const std::int64_t b = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  const std::int64_t begin = b * block;
  if (begin < count) looks[b] = move_block(comets + begin, min(block, count - begin), first + begin, step);
}

/// All in device memory: an element of `looks` for each block of the tile, and the comets of the tile.
void move_on_device(tessera::Tile& tile, std::span<Look> looks, std::span<Comet> comets, double step) {
  constexpr unsigned threads = 64;
  const auto groups = static_cast<unsigned>((looks.size() + threads - 1) / threads);
  const auto stream = static_cast<cudaStream_t>(tile.stream().native());
  move_blocks<<<groups, threads, 0, stream>>>(comets.data(), tile.range().size(), tile.range().begin, step,
                                              looks.data());
  if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess)
    tile.fail(cudaGetErrorString(status));
}
#else
void move_on_device(tessera::Tile& tile, std::span<Look>, std::span<Comet>, double) {
  tile.fail("orbits was built without CUDA");
}
#endif

/// One pass moves all comets, and says how far the next one may.
Look move_all(tessera::Job& job, tessera::Array<Comet>& comets, double step) {
  return job.reduce(
      tessera::arrays(comets.modify()), Looks{},
      [=](tessera::Tile& tile, std::span<Look> looks, std::span<Comet> its_comets) {
        move_on_device(tile, looks, its_comets, step);
      },
      [=](const tessera::HostTile& tile, Look& look, std::span<Comet> its_comets) {
        look = move_block(its_comets.data(), tile.range.size(), tile.range.begin, step);
      });
}

int main(int argc, char** argv) {
  tessera::mpi::Session session(argc, argv);
  tessera::Job job(session.world());

  const tessera::Plan plan = job.plan(10'000, block);
  tessera::Array<Comet> comets(job, plan);
  std::int64_t number = job.local_range(plan).begin;
  for (Comet& comet : comets.overwrite()) {
    const double distance = 1 + std::fmod(0.6180339887498949 * static_cast<double>(++number), 1.0);
    comet = {distance, 0, 0, 0.8 / std::sqrt(distance)};
  }

  constexpr double end = 3;
  Look look = move_all(job, comets, 0);
  const double energy = look.energy;
  tessera::Located<double> nearest = look.distance;
  int steps = 0;
  for (double time = 0; time < end; ++steps) {
    const double step = std::min(look.step, end - time);
    look = move_all(job, comets, step);
    time += step;
    nearest = tessera::MinimumAt<double>::combine(nearest, look.distance);
  }

  if (session.is_root())
    std::cout << steps << " steps, comet " << nearest.at << " came as near as " << nearest.value
              << ", energy kept to " << (look.energy - energy) / energy << ", " << job.last_verdict() << '\n';
}
