// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/pirls/fit_state.hpp"
#include "gam/fit/pirls/goodness_of_fit.hpp"
#include "gam/fit/pirls/working_solver.hpp"
#include "gam/fit/run/fit_context.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/error.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Penalised iteratively reweighted least squares as performance iteration: a working linear model at each
/// step, with smoothing parameters by REML.
namespace TESSERA_NAMESPACE::gam {

/// *Collective.* The sums of the first working model, at `first_coefficients` or at the family's own start.
/// `moments`: of `rows`. Throws `FellBack`.
[[nodiscard]] RawSums first_sums(const FitContext& fit, RowPass& pass, const Rows& rows,
                                 const RawMoments& moments);

[[nodiscard]] bool is_finite(const RawSums& sums);

/// Whether working models have no weights, so that R'WR is R'R.
[[nodiscard]] bool is_unweighted(const Rows& rows);

/// The result of PIRLS, the same on every rank.
struct PirlsEnd {
  std::vector<double> coef;
  WorkingSolution solution;  ///< of the last working model
  KnownDeviances deviances;
  int iterations = 0;
  bool converged = false;
  bool parameters_determined = true;  ///< false: a parameter of the family has no finite estimate
  std::string no_estimate;            ///< why there is no finite estimate; else empty
  /// Empty if the solution converged, or if there is no solution.
  std::string why_not_converged;
};

/// One run of PIRLS, from the first working model or from a checkpointed state of another run. All members
/// are *collective*, except those that return a reference.
///
/// A step that overshoots is halved (step_halving.hpp), steps that do not settle are mixed (step_mixing.hpp),
/// and diverging steps are detected (separation.hpp). The family's parameters are estimated at the end of
/// each step (family_parameters.hpp). PIRLS is at a solution if a step at a minimum of REML changes neither
/// deviance nor linear predictor. PIRLS continues from each other minimum found there, lower or slightly
/// higher, and ends at the solution of lowest REML by Laplace's approximation. Any other end is reported as
/// not converged, with the reason.
class PirlsLoop {
 public:
  /// `rows`: of `pass`, with their final design; `moments`: of `rows`. All must outlive the loop, which
  /// updates the family's parameters in `rows` and `pass`.
  PirlsLoop(const FitContext& fit, RowPass& pass, Rows& rows, const RawMoments& moments);

  /// `first`: the result of `first_sums`; empty: computed if needed. Throws `FellBack`;
  /// `Error(not_converged)` if there is not even a first solution; and the errors of `WorkingSolver`.
  void run(std::optional<RawSums> first);

  [[nodiscard]] const PirlsEnd& end() const noexcept { return end_; }
  [[nodiscard]] WorkingSolver& solver() noexcept { return solver_; }

 private:
  [[nodiscard]] int resume();
  [[nodiscard]] bool starts_from_sample();
  [[nodiscard]] bool iterate_on_sample(int stride);
  void begin(std::optional<RawSums> first);
  void solve_gaussian();
  void solve_from_end(Search search);
  [[nodiscard]] bool advance(int iteration);
  [[nodiscard]] bool goes_on_without(int iteration, const Error& why);
  void solve(Search search, int held = -1);
  [[nodiscard]] int held_predictor(int iteration) const;
  void go_to_end_of_step(std::vector<double> begin, bool first);
  template <class Solve>
  [[nodiscard]] auto with_crowding(const Solve& solve) const;
  void halve_step(std::span<const double> begin, bool first);
  void look_at_end();
  void find_first_parameters();
  double hold_first_threshold(std::vector<double>& values) const;
  void move_parameters();
  void set_parameters(std::vector<double> parameters);
  [[nodiscard]] bool starts_within_range() const;
  [[nodiscard]] std::optional<std::vector<double>> constant_coefficients() const;
  void begin_again_if_worse_than_the_mean();
  [[nodiscard]] bool confirms_solution() const;
  [[nodiscard]] double next_step(double before) const;
  [[nodiscard]] bool is_stationary(double change, std::span<const double> begin);
  [[nodiscard]] bool is_at_edge(std::span<const double> begin);
  [[nodiscard]] bool ends_at_edge(int iteration);
  void note_edge() const;
  [[nodiscard]] bool is_separated(double change, bool ends);
  [[nodiscard]] bool settle(bool still, bool hurry);
  void search_other_minima();
  [[nodiscard]] bool leads_to_known() const;
  void try_next_minimum();
  [[nodiscard]] double criterion() const;
  void explain_not_converged(double change);
  [[nodiscard]] std::string why_no_minimum() const;
  void end_before(int iteration, const Error& why);
  [[nodiscard]] Error diverged(bool at_own_start = false) const;
  [[nodiscard]] std::string unlimited_link() const;
  void keep(int iteration);
  void remember_step();
  void tell(int iteration, double change) const;
  [[nodiscard]] RawSums sums_at(std::span<const double> coef);

  const FitContext& fit_;
  RowPass& pass_;
  Rows& rows_;
  const Design& design_;
  const RawMoments& moments_;
  double mean_;
  WorkingSolver solver_;
  std::int64_t row_count_;  ///< complete rows that passes read
  RawSums sums_;            ///< sums at `end_.coef`; without crossproducts until family parameters have moved
  double deviance_ = 0;     ///< deviance where the last step began
  double minus_log_ = 0;    ///< negative log likelihood at the estimated family parameters
  std::vector<double> last_step_;  ///< step of `coef` before mixing and halving; empty before the first
  bool cut_short_ = false;  ///< whether the last step was halved because rows had no valid working weight
  double last_change_ = 0;  ///< change of the deviance by the last step
  std::int64_t rows_at_edge_ = 0;  ///< at the edge of the link's range, at the solution
  Course course_;
  PirlsEnd end_;
};

}  // namespace TESSERA_NAMESPACE::gam
