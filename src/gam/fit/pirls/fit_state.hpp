// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/folder/file_listing.hpp"
#include "gam/data/frame/workers.hpp"
#include "gam/design/design.hpp"
#include "gam/family/family.hpp"
#include "gam/fit/pirls/step_mixing.hpp"
#include "gam/formula/formula.hpp"
#include "gam/reml/reml.hpp"

#include <tessera/gam/fit.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/checkpoint.hpp>
#include <tessera/job/job.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Phases of performance iteration.
enum class Phase {
  settling,   ///< iterating towards a solution
  searching,  ///< at a solution: searching for other minima of V of its working model
  elsewhere,  ///< on the way from another minimum to another solution
  returning,  ///< back at the best solution: no other is better
};

/// A solution of performance iteration: coefficients that solve their own working model at a minimum of V.
struct FixedPoint {
  std::vector<double> coef;
  std::vector<double> log_sp;
  std::vector<double> parameters;  ///< parameters of the family
  double criterion = 0;            ///< REML by Laplace's approximation

  friend bool operator==(const FixedPoint&, const FixedPoint&) = default;
};

/// The state of performance iteration, besides the coefficients, that determines the next step.
struct Course {
  std::vector<PastStep> past;  ///< past steps to mix with the next one, oldest first
  Phase phase = Phase::settling;
  FixedPoint best;  ///< the best solution so far; without coefficients while settling
  std::vector<std::vector<double>> untried;  ///< `log_sp` of other minima of V at the best solution
  std::vector<double> known;                 ///< deviances of all solutions found
  int steps = 0;                             ///< number of steps in this phase and in the preceding search
  double step = 0;                           ///< length of the last step in the linear predictor

  friend bool operator==(const Course&, const Course&) = default;
};

/// The state of a fit after an outer iteration: all that the next one needs except the data.
struct FitState {
  int iteration = 0;                 ///< last completed iteration; 0: before the first, on `hardware`
  double deviance = 0;               ///< deviance at `coef`
  std::vector<double> coef;          ///< empty if `iteration` is 0
  std::vector<double> log_sp;        ///< start values of the next search for smoothing parameters
  std::vector<double> parameters{};  ///< parameters of the family at which `deviance` was computed
  Course course;
  std::string hardware;    ///< the kind of hardware that computed this: `hardware_of`
  std::string why_on_cpu;  ///< the verdict, if the fit stays on the CPU of a job with devices; else empty

  friend bool operator==(const FitState&, const FitState&) = default;
};

/// JSON whose numbers read back to the same bits.
[[nodiscard]] std::string to_text(const FitState& state);
/// Parses what `to_text` wrote. Throws `Error(input)` that names the field of `path` for anything else.
[[nodiscard]] FitState state_from(std::string_view text, const std::string& path);
/// Throws `Error(input)` for a state whose number of coefficients or smoothing parameters is not the
/// design's, or whose parameters are not in the family's domain.
void check_state(const FitState& state, const Design& design, const Family& family, const std::string& path);

/// The hardware that computes the rows, as far as the bits depend on it: "the CPU", or the kinds of the job's
/// devices.
[[nodiscard]] std::string hardware_of(const tessera::Job& job);
inline constexpr char hardware_of_host[] = "the CPU";

/// Adds the identity of files: size, time, and of one file a sample of at most 4 MiB. `what`: what they are,
/// as in "size of the data". Throws `Error(input)` if they cannot be read.
void add_identity(Fingerprint& print, std::string_view what, const std::vector<ListedFile>& all);

/// *Collective.* The fingerprint of everything that a model depends on, on rank 0: program, formula, family,
/// weights, knots, block rows; and the data: size, time and a sample (at most 4 MiB) of a file, or the values
/// in memory. `looked_at` receives the identity of that file, on rank 0. Throws the same `Error` on every
/// rank: `input` if the file cannot be read, and the errors of `open_memory`.
[[nodiscard]] Fingerprint fingerprint_of(const Workers& workers, const Table& data,
                                         const FormulaTerms& formula, const FitOptions& options,
                                         std::optional<files::FileState>& looked_at);

}  // namespace TESSERA_NAMESPACE::gam
