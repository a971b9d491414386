// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/working_solver.hpp"

#include "base/at.hpp"
#include "base/cancellation.hpp"
#include "base/math/elementary.hpp"
#include "base/message.hpp"
#include "gam/design/coefficient_sums.hpp"
#include "gam/linalg/device_algebra.hpp"
#include "gam/linalg/linalg.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <algorithm>
#include <cmath>
#include <exception>
#include <numeric>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Smallest p for which the GPU is faster than the CPU, with transfers: 400 for an H200 against 64 cores.
constexpr int smallest_on_device = 512;

/// A negative eigenvalue above minus this fraction of the diagonal counts as zero.
constexpr double rounding_of_hessian = 1e-9;
/// If the log likelihood is not concave, smoothing parameters change only after a step as short as this.
constexpr double short_of_hills = 1e-2;

std::vector<double> absolute_roots(const Matrix& a) {
  std::vector<double> root;
  for (int i = 0; i < a.rows(); ++i) root.push_back(std::sqrt(std::max(std::abs(a(i, i)), 1e-300)));
  return root;
}

bool is_definite(Matrix a) {
  unscale(a, absolute_roots(a));
  for (int i = 0; i < a.rows(); ++i) a(i, i) += rounding_of_hessian;
  return cholesky(a).has_value();
}

/// Whether minus the Hessian of a log likelihood is positive definite, without or with the penalties.
enum class Definite { by_itself, with_penalties, no };

Definite definiteness(const Matrix& hessian, const Design& design, std::span<const double> log_sp) {
  if (is_definite(hessian)) return Definite::by_itself;
  return !log_sp.empty() && is_definite(with_penalties(hessian, design, log_sp)) ? Definite::with_penalties
                                                                                 : Definite::no;
}

/// Replaces each eigenvalue v of a symmetric matrix, scaled to an absolute diagonal of 1, by `value(v)`.
template <class Value>
void replace_eigenvalues(Matrix& a, const Value& value) {
  std::vector<double> roots = absolute_roots(a);
  unscale(a, roots);
  const SymmetricEigen eigen = symmetric_eigen(a);
  Matrix factor(a.rows(), a.rows());
  for (int k = 0; k < a.rows(); ++k)
    add_multiple(factor.column(k), std::sqrt(value(eigen.values[base::at(k)])), eigen.vectors.column(k));
  a = multiply_nt(factor, factor);
  for (double& root : roots) root = 1 / root;
  unscale(a, roots);
}

void hold(WorkingModel& working, const Design& design, int predictor) {
  Matrix& gram = working.gram.core;
  for (const CoefBlock& block : design.blocks) {
    if (design.term_of(block).predictor != predictor) continue;
    for (int i = block.coef_begin; i < block.coef_begin + block.coef_size; ++i) {
      working.gradient[base::at(i)] = 0;
      for (int j = 0; j < gram.rows(); ++j) gram(i, j) = gram(j, i) = i == j ? std::abs(gram(i, i)) : 0;
    }
  }
}

}  // namespace

void make_definite(Matrix& hessian) {
  constexpr double least = 1e-6;
  if (!is_definite(hessian))
    replace_eigenvalues(hessian, [least](double v) { return std::max(std::abs(v), least); });
}

Matrix with_penalties(Matrix gram, const Design& design, std::span<const double> log_sp) {
  std::size_t sp = 0;
  for (const CoefBlock& block : design.blocks) {
    for (std::size_t j = 0; block.penalty && j < block.penalty->count(); ++j, ++sp) {
      const Matrix penalty = block.penalty->matrix(j);
      for (int k = 0; k < penalty.cols(); ++k)
        add_multiple(
            gram.column(block.coef_begin + k).subspan(base::at(block.coef_begin), base::at(penalty.rows())),
            base::exp(log_sp[sp]), penalty.column(k));
    }
  }
  return gram;
}

WorkingSolver::WorkingSolver(Job& job, const Design& design, bool scale_known, bool may_use_devices,
                             StopRequest* stop, double gamma)
    : job_(job),
      design_(design),
      scale_known_(scale_known),
      gamma_(gamma),
      check_([stop] {
        if (stop != nullptr && stop->requested())
          throw Error(ErrorCode::interrupted, "the job was asked to stop");
      }),
      host_(job.threads(), check_),
      on_device_(may_use_devices && !job.on_host() && design.coef_size >= smallest_on_device) {
  if (!on_device_) return;
  unit_ = job.plan(1);
  solver_ = unit_.tiles().front().rank;
}

std::optional<WorkingSolution> WorkingSolver::solve(const RawSums& sums, std::span<const double> coef,
                                                    std::span<const double> log_sp, std::int64_t rows,
                                                    const std::vector<PastStep>* past, Search search,
                                                    double scale, int held) {
  const mpi::Communicator& comm = job_.comm();
  const bool mine = comm.rank() == solver_;
  WorkingModel working;
  if (mine) {
    working.gradient = to_coefficients(sums.gradient, design_);
    working.residual = sums.residual;
    working.base.assign(coef.begin(), coef.end());
    working.rows = rows;
    working.scale = scale;
    working.gamma = gamma_;
  }
  Definite definite = Definite::by_itself;
  // A model without a solution is no device failure, because it has no solution on the CPU either.
  std::exception_ptr refused;
  const auto run = [&](const Algebra& algebra) {
    const base::CancellationScope cancellation(check_);
    try {
      working.gram = gram_in_coefficients(sums.gram, design_, algebra);
      if (bases_.empty()) bases_ = penalty_bases(design_);
      // The first step with one linear predictor, in gaussian models the only one, is not halved.
      const bool may_be_halved = !log_sp.empty() || design_.predictors() > 1;
      if (may_be_halved && roots_.empty()) roots_ = penalty_roots(design_);
      if (held >= 0) hold(working, design_, held);
      if (design_.predictors() > 1) definite = definiteness(working.gram.core, design_, log_sp);
      if (definite == Definite::no) make_definite(working.gram.core);
      if (definite == Definite::with_penalties)
        replace_eigenvalues(working.gram.core, [](double v) { return std::max(v, 0.0); });
      const auto fit_by = [&](Search by) {
        fit_ = fit_reml(working, design_, bases_, scale_known_, log_sp, algebra, by);
      };
      // The first step searches in any case, because the default smoothing parameters are no better.
      const bool searches = definite == Definite::by_itself || (log_sp.empty() && held < 0);
      fit_by(searches ? search : Search::none);
      if (!searches && definite == Definite::with_penalties &&
          step_length(working.gram, coef) <= short_of_hills)
        fit_by(search);
    } catch (const Error& fault) {
      if (fault.code() == ErrorCode::job_fault) throw;
      refused = std::current_exception();
    }
  };
  if (on_device_) {
    const std::vector<char> units(static_cast<std::size_t>(job_.local_range(unit_).size()));
    static_cast<void>(job_.map<char>(
        unit_, std::span<const char>(units),
        [&](const Tile& tile, std::span<const char>, std::span<char>) {
          std::optional<DeviceAlgebra> device;
          try {
            device.emplace(tile, host_);
          } catch (const Error& absent) {
            why_not_ = absent.what();
          }
          run(device ? static_cast<const Algebra&>(*device) : host_);
        },
        [&](const HostTile&, std::span<const char>, std::span<char>) { run(host_); }));
    if (job_.on_host()) return std::nullopt;
    why_not_ = comm.broadcast_text(why_not_, solver_);
  } else if (mine) {
    // Keeps this rank alive for the waiting ranks, however long the solve takes.
    job_.run_alive([&] { run(host_); });
  }

  WorkingSolution solution;
  together(comm, [&] {
    if (refused) std::rethrow_exception(refused);
    if (!mine) return;
    gram_ = std::move(working.gram);
    const PastStep step{{coef.begin(), coef.end()}, difference(fit_.coef, coef)};
    const std::vector<double> end = past != nullptr ? mixed_end(gram_, step, *past) : fit_.coef;
    const double edf = std::accumulate(fit_.edf.begin(), fit_.edf.end(), 0.0);
    solution = {.coef = fit_.coef,
                .log_sp = fit_.log_sp,
                .scale = fit_.scale,
                .edf_total = edf,
                .converged = fit_.converged && definite != Definite::no,
                .doubtful_block = fit_.doubtful_block,
                .hidden_by_rounding = fit_.hidden_by_rounding,
                .definite = definite != Definite::no,
                .end = end,
                .step = step_length(gram_, coef),
                .penalty = penalty_on_line(design_, roots_, fit_.log_sp, coef, end),
                .score = fit_.score,
                .penalised_deviance = fit_.penalised_deviance,
                .others = fit_.others};
  });
  base::broadcast_values(comm, solver_, solution);
  return solution;
}

/// `WorkingSolution::step` for the step from `coef`.
double WorkingSolver::step_length(const PartedMatrix& gram, std::span<const double> coef) const {
  const double edf = std::accumulate(fit_.edf.begin(), fit_.edf.end(), 0.0);
  const double length_of_fit = length(gram, fit_.coef);
  const double level = std::sqrt(length_of_fit * length_of_fit + fit_.scale * edf);
  return level > 0 ? length(gram, difference(fit_.coef, coef)) / level : 0;
}

void WorkingSolver::bring_to_root(std::span<const double> coef) {
  fit_.coef.assign(coef.begin(), coef.end());
  if (solver_ == 0) return;
  const mpi::Communicator& comm = job_.comm();
  const auto bring_matrix = [&](PartedMatrix& matrix) {
    if (comm.rank() != solver_)
      matrix = PartedMatrix(design_.coef_size, design_.parted_coefficients(), gram_.pattern());
    matrix.for_each_array([&](std::span<double> values) {
      if (!values.empty()) comm.broadcast(values, solver_);
    });
  };
  base::broadcast_values(comm, solver_, fit_.log_sp, fit_.edf, fit_.edf1, fit_.part_ridges, fit_.scale,
                         fit_.score, fit_.penalised_deviance, fit_.covariance_scale, fit_.gradient,
                         fit_.hessian);
  bring_matrix(fit_.inverse);
  bring_matrix(gram_);
}

}  // namespace TESSERA_NAMESPACE::gam
