// SPDX-License-Identifier: Apache-2.0
#include "gam/design/standardise.hpp"

#include "base/at.hpp"
#include "gam/basis/bases.hpp"
#include "gam/data/frame/extents.hpp"
#include "gam/linalg/linalg.hpp"

#include <tessera/job/reproducible_sum.hpp>

#include <algorithm>
#include <cmath>
#include <span>

namespace TESSERA_NAMESPACE::gam {
namespace {

using tessera::mpi::Communicator;

/// A variable is made orthogonal to earlier ones if its squared residual is below this share of its squared
/// norm.
constexpr double collinear_share = 1e-4;
/// A squared residual below this fraction is a linear dependence. (R's lm: 1e-7, not squared.)
constexpr double dependent_share = 1e-14;
/// An earlier variable is not subtracted if its contribution is below this fraction of the final residual.
constexpr double negligible = 1e-3;

using base::at;

/// The variables to standardise. The first `alone` variables are parametric terms by themselves, in order.
struct Chosen {
  std::vector<int> variables;
  std::size_t alone = 0;
};

Chosen choose(const FormulaTerms& formula, const Frame& frame) {
  Chosen chosen;
  const auto add = [&](const Expression& expression) {
    const int index = frame.index_of(expression.text);
    if (frame.variables[at(index)].factor) return;
    if (std::find(chosen.variables.begin(), chosen.variables.end(), index) == chosen.variables.end())
      chosen.variables.push_back(index);
  };
  for (const ParametricTerm& term : formula.parametric) {
    if (term.variables.size() == 1) add(term.variables.front());
  }
  chosen.alone = chosen.variables.size();
  for (const ParametricTerm& term : formula.parametric) {
    for (const Expression& variable : term.variables) add(variable);
  }
  for (const SmoothSpec& smooth : formula.smooths) {
    if (smooth.by) add(*smooth.by);
    for (const MarginSpec& margin : smooth.margins) {
      if (is_random_effect(margin.basis)) add(margin.variable);
    }
  }
  return chosen;
}

class Measurer {
 public:
  Measurer(const Communicator& comm, const Frame& frame, std::vector<int> variables, std::int64_t block,
           HostTeam& team)
      : comm_(comm), frame_(frame), variables_(std::move(variables)), block_(block), team_(team) {
    measure_extents();
    measure_means();
  }

  [[nodiscard]] Standards run(std::size_t alone) {
    const std::size_t count = variables_.size();
    combinations_.assign(count, std::vector<double>(count));
    for (std::size_t j = 0; j < count; ++j) combinations_[j][j] = 1;
    const Matrix moments = crossproducts(count);
    Standards standards(frame_.variables.size());
    for (std::size_t j = 0; j < count; ++j) {
      const double deviation = std::sqrt(moments(static_cast<int>(j), static_cast<int>(j)) / rows());
      sizes_.push_back(deviation);
      Standard& standard = standards[at(variables_[j])];
      standard.factor = power_of_two_for(extents_[j].size());
      standard.centred = {variables_[j], centres_[j], factors_[j] * power_of_two_for(deviation)};
    }
    for (const std::size_t j : collinear(moments, alone)) orthogonalise(j, standards);
    return standards;
  }

 private:
  [[nodiscard]] double rows() const { return static_cast<double>(frame_.complete_rows); }
  [[nodiscard]] double number(std::size_t variable, std::size_t row) const {
    return frame_.variables[at(variables_[variable])].numbers[row];
  }
  [[nodiscard]] double centred(std::size_t variable, std::size_t row) const {
    return (number(variable, row) - centres_[variable]) * factors_[variable];
  }

  void measure_extents() {
    for (const int variable : variables_) {
      const Extent one = extents_.emplace_back(extent_of({comm_, team_}, frame_, variable));
      const double middle = one.min / 2 + one.max / 2;
      // Zero for a number that is not finite, which the fit reports later.
      centres_.push_back(std::isfinite(middle) ? middle : 0);
      factors_.push_back(power_of_two_for(one.max / 2 - one.min / 2));
    }
  }

  /// Moves the centres from each variable's mid-range to its mean.
  void measure_means() {
    const std::vector<double> sums = summed(variables_.size(), [&](std::size_t row, std::span<double> out) {
      for (std::size_t j = 0; j < out.size(); ++j) out[j] += centred(j, row);
    });
    for (std::size_t j = 0; j < sums.size(); ++j) {
      if (std::isfinite(sums[j])) centres_[j] += sums[j] / rows() / factors_[j];
    }
  }

  /// *Collective.* Sums over the complete rows of the job; `add` adds the contribution of one row.
  template <class Add>
  [[nodiscard]] std::vector<double> summed(std::size_t width, const Add& add) const {
    std::vector<ReproducibleSum> sums(at(team_.size()), ReproducibleSum(width));
    team_.for_each_block(frame_.rows, block_, [&](int thread, Range block) {
      std::vector<double> partial(width);
      for (std::int64_t unit = block.begin; unit < block.end; ++unit) {
        const std::size_t row = at(unit - frame_.rows.begin);
        if (frame_.complete[row] != 0) add(row, std::span(partial));
      }
      sums[at(thread)].add(std::span<const double>(partial));
    });
    for (std::size_t i = 1; i < sums.size(); ++i) sums.front().merge(sums[i]);
    sums.front().allreduce(comm_);
    return sums.front().values();
  }

  /// *Collective.* Crossproducts of the first `count` variables, as transformed by `combinations_`.
  [[nodiscard]] Matrix crossproducts(std::size_t count) const {
    const std::vector<double> sums =
        summed(count * (count + 1) / 2, [&](std::size_t row, std::span<double> out) {
          std::vector<double> plain(count);
          for (std::size_t j = 0; j < count; ++j) plain[j] = centred(j, row);
          std::vector<double> values(count);
          for (std::size_t j = 0; j < count; ++j) {
            for (std::size_t k = 0; k <= j; ++k) {
              if (combinations_[j][k] != 0) values[j] += combinations_[j][k] * plain[k];
            }
          }
          std::size_t index = 0;
          for (std::size_t j = 0; j < count; ++j) {
            for (std::size_t k = 0; k <= j; ++k) out[index++] += values[j] * values[k];
          }
        });
    Matrix out(static_cast<int>(count), static_cast<int>(count));
    std::size_t index = 0;
    for (int j = 0; j < out.cols(); ++j) {
      for (int k = 0; k <= j; ++k) out(j, k) = out(k, j) = sums[index++];
    }
    return out;
  }

  /// Which of the first `alone` variables are nearly determined by earlier ones.
  [[nodiscard]] static std::vector<std::size_t> collinear(const Matrix& moments, std::size_t alone) {
    std::vector<std::size_t> found;
    const int count = static_cast<int>(alone);
    Matrix root(count, count);  // column j is row j of the Cholesky factor of the correlations
    for (int j = 0; j < count; ++j) {
      if (!(moments(j, j) > 0) || !std::isfinite(moments(j, j))) continue;
      for (int k = 0; k < j; ++k) {
        if (root(k, k) == 0) continue;
        const auto before = at(k);
        const double correlation = moments(j, k) / std::sqrt(moments(j, j)) / std::sqrt(moments(k, k));
        root(k, j) =
            (correlation - dot(root.column(k).first(before), root.column(j).first(before))) / root(k, k);
      }
      const auto row = root.column(j).first(at(j));
      const double left = 1 - dot(row, row);
      if (left < collinear_share) found.push_back(at(j));
      root(j, j) = std::sqrt(std::max(left, dependent_share));
    }
    return found;
  }

  /// Subtracts from variable j its projection on the earlier variables, twice for an accurate residual.
  void orthogonalise(std::size_t j, Standards& standards) {
    const std::vector<double> before = combinations_[j];
    for (int round = 0; round < 2; ++round) subtract_explained(j, crossproducts(j + 1));
    const int own = static_cast<int>(j);
    const double left = std::sqrt(crossproducts(j + 1)(own, own) / rows());
    if (!(left * left > dependent_share * sizes_[j] * sizes_[j])) {
      combinations_[j] = before;
      return;
    }
    Standard& standard = standards[at(variables_[j])];
    const double factor = power_of_two_for(left);
    standard.orthogonal.push_back({variables_[j], centres_[j], factors_[j] * factor});
    for (std::size_t k = 0; k < j; ++k) {
      if (combinations_[j][k] == 0) continue;
      standard.orthogonal.push_back({variables_[k], centres_[k], combinations_[j][k] * factors_[k] * factor});
    }
  }

  void subtract_explained(std::size_t j, const Matrix& moments) {
    const int count = static_cast<int>(j);
    Matrix gram(count, count);
    std::vector<double> own;
    const std::vector<double> sizes = diagonal_roots(moments);
    for (int k = 0; k < count; ++k) {
      own.push_back(moments(k, count) / sizes[at(k)]);
      for (int m = 0; m < count; ++m) gram(m, k) = moments(m, k) / sizes[at(m)] / sizes[at(k)];
      if (!(moments(k, k) > 0)) gram(k, k) = 1;
    }
    const auto lower = cholesky(gram);
    if (!lower) return;
    const std::vector<double> weights = cholesky_solve(*lower, own);
    const double left = std::sqrt(std::max(0.0, moments(count, count) - dot(weights, own)));
    for (int k = 0; k < count; ++k) {
      if (!(std::abs(weights[at(k)]) > negligible * left)) continue;
      const double weight = weights[at(k)] / sizes[at(k)];
      for (std::size_t m = 0; m <= at(k); ++m) combinations_[j][m] -= weight * combinations_[at(k)][m];
    }
  }

  const Communicator& comm_;
  const Frame& frame_;
  std::vector<int> variables_;
  std::int64_t block_;
  HostTeam& team_;
  std::vector<Extent> extents_;
  std::vector<double> centres_;
  std::vector<double> factors_;  ///< powers of two that scale half the range of each variable
  std::vector<double> sizes_;    ///< standard deviations, times `factors_`
  /// Row j: variable j minus its projection on earlier variables, all centred and scaled.
  std::vector<std::vector<double>> combinations_;
};

}  // namespace

double power_of_two_for(double size) {
  if (!(size > 0) || !std::isfinite(size)) return 1;
  return std::ldexp(1.0, std::clamp(-std::ilogb(size), -1000, 1000));
}

Standards standards_of(const Communicator& comm, const FormulaTerms& formula, const Frame& frame,
                       std::int64_t block, HostTeam& team) {
  Chosen chosen = choose(formula, frame);
  if (chosen.variables.empty()) return {};
  return Measurer(comm, frame, std::move(chosen.variables), block, team).run(chosen.alone);
}

}  // namespace TESSERA_NAMESPACE::gam
