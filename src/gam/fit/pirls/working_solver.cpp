// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/working_solver.hpp"

#include "base/go_on.hpp"
#include "gam/design/coefficient_sums.hpp"
#include "gam/linalg/device_algebra.hpp"
#include "gam/linalg/linalg.hpp"

#include <tessera/device/trace.hpp>
#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <array>
#include <cmath>
#include <exception>
#include <numeric>
#include <span>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Smallest p for which the GPU beats all host cores, transfers included: measured at 400 for an H200 against
/// 64 cores, and at less against fewer.
constexpr int smallest_on_device = 512;

}  // namespace

WorkingSolver::WorkingSolver(Job& job, const Design& design, bool scale_known, bool may_use_devices,
                             StopRequest* stop, double gamma)
    : job_(job),
      design_(design),
      scale_known_(scale_known),
      gamma_(gamma),
      check_([stop] {
        if (stop != nullptr && stop->requested()) throw Error(ErrorCode::interrupted, "asked to stop");
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
                                                    double scale) {
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
  // A model without a solution has none on the CPU either, and must not count as the failure of a device.
  std::exception_ptr refused;
  const auto run = [&](const Algebra& algebra) {
    const base::Abandonable abandonable(check_);
    try {
      working.gram = gram_in_coefficients(sums.gram, design_, algebra);
      if (bases_.empty()) bases_ = penalty_bases(design_);
      fit_ = fit_reml(working, design_, bases_, scale_known_, log_sp, algebra, search);
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
    // The ranks that wait for the solution see this rank as alive, however long the solve takes.
    job_.run_alive([&] { run(host_); });
  }

  WorkingSolution solution;
  together(comm, [&] {
    if (refused) std::rethrow_exception(refused);
    if (!mine) return;
    gram_ = std::move(working.gram);
    solution.coef = fit_.coef;
    solution.log_sp = fit_.log_sp;
    PastStep step{{coef.begin(), coef.end()}, fit_.coef};
    for (std::size_t i = 0; i < coef.size(); ++i) step.step[i] -= coef[i];
    solution.end = past != nullptr ? mixed_end(gram_, step, *past) : fit_.coef;
    solution.penalty = penalty_on_line(design_, fit_.log_sp, coef, solution.end);
    const double edf = std::accumulate(fit_.edf.begin(), fit_.edf.end(), 0.0);
    const double level = std::hypot(length(gram_, fit_.coef), std::sqrt(fit_.scale * edf));
    solution.step = level > 0 ? length(gram_, step.step) / level : 0;
  });
  solution.coef.resize(static_cast<std::size_t>(design_.coef_size));
  comm.broadcast(std::span(solution.coef), solver_);
  solution.end.resize(solution.coef.size());
  comm.broadcast(std::span(solution.end), solver_);
  solution.log_sp.resize(design_.penalty_count());
  comm.broadcast(std::span(solution.log_sp), solver_);
  std::array<double, 12> scalars{fit_.scale,
                                 std::accumulate(fit_.edf.begin(), fit_.edf.end(), 0.0),
                                 fit_.converged ? 1.0 : 0.0,
                                 solution.penalty.begin,
                                 solution.penalty.across,
                                 solution.penalty.end,
                                 solution.step,
                                 static_cast<double>(fit_.doubtful_block),
                                 fit_.hidden_by_rounding ? 1.0 : 0.0,
                                 fit_.score,
                                 fit_.penalised_deviance,
                                 static_cast<double>(fit_.others.size())};
  comm.broadcast(std::span<double>(scalars), solver_);
  solution.scale = scalars[0];
  solution.edf_total = scalars[1];
  solution.converged = scalars[2] != 0;
  solution.penalty = {scalars[3], scalars[4], scalars[5]};
  solution.step = scalars[6];
  solution.doubtful_block = static_cast<int>(scalars[7]);
  solution.hidden_by_rounding = scalars[8] != 0;
  solution.score = scalars[9];
  solution.penalised_deviance = scalars[10];
  if (mine) solution.others = fit_.others;
  solution.others.resize(static_cast<std::size_t>(scalars[11]));
  for (std::vector<double>& other : solution.others) {
    other.resize(solution.log_sp.size());
    comm.broadcast(std::span(other), solver_);
  }
  return solution;
}

void WorkingSolver::bring_to_root(std::span<const double> coef) {
  fit_.coef.assign(coef.begin(), coef.end());
  if (solver_ == 0) return;
  const mpi::Communicator& comm = job_.comm();
  const auto bring = [&](auto& values, std::size_t size) {
    values.resize(size);
    comm.broadcast(std::span<double>(values), solver_);
  };
  const auto bring_matrix = [&](PartedMatrix& matrix) {
    if (comm.rank() != solver_)
      matrix = PartedMatrix(design_.coef_size, design_.parted_coefficients(), gram_.pattern());
    matrix.for_each_array([&](std::span<double> values) {
      if (!values.empty()) comm.broadcast(values, solver_);
    });
  };
  const auto size = static_cast<std::size_t>(design_.coef_size);
  bring(fit_.log_sp, design_.penalty_count());
  bring(fit_.edf, size);
  bring(fit_.edf1, size);
  bring_matrix(fit_.inverse);
  bring_matrix(gram_);
  bring(fit_.part_ridges, static_cast<std::size_t>(design_.parted_coefficients().size()));
  std::array<double, 4> scalars{fit_.scale, fit_.score, fit_.penalised_deviance, fit_.covariance_scale};
  comm.broadcast(std::span<double>(scalars), solver_);
  fit_.scale = scalars[0];
  fit_.score = scalars[1];
  fit_.penalised_deviance = scalars[2];
  fit_.covariance_scale = scalars[3];
}

}  // namespace TESSERA_NAMESPACE::gam
