// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/arrow.hpp>
#include <tessera/gam/check.hpp>
#include <tessera/gam/fit.hpp>
#include <tessera/gam/posterior.hpp>
#include <tessera/gam/predict.hpp>
#include <tessera/gam/residuals.hpp>
#include <tessera/gam/table_options.hpp>
#include <tessera/job/job.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Options by name, as texts: for command lines, and for languages whose users give options by name.
namespace TESSERA_NAMESPACE::gam {

/// An option as its user gives it. Names are those of tessera-fit's options and of mgcv's arguments, in
/// letters of any case, with '-', '.' and '_' alike: "max-iterations", "min.sp", "AR.start".
///
/// Values are texts: a number; "true" or "false"; a list with commas, "0.6,-1"; a name. An option that holds
/// several things may be given several times: "knots" with "month=0.5,12.5" and with "x=0,1"; of any other
/// the last counts.
struct NamedOption {
  std::string name;
  std::string value;
  bool is_read = false;  ///< set by `read_options`
};

/// Sets those of the options that `options` has, and marks them as read:
///
/// - `FitOptions`: family, link, method (fREML alone), weights, offset, subset, rho (a number or "auto"),
///   ar-start, levels and ordered ("dose=low,mid,high"; a text in double quotes may have ',' and '=', and ""
///   for a quote), drop-unused-levels, knots, sp, min-sp, select,
///   gamma, residuals, tolerance, step-tolerance, max-iterations, largest-tested-effect, checkpoint, memory,
///   scratch, device-memory
/// - `PredictOptions`: type, se (or se.fit), terms, exclude, new-levels, keep, interval, prediction-interval,
///   unconditional, draws, seed, memory
/// - `SmoothOptions`: terms, points, interval, draws, seed, unconditional; `DerivativeOptions` also order,
///   variables
/// - `SimulateOptions`: draws, seed, unconditional, posterior-predictive, weights, new-levels, keep
/// - `CheckOptions`: seed, sample, permutations, largest-concurvity, autocorrelation, series, memory, scratch
/// - `ResidualOptions`: type, variables, memory, scratch
/// - `TableOptions`: na-strings, factor, numeric, block-rows
/// - `ArrowOptions`: column (one of those to take), levels ("dose=low,mid,high"), block-rows
/// - `JobOptions`: device (auto, gpu or cpu), on-device-failure (cpu, error or exclude), score-model,
///   allow-sharing, memory-fraction, threads (or nthreads)
///
/// Sizes in bytes may end in K, M, G or T, powers of 1024. Throws `Error(usage)`, with name and value, for a
/// value that the option cannot have, and as `family` and the functions that take the options do. Pure, but
/// for "family" with the name of a file.
TESSERA_EXPORT void read_options(std::span<NamedOption> given, FitOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, PredictOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, SmoothOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, DerivativeOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, SimulateOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, CheckOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, ResidualOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, TableOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, ArrowOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, JobOptions& options);

/// Throws `Error(usage)` for the first option that nothing has read, and names the nearest that there is.
/// `call` is what does not have it, as "a prediction".
TESSERA_EXPORT void refuse_unread(std::span<const NamedOption> given, std::string_view call);

/// The values that "x=1,2,3;g=a" chooses for `data_slice`. Throws `Error(usage)`, which names `option`.
[[nodiscard]] TESSERA_EXPORT std::vector<ChosenValues> chosen_values(const std::string& text,
                                                                     std::string_view option = "at");

/// The parts of a list, as "s(x),te(x,z)": a separator within parentheses and quotes is part of one.
[[nodiscard]] TESSERA_EXPORT std::vector<std::string> labels_in(std::string_view list, char separator = ',');

}  // namespace TESSERA_NAMESPACE::gam
