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

enum class Phase {
  settling,   ///< iterating towards a solution
  searching,  ///< at a solution: searching for other minima of REML of its working model
  elsewhere,  ///< iterating from another minimum to another solution
  returning,  ///< back at the best solution, because no other is better
};

/// A solution of performance iteration: coefficients that solve their own working model at a minimum of REML.
struct FixedPoint {
  std::vector<double> coef;
  std::vector<double> log_sp;
  std::vector<double> parameters;  ///< parameters of the family
  double criterion = 0;            ///< REML by Laplace's approximation

  friend bool operator==(const FixedPoint&, const FixedPoint&) = default;
};

/// Besides the coefficients, the state of performance iteration that determines the next step.
struct Course {
  std::vector<PastStep> past;  ///< past steps to mix with the next one, oldest first
  Phase phase = Phase::settling;
  FixedPoint best;  ///< the best solution so far; without coefficients while settling
  std::vector<std::vector<double>> untried;  ///< `log_sp` of untried minima of REML at the best solution
  std::vector<double> known;                 ///< deviances of all solutions found
  int steps = 0;                             ///< number of steps in this phase and in the preceding search
  double step = 0;                           ///< length of the last step in the linear predictor
  bool from_sample = false;                  ///< whether the first steps were taken on a sample of the rows

  friend bool operator==(const Course&, const Course&) = default;
};

/// The state of a fit after an outer iteration: all that the next iteration needs except the data.
struct FitState {
  int iteration = 0;         ///< last completed iteration; 0: the state has only `hardware` and `why_on_cpu`
  double deviance = 0;       ///< at `coef`
  std::vector<double> coef;  ///< empty if `iteration` is 0
  std::vector<double> log_sp;        ///< start values of the next search for smoothing parameters
  std::vector<double> parameters{};  ///< parameters of the family for `deviance`
  Course course;
  std::string hardware;    ///< `hardware_of` the job that computed the state
  std::string why_on_cpu;  ///< why the fit stays on the CPU of a job with devices; else empty

  friend bool operator==(const FitState&, const FitState&) = default;
};

/// As JSON. Numbers are read back with the same bits.
[[nodiscard]] std::string to_text(const FitState& state);
/// Throws `Error(input)`, naming `path` and the field, for a text that `to_text` does not write.
[[nodiscard]] FitState state_from(std::string_view text, const std::string& path);
/// Throws `Error(input)` if the number of coefficients or smoothing parameters differs from the design's, or
/// if parameters are not in the family's domain.
void check_state(const FitState& state, const Design& design, const Family& family, const std::string& path);

/// Name of the hardware that determines the bits of sums: "the CPU", or the models of the job's devices.
[[nodiscard]] std::string hardware_of(const tessera::Job& job);
inline constexpr char hardware_of_host[] = "the CPU";

/// Adds the identity of files: size, time, and for a single file a hash of at most 4 MiB. `what`: noun for
/// the entries, as in "size of the data". Throws `Error(input)` if a file cannot be read.
void add_identity(Fingerprint& print, std::string_view what, const std::vector<ListedFile>& all);

/// *Collective.* The fingerprint of everything that a model depends on, on rank 0: program, formula, family,
/// weights, knots, block rows, and the data. Data in a file count by size, time and a hash of at most 4 MiB,
/// data in memory by their values. `looked_at`: set to the state of the files, on rank 0. Throws the same
/// `Error` on every rank: `input` if a file cannot be read, and the errors of `open_memory`.
[[nodiscard]] Fingerprint fingerprint_of(const Workers& workers, const Table& data,
                                         const FormulaTerms& formula, const FitOptions& options,
                                         std::optional<files::FileState>& looked_at);

}  // namespace TESSERA_NAMESPACE::gam
