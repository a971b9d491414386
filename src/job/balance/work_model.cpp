// SPDX-License-Identifier: Apache-2.0
#include "job/balance/work_model.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace TESSERA_NAMESPACE {
namespace {

// Standard deviations of natural logarithms. Chosen by simulation: `work_estimate_test.cpp` has the cases.
constexpr double noise = 0.02;        ///< of a measured time
constexpr double spread = 2;          ///< of a device's factor
constexpr double step_of_work = 0.1;  ///< Cauchy scale of the random walk's step over a tile of mean length

constexpr int most_steps = 30;
constexpr double largest_step = 2;  ///< maximum change of an unknown (a logarithm) in a Gauss-Newton step
constexpr double least_step = 1e-4;
constexpr int most_multiplications = 200;  ///< of conjugate gradients, per Gauss-Newton step
constexpr double residual_left = 1e-5;     ///< relative tolerance of conjugate gradients

/// log(x) for x > 0, to 1e-9. The C library's log may differ in the last bits between CPUs of the job.
double log_of(double x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);  // in [0.5, 1)
  const double z = (fraction - std::numbers::sqrt2 / 2) / (fraction + std::numbers::sqrt2 / 2);
  const double square = z * z;
  const double series =
      1 + square * (1.0 / 3 + square * (1.0 / 5 + square * (1.0 / 7 + square * (1.0 / 9 + square / 11))));
  return (exponent - 0.5) * std::numbers::ln2 + 2 * z * series;
}

/// exp(x) by a Padé approximant, which is accurate enough for a step.
double exp_of(double x) {
  const double even = 1 + x * x / 12;
  return (even + x / 2) / (even - x / 2);
}

/// Knots: the first unit of each run, and the end of all units. The cuts of all plans are knots. With several
/// plans, a long run is divided into runs whose length doubles with the distance from a shorter neighbour.
std::vector<std::int64_t> knots_of(std::span<const MeasuredPlan> plans, std::int64_t block) {
  std::vector<std::int64_t> cuts{0};
  for (const MeasuredPlan& plan : plans)
    for (const MeasuredPart& part : plan) cuts.push_back(part.units.end);
  std::ranges::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  if (plans.size() == 1) return cuts;
  const auto length = [&](std::size_t run) { return cuts[run + 1] - cuts[run]; };
  std::vector<std::int64_t> knots;
  std::vector<std::int64_t> from_end;
  const std::size_t runs = cuts.size() - 1;
  for (std::size_t run = 0; run < runs; ++run) {
    Range left{cuts[run], cuts[run + 1]};
    std::int64_t first = run > 0 ? 2 * length(run - 1) : left.size();
    std::int64_t last = run + 1 < runs ? 2 * length(run + 1) : left.size();
    knots.push_back(left.begin);
    while (std::min(first, last) < left.size() / 2) {
      const std::int64_t shorter = std::max<std::int64_t>(1, std::min(first, last) / block) * block;
      if (first <= last) {
        knots.push_back(left.begin += shorter);
        first = 2 * shorter;
      } else {
        // Knots are multiples of `block`, because only the last block may be short.
        from_end.push_back(left.end = (left.end - shorter) / block * block);
        last = 2 * shorter;
      }
    }
    knots.insert(knots.end(), from_end.rbegin(), from_end.rend());
    from_end.clear();
  }
  knots.push_back(cuts.back());
  return knots;
}

class Fit {
 public:
  Fit(std::span<const MeasuredPlan> plans, std::size_t devices, std::int64_t block)
      : knots_(knots_of(plans, block)), runs_(knots_.size() - 1), factors_(devices, 1.0) {
    double work = 0;
    for (const MeasuredPlan& plan : plans) {
      std::size_t run = 0;
      for (const MeasuredPart& part : plan) {
        const std::size_t first = run;
        while (run < runs_ && knots_[run] < part.units.end) ++run;
        rows_.push_back({first, run, part.device, part.work});
        work += part.work;
      }
    }
    each_.assign(runs_, work / static_cast<double>(plans.size()) / static_cast<double>(knots_.back()));
    const double tile = static_cast<double>(knots_.back()) / static_cast<double>(plans.back().size());
    for (std::size_t run = 0; run + 1 < runs_; ++run)
      variances_.push_back(step_of_work * step_of_work * static_cast<double>(knots_[run + 2] - knots_[run]) /
                           2 / tile);
    stiffness_.resize(variances_.size());
    work_.resize(runs_);
    sums_.resize(runs_ + 1);
  }

  WorkModel model() {
    int steps = 0;
    do linearise();
    while (take(solution()) > least_step && ++steps < most_steps);
    WorkModel model{{}, factors_};
    model.runs.reserve(runs_);
    for (std::size_t run = 0; run < runs_; ++run)
      model.runs.push_back({{knots_[run], knots_[run + 1]}, each_[run]});
    return model;
  }

 private:
  /// A row of the Jacobian: a measured part, which covers the runs [first, end).
  struct Row {
    std::size_t first;
    std::size_t end;
    std::size_t device;
    double work;
    double sum = 0;  ///< predicted work of the part
  };

  /// Unknowns: logarithms of the factors by device, then of `each_` by run.
  using Vector = std::vector<double>;

  [[nodiscard]] std::size_t size() const { return factors_.size() + runs_; }

  /// Exclusive prefix sum: `sums_[run]` is the sum of `value_of` before `run`.
  template <class Values>
  void sum_up(const Values& value_of) {
    for (std::size_t run = 0; run < runs_; ++run) sums_[run + 1] = sums_[run] + value_of(run);
  }

  /// Computes the right-hand side of the normal equations, the prior's weights, and the preconditioner:
  /// diagonal for the factors, tridiagonal for the runs.
  void linearise() {
    const std::size_t devices = factors_.size();
    for (std::size_t run = 0; run < runs_; ++run)
      work_[run] = each_[run] * static_cast<double>(knots_[run + 1] - knots_[run]);
    right_.assign(size(), 0.0);
    diagonal_.assign(size(), 1e-9);
    for (std::size_t device = 0; device < devices; ++device) {
      right_[device] = -log_of(factors_[device]) / (spread * spread);
      diagonal_[device] += 1 / (spread * spread);
    }
    for (Row& row : rows_) {
      row.sum = 0;
      for (std::size_t run = row.first; run < row.end; ++run) row.sum += work_[run];
      const double residual = log_of(row.work * factors_[row.device] / row.sum) / (noise * noise);
      right_[row.device] -= residual;
      diagonal_[row.device] += 1 / (noise * noise);
      for (std::size_t run = row.first; run < row.end; ++run) {
        const double share = work_[run] / row.sum;
        right_[devices + run] += residual * share;
        diagonal_[devices + run] += share * share / (noise * noise);
      }
    }
    for (std::size_t run = 0; run + 1 < runs_; ++run) {
      const double step = log_of(each_[run] / each_[run + 1]);
      stiffness_[run] = 1 / (variances_[run] + step * step);
      right_[devices + run] -= stiffness_[run] * step;
      right_[devices + run + 1] += stiffness_[run] * step;
      diagonal_[devices + run] += stiffness_[run];
      diagonal_[devices + run + 1] += stiffness_[run];
    }
    for (std::size_t run = 1; run < runs_; ++run)  // squares of the Cholesky factor's diagonal
      diagonal_[devices + run] -= stiffness_[run - 1] * stiffness_[run - 1] / diagonal_[devices + run - 1];
  }

  /// `product` is the matrix of the normal equations times `x`.
  void multiply(const Vector& x, Vector& product) {
    const std::size_t devices = factors_.size();
    for (std::size_t device = 0; device < devices; ++device) product[device] = x[device] / (spread * spread);
    sum_up([&](std::size_t run) { return work_[run] * x[devices + run]; });
    Vector& changes = changes_;
    changes.assign(runs_ + 1, 0.0);
    for (const Row& row : rows_) {
      const double value = (x[row.device] - (sums_[row.end] - sums_[row.first]) / row.sum) / (noise * noise);
      product[row.device] += value;
      changes[row.first] -= value / row.sum;
      changes[row.end] += value / row.sum;
    }
    double change = 0;
    double tension = 0;  // derivative of the prior with respect to the step before the run
    for (std::size_t run = 0; run < runs_; ++run) {
      change += changes[run];
      const double next = run + 1 < runs_ ? stiffness_[run] * (x[devices + run] - x[devices + run + 1]) : 0.0;
      product[devices + run] = work_[run] * change + next - tension + 1e-9 * x[devices + run];
      tension = next;
    }
  }

  void precondition(const Vector& residual, Vector& x) const {
    const std::size_t devices = factors_.size();
    for (std::size_t device = 0; device < devices; ++device) x[device] = residual[device] / diagonal_[device];
    double before = 0;
    for (std::size_t run = 0; run < runs_; ++run) {
      before = residual[devices + run] + (run > 0 ? stiffness_[run - 1] * before : 0.0);
      before /= diagonal_[devices + run];
      x[devices + run] = before;
    }
    for (std::size_t run = runs_ - 1; run-- > 0;)
      x[devices + run] += stiffness_[run] / diagonal_[devices + run] * x[devices + run + 1];
  }

  [[nodiscard]] static double product_of(const Vector& a, const Vector& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }

  Vector solution() {
    Vector x(size(), 0.0);
    Vector residual = right_;
    Vector z(size());
    precondition(residual, z);
    Vector direction = z;
    Vector product(size());
    double norm = product_of(residual, z);
    const double least = residual_left * residual_left * norm;
    for (int i = 0; i < most_multiplications && norm > least; ++i) {
      multiply(direction, product);
      const double length = norm / product_of(direction, product);
      for (std::size_t k = 0; k < size(); ++k) {
        x[k] += length * direction[k];
        residual[k] -= length * product[k];
      }
      precondition(residual, z);
      const double next = product_of(residual, z);
      for (std::size_t k = 0; k < size(); ++k) direction[k] = z[k] + next / norm * direction[k];
      norm = next;
    }
    return x;
  }

  /// Takes a step of at most `largest_step`. Returns its largest component.
  double take(const Vector& step) {
    double largest = 0;
    for (const double component : step) largest = std::max(largest, std::abs(component));
    const double part = largest > largest_step ? largest_step / largest : 1;
    for (std::size_t device = 0; device < factors_.size(); ++device)
      factors_[device] *= exp_of(part * step[device]);
    for (std::size_t run = 0; run < runs_; ++run) each_[run] *= exp_of(part * step[factors_.size() + run]);
    return largest;
  }

  std::vector<std::int64_t> knots_;
  std::size_t runs_;
  Vector factors_;
  Vector each_;
  std::vector<Row> rows_;
  Vector variances_;  ///< squared Cauchy scale of the step after each run
  Vector stiffness_;  ///< prior weight of the step after each run, reweighted in each Gauss-Newton step
  Vector work_;
  Vector right_;
  Vector diagonal_;
  Vector sums_;
  Vector changes_;
};

}  // namespace

WorkModel fit_work(std::span<const MeasuredPlan> plans, std::size_t devices, std::int64_t block) {
  return Fit(plans, devices, block).model();
}

}  // namespace TESSERA_NAMESPACE
