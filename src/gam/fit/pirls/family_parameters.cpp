// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/family_parameters.hpp"

#include "base/message.hpp"
#include "gam/linalg/linalg.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tessera/mpi/communicator.hpp>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr int max_steps = 100;
constexpr int max_halvings = 25;
/// Longest step of a parameter on its working scale.
constexpr double longest_parameter_step = 4;
/// A gradient below this fraction of the log likelihood is zero.
constexpr double no_slope = 1e-11;
/// At a zero gradient, a Newton step longer than this shows that the maximum is at infinity.
constexpr double to_no_maximum = 1e-3;

struct ParameterStep {
  std::vector<double> step;
  double longest = 0;  ///< largest element of the step
  double gain = 0;     ///< twice the predicted decrease of the negative log likelihood
};

/// *Collective.* Broadcasts rank 0's step, because CPUs may round differently.
ParameterStep common_step(const mpi::Communicator& comm, const RawLikelihood& at) {
  ParameterStep out{descent_step(at)};
  out.longest = largest(out.step);
  out.gain = -dot(at.gradient, out.step);
  base::broadcast_values(comm, 0, out.step, out.longest, out.gain);
  return out;
}

void hold_given(const Family& family, bool with_intercept, RawLikelihood& at) {
  for (std::size_t i = 0; i < at.gradient.size(); ++i) {
    if (family.moves(i, with_intercept)) continue;
    at.gradient[i] = 0;
    for (int k = 0; k < at.hessian.rows(); ++k)
      at.hessian(static_cast<int>(i), k) = at.hessian(k, static_cast<int>(i)) = 0;
  }
}

bool is_finite(const RawLikelihood& at) {
  return at.bad_rows == 0 && std::isfinite(at.minus_log);
}

}  // namespace

std::vector<double> descent_step(const RawLikelihood& at) {
  constexpr double least_curvature = 1e-7;
  const int count = at.hessian.rows();
  std::vector<double> roots;
  std::vector<double> gradient = at.gradient;
  for (int i = 0; i < count; ++i) {
    const double size = std::abs(at.hessian(i, i));
    roots.push_back(size > 0 ? std::sqrt(size) : 1);
    gradient[static_cast<std::size_t>(i)] /= roots.back();
  }
  Matrix scaled = at.hessian;
  for (int j = 0; j < count; ++j) {
    for (int i = 0; i < count; ++i)
      scaled(i, j) /= roots[static_cast<std::size_t>(i)] * roots[static_cast<std::size_t>(j)];
  }
  SymmetricEigen eigen = symmetric_eigen(scaled);
  for (double& value : eigen.values) value = std::abs(value);
  const double floor = least_curvature * largest(eigen.values);
  std::vector<double> along = multiply_t(eigen.vectors, gradient);
  for (std::size_t i = 0; i < along.size(); ++i) along[i] /= -std::max(eigen.values[i], floor);
  std::vector<double> step = multiply(eigen.vectors, along);
  for (std::size_t i = 0; i < step.size(); ++i) step[i] /= roots[i];
  const double longest = largest(step);
  if (longest > longest_parameter_step) {
    for (double& part : step) part *= longest_parameter_step / longest;
  }
  return step;
}

LikeliestParameters likeliest_parameters(const FitContext& fit, RowPass& pass, const Family& begin,
                                         std::span<const double> raw_coef, bool with_intercept,
                                         double gain_to_end) {
  Family family = begin;
  const auto look = [&](const Family& at) {
    pass.set_parameters({at.parameters().begin(), at.parameters().end()});
    RawLikelihood found = fit.sums_of(pass, [&] { return pass.likelihood(raw_coef); });
    hold_given(at, with_intercept, found);
    return found;
  };
  RawLikelihood here = look(family);
  const auto end = [&](bool determined) {
    LikeliestParameters out{
        {family.parameters().begin(), family.parameters().end()}, determined, here.minus_log};
    pass.set_parameters(out.values);
    return out;
  };
  const auto moved = [&](std::span<const double> step, double fraction) {
    std::vector<double> working = family.working_parameters();
    for (std::size_t i = 0; i < step.size(); ++i) working[i] += fraction * step[i];
    const Family there = family.at_working(working);
    std::vector<double> values(there.parameters().begin(), there.parameters().end());
    fit.job.comm().broadcast(std::span(values), 0);
    return family.at(std::move(values));
  };
  for (int i = 0; i < max_steps && is_finite(here); ++i) {
    const double size = std::abs(here.minus_log);
    const auto [step, longest, gain] = common_step(fit.job.comm(), here);
    // Towards a maximum at infinity the gradient vanishes, but Newton steps do not become shorter.
    if (largest(here.gradient) <= no_slope * size) return end(longest <= to_no_maximum);
    if (gain <= gain_to_end * size) {
      family = moved(step, 1);
      return end(true);
    }
    double fraction = 1;
    Family next = moved(step, fraction);
    RawLikelihood there = look(next);
    for (int halvings = 0; !is_finite(there) || there.minus_log > here.minus_log + small_gain * size;) {
      if (++halvings > max_halvings) return end(true);
      fraction /= 2;
      next = moved(step, fraction);
      there = look(next);
    }
    family = std::move(next);
    here = std::move(there);
  }
  return end(true);
}

}  // namespace TESSERA_NAMESPACE::gam
