// SPDX-License-Identifier: Apache-2.0
#include "gam/inference/term_tests.hpp"

#include "base/at.hpp"
#include "base/math/elementary.hpp"
#include "gam/basis/bases.hpp"
#include "gam/inference/distributions.hpp"
#include "gam/linalg/border.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/robust_cholesky.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

constexpr double machine_epsilon = std::numeric_limits<double>::epsilon();

struct Outcome {
  double statistic = 0;  ///< chi-squared
  double df = 0;
  double p_value = 1;
};

Matrix inverse_of(const Matrix& a) {
  return cholesky_inverse(robust_cholesky(a));
}

/// P(mixture > statistic). If the scale is estimated, the tail of the corresponding F-like ratio.
double mixture_p_value(double statistic, const std::vector<double>& weights, bool scale_estimated,
                       double residual_df) {
  // The probability is practically 0, and powers of the statistic might overflow.
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

/// Wood's test of a smooth with null space: f' V^- f, where V is the posterior covariance of f, and V^- a
/// pseudo-inverse of fractional rank. `gram`: X'X of the block; `rank` need not be whole.
Outcome test_smooth(const Matrix& gram, std::span<const double> coef, const Matrix& covariance, double rank,
                    bool scale_estimated, double residual_df) {
  const Matrix lower = robust_cholesky(gram);  // L of L L' = X'X, so R = L'
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
  while (available < size && variance(available) > variance(0) * base::pow(machine_epsilon, 0.9)) ++available;
  if (available < used) {
    whole = used = available;
    part = 0;
    rank = available;
  }
  if (used == 0) return {0, rank, 1};

  double first = 0;   // the statistic
  double second = 0;  // the statistic with the last eigenvector negated
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

/// Test of a term that its penalty can shrink to zero: whether the variance component is zero. For a block of
/// the part, all elements of the matrices must be available.
class RandomEffectTest {
 public:
  RandomEffectTest(const Design& design, const RemlFit& fit, const PartedMatrix& gram)
      : design_(design), fit_(fit), gram_(gram) {
    std::size_t first_sp = 0;
    for (const CoefBlock& block : design.blocks) {
      if (!block.penalty) continue;
      Smooth smooth{&block, {}};
      for (std::size_t j = 0; j < block.penalty->count(); ++j)
        smooth.lambda.push_back(base::exp(fit.log_sp[first_sp++]));
      smooths_.push_back(std::move(smooth));
    }
  }

  [[nodiscard]] Outcome operator()(const CoefBlock& block, bool scale_estimated, double residual_df) const {
    std::vector<const Smooth*> others;  // random effects except `block`
    for (const Smooth& smooth : smooths_) {
      if (is_random_effect(smooth.block->kind) && smooth.block != &block) others.push_back(&smooth);
    }
    // R'R of the penalised block, after projecting out all columns except those of random effects: the
    // inverse of the block's part of (X'WX + S)^-1.
    const Matrix given = others.empty() ? square_of(fit_.inverse, block) : projected_inverse(block, others);
    const Matrix lower = robust_cholesky(inverse_of(given));
    const Matrix noise = is_parted(block) ? noise_of_part(block) : noise_of(block, others);
    const std::vector<double> b(fit_.coef.begin() + block.coef_begin,
                                fit_.coef.begin() + block.coef_begin + block.coef_size);
    const std::vector<double> root = multiply_t(lower, b);
    std::vector<double> weights = symmetric_eigen(multiply_tn(lower, multiply(noise, lower))).values;
    Outcome out;
    out.statistic = dot(root, root) / fit_.scale;
    // The noise has the scale of the covariance, which may differ from the statistic's scale.
    for (double& weight : weights) weight = std::max(0.0, weight) * fit_.covariance_scale / fit_.scale;
    const double largest = weights.back();
    if (!(largest > 0)) return out;
    const auto above = std::count_if(weights.begin(), weights.end(), [&](double weight) {
      return weight > largest * base::pow(machine_epsilon, 0.8);
    });
    out.df = std::min(static_cast<double>(above), static_cast<double>(rank_beside_unpenalised(block)));
    std::reverse(weights.begin(), weights.end());
    out.p_value = mixture_p_value(out.statistic, weights, scale_estimated, residual_df);
    return out;
  }

 private:
  struct Smooth {
    const CoefBlock* block;
    std::vector<double> lambda;  ///< by penalty

    [[nodiscard]] double ridge() const { return lambda[0] * block->penalty->ridge; }
    /// The diagonal of sum_j lambda_j S_j.
    [[nodiscard]] std::vector<double> diagonal() const {
      std::vector<double> sum(at(block->coef_size));
      for (std::size_t j = 0; j < lambda.size(); ++j) {
        for (std::size_t i = 0; i < sum.size(); ++i)
          sum[i] += lambda[j] * block->penalty->diagonal_of(j, static_cast<int>(i));
      }
      return sum;
    }
    /// sum_j lambda_j S_j.
    [[nodiscard]] Matrix penalty() const {
      Matrix sum(block->coef_size, block->coef_size);
      for (std::size_t j = 0; j < lambda.size(); ++j)
        add_multiple(sum.values(), lambda[j], block->penalty->matrix(j).values());
      return sum;
    }
  };

  // The other random effects are part of the noise. Like mgcv, the test weights the rows by the covariance of
  // this noise, I + Z S^- Z', instead of its inverse, so that p-values agree. The crossproduct with these
  // weights is N = G + sum G S^- G with G = X'WX. To the left and right of an S^-, G is restricted to the
  // columns and rows of the effect.

  /// Rank of the block after projecting out the unpenalised columns: the number of positive weights of the
  /// statistic's distribution. Rounding may make other weights nonzero if a small penalty is inverted.
  [[nodiscard]] int rank_beside_unpenalised(const CoefBlock& block) const {
    constexpr double explained = 1e-10;
    Matrix free(gram_.core.rows(), design_.null_space());
    int column = 0;
    for (const CoefBlock& other : design_.blocks) {
      if (gram_.part().has(other.coef_begin)) continue;
      const Matrix own = other.penalty ? other.penalty->null_space : identity(other.coef_size);
      if (column + own.cols() > free.cols()) return block.coef_size;
      assign(free, gram_.in_core(other.coef_begin), column, own);
      column += own.cols();
    }
    const Matrix own = square_of(gram_, block);
    Matrix rest = own;
    if (column == free.cols() && column > 0) {
      const Matrix products = multiply(gram_.core, free);
      const Matrix beside =
          is_parted(block) ? multiply(rows_of(block, gram_.border), free)
                           : submatrix(products, gram_.in_core(block.coef_begin), block.coef_size, 0, column);
      const Matrix half =
          triangular_solve(robust_cholesky(multiply_tn(free, products)), transpose(beside), false);
      add_multiple(rest.values(), -1, multiply_tn(half, half).values());
    }
    unscale(rest, diagonal_roots(own));
    const std::vector<double> shares = symmetric_eigen(rest).values;
    return static_cast<int>(std::ranges::count_if(shares, [](double share) { return share > explained; }));
  }

  [[nodiscard]] bool is_parted(const CoefBlock& block) const { return gram_.part().has(block.coef_begin); }

  /// The rows of `of_part`, which has a row for each coefficient of the part, that belong to `block`.
  [[nodiscard]] Matrix rows_of(const CoefBlock& block, const Matrix& of_part) const {
    return submatrix(of_part, gram_.part().in_part(block.coef_begin), block.coef_size, 0, of_part.cols());
  }

  /// The diagonal block for `block` of a matrix with the layout of X'WX.
  [[nodiscard]] Matrix square_of(const PartedMatrix& a, const CoefBlock& block) const {
    if (!is_parted(block)) return a.block(block.coef_begin, block.coef_size);
    Matrix square(block.coef_size, block.coef_size);
    for (int j = 0; j < square.cols(); ++j) {
      for (int i = j; i < square.rows(); ++i)
        square(i, j) = square(j, i) = a(block.coef_begin + i, block.coef_begin + j);
    }
    return square;
  }

  /// G S^- G over the core and, if it is in the part, over `block`.
  [[nodiscard]] Matrix explained_by(const Smooth& smooth, const CoefBlock& block) const {
    if (is_parted(*smooth.block)) {
      std::vector<double> inverse = smooth.diagonal();
      for (double& value : inverse) value = 1 / value;
      return beside(*smooth.block, block).weighted_square(inverse, HostAlgebra());
    }
    const int size = smooth.block->coef_size;
    const int place = gram_.in_core(smooth.block->coef_begin);
    const int core = gram_.core.rows();
    Matrix columns(core + (is_parted(block) ? block.coef_size : 0), size);
    assign(columns, 0, 0, submatrix(gram_.core, 0, core, place, size));
    if (is_parted(block))
      assign(columns, core, 0, rows_of(block, submatrix(gram_.border, 0, gram_.border.rows(), place, size)));
    if (smooth.block->penalty->is_ridge())
      return Border(transpose(columns))
          .weighted_square(std::vector<double>(at(size), 1 / smooth.ridge()), HostAlgebra());
    return multiply(columns, multiply_nt(inverse_of(smooth.penalty()), columns));
  }
  /// The rows of G for block `rows` of the part, in the columns of the core and of `columns`, if in the part.
  [[nodiscard]] Border beside(const CoefBlock& rows, const CoefBlock& columns) const {
    if (!is_parted(columns)) return Border(rows_of(rows, gram_.border));
    const Part& part = gram_.part();
    const int core = gram_.core.rows();
    const Part::Run own{part.in_part(rows.coef_begin), rows.coef_size};
    const Part::Run other{part.in_part(columns.coef_begin), columns.coef_size};
    const auto for_each_met = [&](const auto& use) {
      gram_.for_each_beside([&](std::size_t k, int i, int j) {
        if (own.has(i) && other.has(j)) use(i - own.begin, core + j - other.begin, gram_.beside[k]);
        if (own.has(j) && other.has(i)) use(j - own.begin, core + i - other.begin, gram_.beside[k]);
      });
    };
    std::vector<std::vector<int>> met(at(own.size));
    for_each_met([&](int row, int column, double) { met[at(row)].push_back(column); });
    SparsePattern pattern;
    for (std::vector<int>& places : met) {
      std::ranges::sort(places);
      pattern.rows.insert(pattern.rows.end(), places.begin(), places.end());
      pattern.begins.push_back(std::ssize(pattern.rows));
    }
    std::vector<int> of_core(at(core));
    std::iota(of_core.begin(), of_core.end(), 0);
    Border out(core + other.size, of_core, pattern);
    for (int i = 0; i < own.size; ++i) {
      for (int j = 0; j < core; ++j) out.dense_of(i)[at(j)] = gram_.border(own.begin + i, j);
    }
    for_each_met([&](int row, int column, double value) { out.set(row, column, value); });
    return out;
  }

  /// The block of (N + S)^-1 after dropping the coefficients of the `others`.
  [[nodiscard]] Matrix projected_inverse(const CoefBlock& block,
                                         std::span<const Smooth* const> others) const {
    const int core = gram_.core.rows();
    const int behind = is_parted(block) ? block.coef_size : 0;
    Matrix sum(core + behind, core + behind);
    assign(sum, 0, 0, gram_.core);
    if (behind > 0) {
      const Matrix rows = rows_of(block, gram_.border);
      assign(sum, core, 0, rows);
      assign(sum, 0, core, transpose(rows));
      assign(sum, core, core, square_of(gram_, block));
    }
    std::vector<bool> left_out(at(sum.rows()));
    for (const Smooth* const other : others) {
      add_multiple(sum.values(), 1, explained_by(*other, block).values());
      if (!is_parted(*other->block))
        std::fill_n(left_out.begin() + gram_.in_core(other->block->coef_begin), other->block->coef_size,
                    true);
    }
    for (const Smooth& smooth : smooths_) {
      if (!is_parted(*smooth.block)) {
        add_penalty(smooth, sum);
      } else if (smooth.block == &block) {
        const std::vector<double> diagonal = smooth.diagonal();
        for (int i = 0; i < behind; ++i) sum(core + i, core + i) += diagonal[at(i)];
      }
    }
    std::vector<int> kept;
    int begin = 0;
    for (int i = 0; i < sum.rows(); ++i) {
      if (i == (behind > 0 ? core : gram_.in_core(block.coef_begin))) begin = static_cast<int>(kept.size());
      if (!left_out[at(i)]) kept.push_back(i);
    }
    return submatrix(inverse_of(submatrix(sum, kept, kept)), begin, block.coef_size, begin, block.coef_size);
  }

  void add_penalty(const Smooth& smooth, Matrix& sum) const {
    const int begin = gram_.in_core(smooth.block->coef_begin);
    const int size = smooth.block->coef_size;
    if (smooth.block->penalty->is_ridge()) {
      for (int i = begin; i < begin + size; ++i) sum(i, i) += smooth.ridge();
      return;
    }
    const Matrix penalty = smooth.penalty();
    for (int j = 0; j < size; ++j) {
      for (int i = 0; i < size; ++i) sum(begin + i, begin + j) += penalty(i, j);
    }
  }

  /// R N R' for a block of the part, where R has the block's rows of the inverse A, which is known only in
  /// part. Because G = A^-1 - S, the terms of other random effects in R G R' cancel: R N R' = A - A S A - sum
  /// R S R'. A and S are restricted to the block, and the sum is over all other smooths.
  [[nodiscard]] Matrix noise_of_part(const CoefBlock& block) const {
    const Matrix own = square_of(fit_.inverse, block);
    const Matrix beside = rows_of(block, fit_.inverse.border);
    Matrix noise = own;
    for (const Smooth& smooth : smooths_) {
      if (smooth.block == &block) {
        Matrix weighted = own;
        const std::vector<double> diagonal = smooth.diagonal();
        for (int j = 0; j < weighted.cols(); ++j) {
          for (double& value : weighted.column(j)) value *= diagonal[at(j)];
        }
        add_multiple(noise.values(), -1, multiply_nt(weighted, own).values());
      } else if (!is_random_effect(smooth.block->kind)) {
        const Matrix rows = submatrix(beside, 0, beside.rows(), gram_.in_core(smooth.block->coef_begin),
                                      smooth.block->coef_size);
        add_multiple(noise.values(), -1, multiply(rows, multiply_nt(smooth.penalty(), rows)).values());
      }
    }
    return noise;
  }

  /// R N R', where R has the block's rows of the inverse.
  [[nodiscard]] Matrix noise_of(const CoefBlock& block, std::span<const Smooth* const> others) const {
    const int begin = gram_.in_core(block.coef_begin);
    const Matrix rows = transpose(submatrix(fit_.inverse.core, 0, gram_.core.rows(), begin, block.coef_size));
    Matrix influence = multiply(rows, gram_.core);  // R G
    Matrix of_part;                                 // the columns of R G in the part
    Matrix noise;
    if (gram_.is_parted()) {
      const Matrix beside = submatrix(fit_.inverse.border, 0, gram_.border.rows(), begin, block.coef_size);
      add_multiple(influence.values(), 1, multiply_tn(beside, gram_.border).values());
      of_part = multiply(gram_.border, transpose(rows));
      for (int j = 0; j < of_part.cols(); ++j) {
        for (int i = 0; i < of_part.rows(); ++i) of_part(i, j) += gram_.diagonal[at(i)] * beside(i, j);
        gram_.for_each_beside([&](std::size_t k, int row, int column) {
          of_part(row, j) += gram_.beside[k] * beside(column, j);
          of_part(column, j) += gram_.beside[k] * beside(row, j);
        });
      }
      noise = multiply_tn(of_part, beside);
      add_multiple(noise.values(), 1, multiply_nt(influence, rows).values());
    } else {
      noise = multiply_nt(influence, rows);
    }
    for (const Smooth* const other : others) {
      const int size = other->block->coef_size;
      if (is_parted(*other->block)) {
        Matrix own = transpose(rows_of(*other->block, of_part));
        const std::vector<double> diagonal = other->diagonal();
        for (int j = 0; j < size; ++j) {
          for (double& value : own.column(j)) value /= std::sqrt(diagonal[at(j)]);
        }
        add_multiple(noise.values(), 1, multiply_nt(own, own).values());
        continue;
      }
      const Matrix own =
          submatrix(influence, 0, block.coef_size, gram_.in_core(other->block->coef_begin), size);
      const bool ridge = other->block->penalty->is_ridge();
      const Matrix part =
          ridge ? multiply_nt(own, own) : multiply(own, multiply_nt(inverse_of(other->penalty()), own));
      add_multiple(noise.values(), ridge ? 1 / other->ridge() : 1, part.values());
    }
    return noise;
  }

  const Design& design_;
  const RemlFit& fit_;
  const PartedMatrix& gram_;
  std::vector<Smooth> smooths_;
};

/// Whether the penalty can shrink the whole block to zero.
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

JointTest test_jointly(const Matrix& covariance, std::span<const double> coef, bool scale_estimated,
                       double residual_df) {
  const SymmetricEigen eigen = symmetric_eigen(covariance);
  const double least = std::sqrt(machine_epsilon) * eigen.values.back();
  JointTest test;
  for (int i = 0; i < covariance.rows(); ++i) {
    if (!(eigen.values[at(i)] > least)) continue;
    const double part = dot(eigen.vectors.column(i), coef);
    test.statistic += part * part / eigen.values[at(i)];
    ++test.rank;
  }
  if (scale_estimated) test.statistic /= test.rank;
  test.p_value = scale_estimated ? f_tail(test.statistic, test.rank, residual_df)
                                 : chi_squared_tail(test.statistic, test.rank);
  return test;
}

bool is_left_untested(const Design& design, const CoefBlock& block, int largest_tested) {
  if (!has_random_effect_test(block)) return false;
  if (block.coef_size > largest_tested) return true;
  const auto is_curve_beside = [&](const CoefBlock& other) {
    return &other != &block && design.parted_columns.has(other.raw_begin) && !is_random_effect(other.kind);
  };
  return design.parted_columns.has(block.raw_begin) && std::ranges::any_of(design.blocks, is_curve_beside);
}

TermTests test_terms(const Design& design, const RemlFit& fit, const PartedMatrix& gram, bool scale_estimated,
                     double residual_df, int largest_tested) {
  TermTests out;
  const RandomEffectTest test_random_effect(design, fit, gram);
  for (const CoefBlock& block : design.blocks) {
    const int begin = block.coef_begin;
    const int size = block.coef_size;
    if (!block.is_smooth()) {
      for (int i = 0; i < size; ++i) {
        out.coefficients.push_back(
            test_coefficient(block.names[at(i)], fit.coef[at(begin + i)],
                             std::sqrt(fit.covariance_scale * fit.inverse(begin + i, begin + i)),
                             scale_estimated, residual_df));
      }
      continue;
    }
    Outcome outcome;
    if (is_left_untested(design, block, largest_tested)) {
      constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
      outcome = {unknown, unknown, unknown};
    } else if (has_random_effect_test(block)) {
      outcome = test_random_effect(block, scale_estimated, residual_df);
    } else {
      Matrix covariance = fit.inverse.block(begin, size);
      for (double& v : covariance.values()) v *= fit.covariance_scale;
      const std::span<const double> coef(fit.coef);
      outcome = test_smooth(gram.block(begin, size), coef.subspan(at(begin), at(size)), covariance,
                            std::min<double>(size, sum_over(fit.edf1, block)), scale_estimated, residual_df);
    }
    out.smooths.push_back(
        {block.label, sum_over(fit.edf, block), outcome.df,
         scale_estimated && outcome.df > 0 ? outcome.statistic / outcome.df : outcome.statistic,
         outcome.p_value});
  }
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
