// SPDX-License-Identifier: Apache-2.0
#include "gam/many/host_likelihood_sums.hpp"

#include "base/at.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace TESSERA_NAMESPACE::gam {

using base::at;
using base::lane_count;

HostLikelihoodSums::HostLikelihoodSums(const SharedDesign& design)
    : design_(design), eta_(design.slots()), mean_(design.slots()) {}

void HostLikelihoodSums::set_response(std::span<const double> y, std::span<const double> weights,
                                      std::span<const double> offset) {
  y_ = y;
  weights_ = weights;
  offset_ = offset;
}

namespace {

/// Values of a group's active columns.
void gather_group(const ActiveColumns& active, std::size_t group, const std::vector<double>& values,
                  std::vector<double>& to) {
  to.clear();
  for (const int place : active.places_of(group)) to.push_back(values[at(place)]);
}

/// Elements of a group's active columns, packed.
std::vector<double> matrix_of_group(const ActiveColumns& active, std::size_t group,
                                    const std::vector<double>& packed) {
  std::vector<double> of_group;
  const std::vector<int>& places = active.places_of(group);
  for (std::size_t a = 0; a < places.size(); ++a) {
    for (std::size_t b = a; b < places.size(); ++b)
      of_group.push_back(packed[place_in_packed(active.size(), places[a], places[b])]);
  }
  return of_group;
}

}  // namespace

void HostLikelihoodSums::score_and_gram(const LikelihoodPoint& point, const std::vector<double>& b,
                                        std::vector<double>& score, std::vector<double>& gram) {
  score.assign(b.size(), 0);
  gram.assign(at(packed_size(point.active.size())), 0);
  GroupSums sums(point.active);
  std::array<double, run_rows> row_score;
  std::array<double, run_rows> row_weight;
  bool begins = true;
  point.active.for_each_run(
      [&](std::size_t g, const LaneColumns& columns, std::size_t slot, int packets, bool ends) {
        if (begins) gather_group(point.active, g, b, gathered_);
        begins = ends;
        const ResponseRows rows = rows_at(slot);
        linear_combination(columns, gathered_.data(), packets, offset_.data() + slot, rows.eta);
        first_derivatives(point.family, point.theta, rows, packets, row_score.data(), row_weight.data());
        add_gram_and_products(columns, row_weight.data(), row_score.data(), packets, sums.gram(g),
                              sums.products(g));
        if (!ends) return;
        sums.take_gram(g, gram);
        sums.take_products(g, score);
      });
}

LossDerivatives HostLikelihoodSums::loss(const LikelihoodPoint& point, std::vector<double>& by_tau) {
  by_tau.assign(at(point.active.size()), 0);
  LossSums losses;
  GroupSums sums(point.active);
  const bool with_tau = point.family == ManyFamily::nb;
  std::array<double, run_rows> score_by_tau;
  point.active.for_each_run(
      [&](std::size_t g, const LaneColumns& columns, std::size_t slot, int packets, bool ends) {
        add_losses(point.family, point.theta, rows_at(slot), packets, losses, score_by_tau.data());
        if (!with_tau) return;
        add_products(columns, score_by_tau.data(), packets, sums.products(g));
        if (ends) sums.take_products(g, by_tau);
      });
  return {base::sum_of_lanes(losses.loss), -base::sum_of_lanes(losses.by_tau),
          -base::sum_of_lanes(losses.by_tau_twice)};
}

PearsonSums HostLikelihoodSums::expected_gram(const LikelihoodPoint& point, std::vector<double>& gram) {
  gram.assign(at(packed_size(point.active.size())), 0);
  const bool has_log_link = point.family == ManyFamily::poisson || point.family == ManyFamily::gamma;
  GroupSums sums(point.active);
  std::array<double, run_rows> row_weight;
  PearsonSums pearson;
  point.active.for_each_run([&](std::size_t g, const LaneColumns& columns, std::size_t slot, int packets,
                                bool ends) {
    expected_weights(point.family, point.theta, rows_at(slot), packets, row_weight.data());
    add_gram(columns, row_weight.data(), packets, sums.gram(g));
    if (ends) sums.take_gram(g, gram);
    // (y - mu)^2/V as w ((y - mu)/(dmu/deta))^2 with the expected weight w = (dmu/deta)^2/V(mu).
    for (std::size_t i = slot; point.family != ManyFamily::nb && i < slot + at(packets) * lane_count; ++i) {
      const double slope = has_log_link                           ? mean_[i]
                           : point.family == ManyFamily::binomial ? mean_[i] * (1 - mean_[i])
                                                                  : 1;
      const double residual = (y_[i] - mean_[i]) / slope;
      if (weights_[i] == 0) continue;
      pearson.squares += row_weight[i - slot] * residual * residual;
      pearson.slopes += point.family == ManyFamily::binomial ? (1 - 2 * mean_[i]) * residual : residual;
    }
  });
  return pearson;
}

double HostLikelihoodSums::null_loss(ManyFamily family, double theta, double level) {
  std::array<double, run_rows> eta;
  std::array<double, run_rows> mean;
  std::array<double, run_rows> score;
  std::array<double, run_rows> weight;
  const auto for_each_run = [&](double at_level, const auto& use) {
    for (int begin = 0; begin < design_.packets; begin += run_packets) {
      const int packets = std::min(run_packets, design_.packets - begin);
      const std::size_t slot = at(begin) * lane_count;
      for (std::size_t i = 0; i < at(packets) * lane_count; ++i) eta[i] = offset_[slot + i] + at_level;
      use(ResponseRows{y_.data() + slot, weights_.data() + slot, eta.data(), mean.data()}, packets);
    }
  };
  level = find_null_level(level, [&](double at_level) {
    base::Lanes scores{};
    base::Lanes weights{};
    for_each_run(at_level, [&](const ResponseRows& rows, int packets) {
      first_derivatives(family, theta, rows, packets, score.data(), weight.data());
      for (std::size_t j = 0; j < at(packets) * lane_count; j += lane_count) {
        scores += base::load_lanes(score.data() + j);
        weights += base::load_lanes(weight.data() + j);
      }
    });
    return NullDerivatives{base::sum_of_lanes(scores), base::sum_of_lanes(weights)};
  });
  LossSums sums;
  for_each_run(level, [&](const ResponseRows& rows, int packets) {
    first_derivatives(family, theta, rows, packets, score.data(), weight.data());
    add_losses(family, theta, rows, packets, sums, score.data());
  });
  return base::sum_of_lanes(sums.loss);
}

void HostLikelihoodSums::weight_derivatives(const LikelihoodPoint& point, const std::vector<double>& inverse,
                                            const std::vector<std::vector<double>>& first, bool with_tau,
                                            WeightSums& to) {
  const std::size_t m = first.size();
  to.set_zero(m, point.active.size());
  // Gaussian weights are constant.
  if (point.family == ManyFamily::gaussian) return;
  const auto parameters = static_cast<int>(m);
  pair_sums_.assign(lane_count * m * m, 0);
  predictors_.resize(m * run_rows);
  std::vector<GroupSums> sums(m, GroupSums(point.active));
  GroupSums other_sums(point.active);
  std::array<double, run_rows> leverage;
  std::array<double, run_rows> leverage_slope;
  std::array<double, run_rows> score_by_tau;
  std::array<std::array<double, run_rows>, 6> w;
  const WeightDerivatives derivatives{w[0].data(), w[1].data(), w[2].data(),
                                      w[3].data(), w[4].data(), w[5].data()};
  const WeightChanges changes{
      parameters,          with_tau,         predictors_.data(), run_rows, leverage_slope.data(),
      score_by_tau.data(), pair_sums_.data()};
  std::vector<double> of_group;
  std::vector<std::vector<double>> first_of_group(m);
  bool begins = true;
  point.active.for_each_run(
      [&](std::size_t g, const LaneColumns& columns, std::size_t slot, int packets, bool ends) {
        if (begins) {
          of_group = matrix_of_group(point.active, g, inverse);
          for (std::size_t j = 0; j < m; ++j) gather_group(point.active, g, first[j], first_of_group[j]);
        }
        begins = ends;
        quadratic_forms(columns, of_group.data(), packets, leverage.data());
        gam::weight_derivatives(point.family, point.theta, rows_at(slot), packets, derivatives);
        for (std::size_t j = 0; j < m; ++j)
          linear_combination(columns, first_of_group[j].data(), packets, nullptr,
                             predictors_.data() + j * run_rows);
        add_weight_changes(derivatives, leverage.data(), packets, changes);
        for (std::size_t j = 0; j < m; ++j) {
          const double* const change = predictors_.data() + j * run_rows;
          if (j == 0)
            add_gram_and_products(columns, change, leverage_slope.data(), packets, sums[j].gram(g),
                                  sums[j].products(g));
          else if (with_tau && j == m - 1)
            add_gram_and_products(columns, change, score_by_tau.data(), packets, sums[j].gram(g),
                                  sums[j].products(g));
          else
            add_gram(columns, change, packets, sums[j].gram(g));
        }
        if (with_tau && m == 1) add_products(columns, score_by_tau.data(), packets, other_sums.products(g));
        if (!ends) return;
        for (std::size_t j = 0; j < m; ++j) sums[j].take_gram(g, to.grams[j]);
        sums[0].take_products(g, to.leverage_slope);
        if (with_tau) (m == 1 ? other_sums : sums[m - 1]).take_products(g, to.score_by_tau_twice);
      });
  for (std::size_t j = 0; j < m; ++j) {
    for (std::size_t k = j; k < m; ++k)
      to.leverage_sums(static_cast<int>(j), static_cast<int>(k)) =
          base::sum_of_lanes(base::load_lanes(pair_sums_.data() + lane_count * (j * m + k)));
  }
}

}  // namespace TESSERA_NAMESPACE::gam
