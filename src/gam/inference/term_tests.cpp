// SPDX-License-Identifier: Apache-2.0
#include "gam/inference/term_tests.hpp"

#include "base/at.hpp"
#include "gam/basis/bases.hpp"
#include "gam/inference/distributions.hpp"
#include "gam/linalg/border.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace tessera::gam {
namespace {

using base::at;

constexpr double machine_epsilon = std::numeric_limits<double>::epsilon();

struct Outcome {
  double statistic = 0;  ///< chi-squared
  double df = 0;
  double p_value = 1;
};

/// The Cholesky factor L of a = L L', by scaling to a unit diagonal; a zero row and column stay zero.
Matrix robust_cholesky(Matrix a) {
  const int n = a.rows();
  const std::vector<double> scale = diagonal_roots(a);
  unscale(a, scale);
  // A column that the data do not determine needs a ridge at the level of rounding.
  for (double ridge = 0;; ridge = ridge == 0 ? 16 * machine_epsilon : 16 * ridge) {
    Matrix shifted = a;
    for (int i = 0; i < n; ++i) shifted(i, i) += ridge;
    if (auto lower = cholesky(shifted)) {
      for (int j = 0; j < n; ++j) {
        for (int i = 0; i < n; ++i) (*lower)(i, j) *= scale[at(i)];
      }
      return std::move(*lower);
    }
    if (!(ridge < 1)) throw std::logic_error("term_tests: a crossproduct is not positive semidefinite");
  }
}

Matrix inverse_of(const Matrix& a) {
  return cholesky_inverse(robust_cholesky(a));
}

/// Probability of a mixture above `statistic`; with an estimated scale, of an F-like ratio.
double mixture_p_value(double statistic, const std::vector<double>& weights, bool scale_estimated,
                       double residual_df) {
  // Beyond all doubt, and its powers might be no numbers.
  if (statistic > 1e50) return 0;
  std::vector<ChiSquaredTerm> terms;
  terms.reserve(weights.size());
  for (const double weight : weights) terms.push_back({weight, 1});
  if (!scale_estimated) return weighted_chi_squared_tail(statistic, terms);
  const double k = std::max(1.0, std::nearbyint(residual_df));
  const int df = static_cast<int>(std::min(k, static_cast<double>(std::numeric_limits<int>::max())));
  terms.push_back({-statistic / k, df});
  return weighted_chi_squared_tail(0, terms);
}

/// Wood's test of a smooth with null space: f' V^- f with a pseudo-inverse of fractional rank, from the root
/// of X'X of the block, its coefficients and their posterior covariance.
Outcome test_smooth(const Matrix& gram, std::span<const double> coef, const Matrix& covariance, double rank,
                    bool scale_estimated, double residual_df) {
  const Matrix lower = robust_cholesky(gram);  // R = L'
  const SymmetricEigen eigen = symmetric_eigen(multiply_tn(lower, multiply(covariance, lower)));
  const int size = gram.rows();
  const auto variance = [&](int i) { return eigen.values[at(size - 1 - i)]; };
  const std::vector<double> f = multiply_t(lower, coef);
  // Components of f along the eigenvectors, largest variance first, each vector's first entry positive.
  const auto component = [&](int i) {
    const auto vector = eigen.vectors.column(size - 1 - i);
    return (vector[0] < 0 ? -1.0 : 1.0) * dot(vector, f);
  };

  int whole = static_cast<int>(std::floor(std::max(0.0, rank)));
  double part = rank - whole;
  int used = part > 0 ? whole + 1 : whole;
  int available = 0;
  while (available < size && variance(available) > variance(0) * std::pow(machine_epsilon, 0.9)) ++available;
  if (available < used) {
    whole = used = available;
    part = 0;
    rank = available;
  }
  if (used == 0) return {0, rank, 1};

  double first = 0;   // statistic
  double second = 0;  // the same with the other sign of the last eigenvector
  std::vector<double> weights(at(used), 1.0);
  if (part > 0 && whole > 0) {
    for (int i = 0; i + 1 < whole; ++i) first += component(i) * component(i) / variance(i);
    second = first;
    // The last two directions share 1 + part degrees of freedom: (u, v) B (u, v)', eq. (4) of the paper.
    const double u = component(whole - 1) / std::sqrt(variance(whole - 1));
    const double v = component(whole) / std::sqrt(variance(whole));
    const double mixed = std::sqrt(std::max(0.0, 0.5 * part * (1 - part)));
    first += u * u + 2 * mixed * u * v + part * v * v;
    second += u * u - 2 * mixed * u * v + part * v * v;
    const double sum = 1 + part;
    const double high = (sum + std::sqrt(sum * (2 - sum))) / 2;
    weights[at(whole) - 1] = high;
    weights[at(whole)] = sum - high;
  } else {
    for (int i = 0; i < used; ++i) first += component(i) * component(i) / variance(i);
    second = first;
  }

  Outcome out{first, rank, 1};
  if (part > 0) {
    out.p_value = (mixture_p_value(first, weights, scale_estimated, residual_df) +
                   mixture_p_value(second, weights, scale_estimated, residual_df)) /
                  2;
  } else if (scale_estimated) {
    out.p_value = f_tail(first / rank, rank, residual_df);
  } else {
    out.p_value = chi_squared_tail(first, rank);
  }
  return out;
}

/// Tests of terms that their penalty takes to zero: a zero variance component against its prediction.
class RandomEffectTest {
 public:
  RandomEffectTest(const Design& design, const RemlFit& fit, const Matrix& gram) : fit_(fit), gram_(gram) {
    std::size_t first_sp = 0;
    for (const CoefBlock& block : design.blocks) {
      if (!block.penalty) continue;
      Smooth smooth{&block, {}};
      for (std::size_t j = 0; j < block.penalty->count(); ++j)
        smooth.lambda.push_back(std::exp(fit.log_sp[first_sp++]));
      smooths_.push_back(std::move(smooth));
    }
  }

  [[nodiscard]] Outcome operator()(const CoefBlock& block, bool scale_estimated, double residual_df) const {
    // Crossproduct with the other random effects as part of the noise. mgcv weights the rows by I + Z S^- Z',
    // the covariance of that noise, not by its inverse; the same is done here for the same p-values.
    Matrix noisy = gram_;
    bool others = false;
    std::vector<bool> random(at(gram_.rows()));
    for (const Smooth& smooth : smooths_) {
      if (!is_random_effect(smooth.block->kind) || smooth.block == &block) continue;
      others = true;
      std::fill_n(random.begin() + smooth.block->coef_begin, smooth.block->coef_size, true);
      const Matrix added = explained_by(smooth);
      for (std::size_t i = 0; i < added.values().size(); ++i) noisy.values()[i] += added.values()[i];
    }

    // R'R of the block after all that is not random has been projected out, penalised: the inverse of the
    // block of the inverse.
    const Matrix given = others ? projected_inverse(noisy, random, block)
                                : submatrix(fit_.inverse, block.coef_begin, block.coef_size, block.coef_begin,
                                            block.coef_size);
    const Matrix lower = robust_cholesky(inverse_of(given));

    const Matrix rows = submatrix(fit_.inverse, block.coef_begin, block.coef_size, 0, gram_.cols());
    const Matrix frequentist = multiply(rows, multiply_nt(noisy, rows));
    const std::vector<double> b(fit_.coef.begin() + block.coef_begin,
                                fit_.coef.begin() + block.coef_begin + block.coef_size);
    const std::vector<double> root = multiply_t(lower, b);
    std::vector<double> weights = symmetric_eigen(multiply_tn(lower, multiply(frequentist, lower))).values;
    Outcome out;
    out.statistic = dot(root, root) / fit_.scale;
    for (double& weight : weights) weight = std::max(0.0, weight);
    const double largest = weights.back();
    if (!(largest > 0)) return out;
    out.df = static_cast<double>(std::count_if(weights.begin(), weights.end(), [&](double weight) {
      return weight > largest * std::pow(machine_epsilon, 0.8);
    }));
    std::reverse(weights.begin(), weights.end());
    out.p_value = mixture_p_value(out.statistic, weights, scale_estimated, residual_df);
    return out;
  }

 private:
  struct Smooth {
    const CoefBlock* block;
    std::vector<double> lambda;  ///< of each penalty

    [[nodiscard]] double ridge() const { return lambda[0] * block->penalty->ridge; }
    /// sum_j lambda_j S_j, of what has matrices.
    [[nodiscard]] Matrix penalty() const {
      Matrix sum(block->coef_size, block->coef_size);
      for (std::size_t j = 0; j < lambda.size(); ++j)
        add_multiple(sum.values(), lambda[j], block->penalty->matrices[j].values());
      return sum;
    }
  };

  /// X'WX S^- X'WX with the rows and columns of the smooth between.
  [[nodiscard]] Matrix explained_by(const Smooth& smooth) const {
    const int begin = smooth.block->coef_begin;
    const int size = smooth.block->coef_size;
    if (smooth.block->penalty->is_ridge()) {
      const std::vector<double> inverse(at(size), 1 / smooth.ridge());
      return Border(gram_, begin, size).weighted_square(inverse, HostAlgebra());
    }
    const Matrix columns = submatrix(gram_, 0, gram_.rows(), begin, size);
    return multiply(columns, multiply_nt(inverse_of(smooth.penalty()), columns));
  }

  /// The block of the inverse of `noisy` + S over the coefficients that are not `random`.
  [[nodiscard]] Matrix projected_inverse(Matrix noisy, const std::vector<bool>& random,
                                         const CoefBlock& block) const {
    for (const Smooth& smooth : smooths_) {
      const int begin = smooth.block->coef_begin;
      const int size = smooth.block->coef_size;
      if (smooth.block->penalty->is_ridge()) {
        for (int i = begin; i < begin + size; ++i) noisy(i, i) += smooth.ridge();
        continue;
      }
      const Matrix penalty = smooth.penalty();
      for (int j = 0; j < size; ++j) {
        for (int i = 0; i < size; ++i) noisy(begin + i, begin + j) += penalty(i, j);
      }
    }
    std::vector<int> kept;
    int begin = 0;
    for (int i = 0; i < noisy.rows(); ++i) {
      if (i == block.coef_begin) begin = static_cast<int>(kept.size());
      if (!random[at(i)]) kept.push_back(i);
    }
    return submatrix(inverse_of(submatrix(noisy, kept, kept)), begin, block.coef_size, begin,
                     block.coef_size);
  }

  const RemlFit& fit_;
  const Matrix& gram_;
  std::vector<Smooth> smooths_;
};

/// What its penalty can take to zero.
bool has_random_effect_test(const CoefBlock& block) {
  return block.penalty && block.penalty->rank() == block.coef_size && block.determined == 0;
}

double sum_over(const std::vector<double>& values, const CoefBlock& block) {
  return std::accumulate(values.begin() + block.coef_begin,
                         values.begin() + block.coef_begin + block.coef_size, 0.0);
}

}  // namespace

CoefficientTest test_coefficient(const std::string& name, double estimate, double standard_error,
                                 bool scale_estimated, double residual_df) {
  const double statistic = estimate / standard_error;
  return {name, estimate, standard_error, statistic,
          scale_estimated ? student_two_sided(statistic, residual_df) : normal_two_sided(statistic)};
}

bool is_left_untested(const CoefBlock& block, int largest_tested) {
  return has_random_effect_test(block) && block.coef_size > largest_tested;
}

TermTests test_terms(const Design& design, const RemlFit& fit, const Matrix& gram, bool scale_estimated,
                     double residual_df, int largest_tested) {
  TermTests out;
  const RandomEffectTest test_random_effect(design, fit, gram);
  for (const CoefBlock& block : design.blocks) {
    const int begin = block.coef_begin;
    const int size = block.coef_size;
    if (!block.penalty) {
      for (int i = 0; i < size; ++i) {
        out.coefficients.push_back(test_coefficient(block.names[at(i)], fit.coef[at(begin + i)],
                                                    std::sqrt(fit.scale * fit.inverse(begin + i, begin + i)),
                                                    scale_estimated, residual_df));
      }
      continue;
    }
    Outcome outcome;
    if (is_left_untested(block, largest_tested)) {
      constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
      outcome = {unknown, unknown, unknown};
    } else if (has_random_effect_test(block)) {
      outcome = test_random_effect(block, scale_estimated, residual_df);
    } else {
      Matrix covariance = submatrix(fit.inverse, begin, size, begin, size);
      for (double& v : covariance.values()) v *= fit.scale;
      const std::span<const double> coef(fit.coef);
      outcome = test_smooth(submatrix(gram, begin, size, begin, size), coef.subspan(at(begin), at(size)),
                            covariance, std::min<double>(size, sum_over(fit.edf1, block)), scale_estimated,
                            residual_df);
    }
    out.smooths.push_back(
        {block.label, sum_over(fit.edf, block), outcome.df,
         scale_estimated && outcome.df > 0 ? outcome.statistic / outcome.df : outcome.statistic,
         outcome.p_value});
  }
  return out;
}

}  // namespace tessera::gam
