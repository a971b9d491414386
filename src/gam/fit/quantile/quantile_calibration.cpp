// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/quantile/quantile_calibration.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/math/elementary.hpp"
#include "gam/family/elf.hpp"
#include "gam/family/gaussian.hpp"
#include "gam/fit/pirls/pirls.hpp"
#include "gam/fit/pirls/working_solver.hpp"
#include "gam/fit/quantile/residual_shape.hpp"
#include "gam/fit/run/block_sums.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/robust_cholesky.hpp"
#include "gam/rows/row_reader.hpp"

#include <fmt/core.h>
#include <boost/math/tools/minima.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <tessera/job/together.hpp>
#include <tuple>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Maximum number of coefficients p for a calibration: sums have p (p + 1) numbers, and a row costs O(p^2).
constexpr int most_calibrated = 1000;

struct EndOfFit {
  std::vector<double> raw_coef;
  std::vector<double> log_sp;
  double scale, edf;
};

EndOfFit fit_with(const FitContext& fit, Rows rows, const Family& family) {
  rows.family = family;
  RowPass pass(fit.job, fit.plan, rows);
  const RawMoments moments = fit.sums_of(pass, [&] { return pass.moments(); });
  PirlsLoop loop(fit, pass, rows, moments);
  loop.run({});
  const PirlsEnd& end = loop.end();
  return {rows.design->raw_coefficients(end.coef), end.solution.log_sp, end.solution.scale,
          end.solution.edf_total};
}

/// Generalised inverse of a positive semidefinite matrix, which is first scaled to a unit diagonal.
Matrix generalised_inverse(Matrix a) {
  constexpr double least = 1e-6;  // smaller eigenvalues, relative to the largest, count as 0
  const std::vector<double> roots = diagonal_roots(a);
  unscale(a, roots);
  const SymmetricEigen eigen = symmetric_eigen(a);
  Matrix factor(a.rows(), a.rows());
  for (int k = 0; k < a.rows(); ++k) {
    if (eigen.values[at(k)] > least * eigen.values.back())
      add_multiple(factor.column(k), 1 / std::sqrt(eigen.values[at(k)]), eigen.vectors.column(k));
  }
  Matrix inverse = multiply_nt(factor, factor);
  unscale(inverse, roots);
  return inverse;
}

/// The calibration's loss as a function of the learning rate.
class Calibration {
 public:
  Calibration(const FitContext& fit, FitObserver& observer, const Rows& rows, Family family)
      : fit_(fit),
        observer_(observer),
        rows_(rows),
        family_(std::move(family)),
        size_(rows.design->coef_size) {
    const std::vector<double> sums = sums_of_rows(
        1, 0,
        [](std::size_t /*row*/, double /*eta*/, std::span<double> weights) { weights[0] = weights[1] = 1; });
    square_ = symmetric(sums, 0);
    column_sums_.assign(sums.end() - size_, sums.end());
  }

  /// The log learning rate of least loss, by Brent's method. The search starts at the rate at which the
  /// median's pinball loss is minus the log density of a Laplace distribution of this standard deviation.
  [[nodiscard]] double best(double deviation) {
    constexpr int bits = 11;
    constexpr int most_moves = 10;
    struct Point {
      double log_rate, loss;
    };
    const auto at = [&](double log_rate) { return Point{log_rate, loss(log_rate)}; };
    double width = std::numbers::ln2;
    Point middle = at(base::log(deviation / std::numbers::sqrt2 / 2));
    Point low = at(middle.log_rate - width);
    Point high = at(middle.log_rate + width);
    for (int i = 0; i < most_moves && std::min(low.loss, high.loss) < middle.loss; ++i) {
      width *= 2;
      if (low.loss < high.loss) {
        high = std::exchange(middle, low);
        low = at(middle.log_rate - width);
      } else {
        low = std::exchange(middle, high);
        high = at(middle.log_rate + width);
      }
    }
    return boost::math::tools::brent_find_minima([&](double log_rate) { return loss(log_rate); },
                                                 low.log_rate, high.log_rate, bits)
        .first;
  }
  [[nodiscard]] int fits() const { return fits_; }
  [[nodiscard]] Family with(double log_rate) const {
    std::vector<double> values(family_.parameters().begin(), family_.parameters().end());
    values[Elf::at_lsig] = log_rate;
    return family_.at(std::move(values));
  }

 private:
  [[nodiscard]] std::size_t triangle() const { return at(size_) * at(size_ + 1) / 2; }

  /// Sums over the rows: w xx' for each of the first `squares` weights w, then the last `further` weights,
  /// then x times the weight between these. `weigh(row, eta, weights)` sets the weights.
  template <class Weigh>
  [[nodiscard]] std::vector<double> sums_of_rows(std::size_t squares, std::size_t further, const Weigh& weigh,
                                                 std::span<const double> raw_coef = {}) const {
    const std::size_t vectors = squares * triangle();
    return sums_over_blocks<RowReader>(
        fit_, rows_, vectors + further + at(size_),
        [&](RowReader& reader, std::size_t begin, std::size_t end, std::span<double> sums) {
          std::vector<double> x(at(size_));
          std::vector<double> weights(squares + 1 + further);
          for (std::size_t row = begin; row < end; ++row) {
            if (rows_.frame->complete[row] == 0) continue;
            weigh(row, raw_coef.empty() ? 0 : reader.linear_predictor(row, raw_coef), std::span(weights));
            reader.coefficient_row(row, x);
            double* to = sums.data();
            for (std::size_t s = 0; s < squares; ++s) {
              for (std::size_t i = 0; i < x.size(); ++i, to += i)
                add_multiple({to, i + 1}, weights[s] * x[i], std::span(x).first(i + 1));
            }
            for (std::size_t k = 0; k < further; ++k) *to++ += weights[squares + 1 + k];
            add_multiple({to, x.size()}, weights[squares], x);
          }
        },
        rows_);
  }
  [[nodiscard]] Matrix symmetric(std::span<const double> sums, std::size_t index) const {
    Matrix whole(size_, size_);
    const double* from = sums.data() + index * triangle();
    for (int i = 0; i < size_; ++i) {
      for (int j = 0; j <= i; ++j) whole(i, j) = whole(j, i) = *from++;
    }
    return whole;
  }
  [[nodiscard]] double number(int variable, std::size_t row) const {
    return variable < 0 ? 1 : rows_.frame->variables[at(variable)].numbers[row];
  }

  double loss(double log_rate) {
    const Family family = with(log_rate);
    const EndOfFit end = fit_with(fit_, rows_, family);
    ++fits_;
    const Elf elf(family.parameters().data());
    const std::vector<double> sums = sums_of_rows(
        2, 3,
        [&](std::size_t row, double eta, std::span<double> numbers) {
          const double y = number(rows_.response, row);
          const double prior = number(rows_.prior_weight, row);
          const RowStep<double> step = elf.step(y, eta, prior);
          const double score = step.weight * step.residual;
          numbers[0] = step.weight;
          numbers[1] = score * score;
          numbers[2] = numbers[3] = score;
          numbers[4] = std::abs(score);
          numbers[5] = score * score;
        },
        end.raw_coef);
    Matrix posterior;
    Matrix sandwich;
    together(fit_.job.comm(), [&] {
      if (fit_.job.comm().rank() == 0)
        fit_.job.run_alive([&] { std::tie(posterior, sandwich) = covariances(sums, end.log_sp); });
    });
    for (Matrix* one : {&posterior, &sandwich}) {
      if (one->empty()) *one = Matrix(size_, size_);
      fit_.job.comm().broadcast(one->values(), 0);
    }
    const std::vector<double> divergence = sums_over_blocks<RowReader>(
        fit_, rows_, 2,
        [&](RowReader& reader, std::size_t begin, std::size_t last, std::span<double> to) {
          std::vector<double> x(at(size_));
          for (std::size_t row = begin; row < last; ++row) {
            if (rows_.frame->complete[row] == 0) continue;
            reader.coefficient_row(row, x);
            const double ratio = dot(x, multiply(sandwich, x)) / dot(x, multiply(posterior, x));
            if (!(ratio > 0)) continue;  // a row of zeros
            to[0] += std::sqrt(ratio - base::log(ratio));
            to[1] += 1;
          }
        },
        rows_);
    const double found = divergence[0] / divergence[1];
    observer_.now(fmt::format("learning rate {:.6f}: divergence {:.8g}", log_rate, found));
    return found;
  }

  /// Posterior covariance and sandwich covariance. The sandwich mixes the empirical covariance of scores with
  /// one for scores independent of the columns, which has a larger share with fewer effective rows.
  [[nodiscard]] std::pair<Matrix, Matrix> covariances(std::span<const double> sums,
                                                      std::span<const double> log_sp) const {
    const auto n = static_cast<double>(rows_.frame->complete_rows);
    const Matrix information = symmetric(sums, 0);
    Matrix scores = symmetric(sums, 1);
    const std::span<const double> rest = sums.subspan(2 * triangle());
    const double mean = rest[0] / n;
    const double mean_square = rest[2] / n;
    const std::span<const double> mean_score = rest.subspan(3);
    const double share = std::min(1.0, rest[1] * rest[1] / rest[2] / (static_cast<double>(size_) * size_));
    for (int j = 0; j < size_; ++j) {
      for (int i = 0; i < size_; ++i) {
        const double own = (scores(i, j) - mean_score[at(i)] * mean_score[at(j)] / n) / (n - 1);
        const double independent = mean_square * square_(i, j) / n -
                                   mean * mean * column_sums_[at(i)] * column_sums_[at(j)] / (n * n);
        scores(i, j) = n * (share * own + (1 - share) * independent);
      }
    }
    const Matrix by_scores =
        multiply(information, multiply(generalised_inverse(std::move(scores)), information));
    return {cholesky_inverse(robust_cholesky(with_penalties(information, *rows_.design, log_sp))),
            generalised_inverse(with_penalties(by_scores, *rows_.design, log_sp))};
  }

  const FitContext& fit_;
  FitObserver& observer_;  ///< of the whole fit
  const Rows& rows_;
  Family family_;
  int size_;
  Matrix square_;                    ///< X'X
  std::vector<double> column_sums_;  ///< X'1
  int fits_ = 0;
};

}  // namespace

Family calibrated_quantile(const FitContext& whole, const Rows& rows) {
  // The fits of candidates write neither checkpoint nor log.
  FitObserver silent;
  const FitContext fit{.job = whole.job,
                       .plan = whole.plan,
                       .formula = whole.formula,
                       .options = whole.options,
                       .observer = silent,
                       .phases = whole.phases,
                       .on_devices = whole.on_devices,
                       .began_on_host = whole.began_on_host};
  std::vector<double> values(rows.family.parameters().begin(), rows.family.parameters().end());
  const double qu = values[Elf::at_qu];
  const bool calibrates = std::isnan(values[Elf::at_lsig]);
  if (calibrates && (rows.design->parted_columns != Part() || rows.design->coef_size > most_calibrated))
    throw base::usage_error(
        "the learning rate of quantile {} cannot be calibrated for models with large random effects or more "
        "than {} coefficients: give the learning rate, for example elf(qu={}, lsig=-1)",
        qu, most_calibrated, qu);
  whole.observer.now(fmt::format("quantile {}: the gaussian fit", qu));
  const EndOfFit gaussian = fit_with(fit, rows, Gaussian{});
  const double deviation = std::sqrt(gaussian.scale);
  if (values[Elf::at_co] == 0) {
    if (values[Elf::at_err] == 0) {
      const ResidualShape shape = residual_shape(fit, rows, gaussian.raw_coef, deviation);
      values[Elf::at_err] =
          best_error(shape, qu, gaussian.edf, static_cast<double>(rows.frame->complete_rows));
    }
    values[Elf::at_co] =
        values[Elf::at_err] * deviation * std::sqrt(2 * std::numbers::pi) / (2 * std::numbers::ln2);
    fit.job.comm().broadcast(std::span(values), 0);
  }
  Family family = rows.family.at(values);
  int fits = 0;
  if (calibrates) {
    Calibration calibration(fit, whole.observer, rows, family);
    family = calibration.with(calibration.best(deviation));
    fits = calibration.fits();
  }
  whole.observer.note(fmt::format("quantile {}: err {:.4g}, co {:.4g}, lsig {:.4f}{}", qu,
                                  family.parameters()[Elf::at_err], family.parameters()[Elf::at_co],
                                  family.parameters()[Elf::at_lsig],
                                  fits > 0 ? fmt::format(", calibrated in {} fits", fits) : ""));
  return family;
}

}  // namespace TESSERA_NAMESPACE::gam
