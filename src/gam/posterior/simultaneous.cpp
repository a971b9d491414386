// SPDX-License-Identifier: Apache-2.0
#include "gam/posterior/simultaneous.hpp"

#include "base/at.hpp"
#include "base/cancellation.hpp"
#include "gam/inference/normal_draws.hpp"
#include "gam/posterior/smooth_grid.hpp"

#include <tessera/job/together.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Limits, because a draw costs O(coefficients^2), and a point stores a weight for each coefficient.
constexpr int most_simulated_coefficients = 2000;
constexpr std::int64_t most_weights = 10'000'000;

/// Points as combinations of coefficients [begin, begin + size), each divided by its standard error.
struct ScaledPoints {
  std::vector<Combination> points;
  int begin = 0;
  Matrix covariance;
};

/// Empty if there is no band: too many coefficients or points, or elements of the covariance are not stored.
ScaledPoints scaled_points(const PartedMatrix& covariance, const Piece& piece) {
  ScaledPoints out;
  int begin = std::numeric_limits<int>::max();
  int end = 0;
  std::int64_t weights = 0;
  for (std::int64_t point = 0; point < piece.points; ++point) {
    base::check_cancelled();
    Combination x = piece.combination(point);
    if (x.empty()) continue;
    begin = std::min(begin, x.front().coefficient);
    end = std::max(end, x.back().coefficient + 1);
    weights += std::ssize(x);
    if (end - begin > most_simulated_coefficients || weights > most_weights) return {};
    const double se = estimate_of(x, std::vector<double>(at(end)), covariance).se;
    if (std::isnan(se)) return {};
    if (se == 0) continue;
    for (Weight& one : x) one.value /= se;
    out.points.push_back(std::move(x));
  }
  if (out.points.empty()) return {};
  out.begin = begin;
  out.covariance = Matrix(end - begin, end - begin);
  for (int j = begin; j < end; ++j) {
    for (int i = begin; i < end; ++i) {
      if (!covariance.has(i, j)) return {};
      out.covariance(i - begin, j - begin) = covariance(i, j);
    }
  }
  return out;
}

/// R's type-8 quantile of sorted values.
double quantile_of(const std::vector<double>& sorted, double probability) {
  const auto n = static_cast<double>(sorted.size());
  const double place = 1.0 / 3 + probability * (n + 1.0 / 3) - 1;  // from 0
  const double low = std::clamp(std::floor(place + 4 * std::numeric_limits<double>::epsilon()), 0.0, n - 1);
  const double high = std::min(low + 1, n - 1);
  const double share = std::clamp(place - low, 0.0, 1.0);
  return sorted[static_cast<std::size_t>(low)] * (1 - share) + sorted[static_cast<std::size_t>(high)] * share;
}

}  // namespace

double critical_value(Job& job, const PartedMatrix& covariance, const Piece& piece,
                      const SimultaneousBand& band) {
  ScaledPoints scaled;
  Matrix root;
  together(job.comm(), [&] {
    scaled = scaled_points(covariance, piece);
    if (!scaled.covariance.empty()) root = root_of(scaled.covariance);
  });
  if (root.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> largest(at(band.draws));
  const Range mine = job.plan_for_hosts(band.draws).range_of(job.comm().rank());
  for_each_block(job, mine, 1, [&](Range draws) {
    std::vector<double> deviation(at(root.rows()));
    for (std::int64_t draw = draws.begin; draw < draws.end; ++draw) {
      draw_normal(root, band.seed, band.stream, static_cast<std::uint64_t>(draw), deviation);
      double most = 0;
      for (const Combination& x : scaled.points) {
        double sum = 0;
        for (const Weight& one : x) sum += one.value * deviation[at(one.coefficient - scaled.begin)];
        most = std::max(most, std::abs(sum));
      }
      largest[at(draw)] = most;
    }
  });
  job.comm().allreduce(std::span(largest), mpi::Reduction::sum);
  std::sort(largest.begin(), largest.end());
  return quantile_of(largest, band.probability);
}

}  // namespace TESSERA_NAMESPACE::gam
