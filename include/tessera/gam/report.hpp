// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/anova.hpp>
#include <tessera/gam/check.hpp>
#include <tessera/gam/fit.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/job/job.hpp>

#include <span>
#include <string>

/// Reports on a model. These functions take a complete model, as rank 0 has it, and are not collective.
namespace tessera::gam {

/// The summary that R users know from `summary.gam`: the parametric table, the smooth table with edf and
/// p-values, adjusted R-squared, deviance explained, REML, scale and n. Pure.
[[nodiscard]] std::string summary(const Model& model);

/// The tests of one model's terms, or the analysis of deviance of several, and the table of their log
/// likelihoods, AIC, deviances and REML scores: for people, and as JSON in ASCII, where null stands for what
/// is not known. Throw as `anova`.
[[nodiscard]] std::string anova_text(std::span<const Model> models, DevianceTest test);
[[nodiscard]] std::string anova_json(std::span<const Model> models, DevianceTest test);

/// What checks have found, made with these options: for people, and as JSON, where null stands for what is
/// not known. Pure.
[[nodiscard]] std::string check_text(const Check& check, const CheckOptions& options);
[[nodiscard]] std::string check_json(const Check& check, const CheckOptions& options);

struct ReportOptions {
  bool same_y_scale = true;  ///< of the curves, as mgcv's plot.gam has them
  std::string
      run_report{};  ///< a file of `save_run_report`, of the same model, for plan and times; empty: none
};

/// A self-contained HTML page with the summary, every term's plot and residual checks: no script, no other
/// file, no network access. Deterministic. Throws `Error(input)` for a run report that cannot be
/// read or is of another model.
[[nodiscard]] std::string report_html(const Model& model, const ReportOptions& options = {});

/// Writes a record of the run as JSON: ranks, devices, plan, verdict, seconds and bytes of each phase.
/// `checksum`: that of the model's file, returned by `save_model`. `log_problem`: why lines of the program's
/// own log could not be written; empty: they were. Throws `Error(input)` if the file cannot be written, and
/// leaves an existing file unchanged. Returns an empty string, or one line if the file is in place but may
/// not survive a power failure, because its folder could not be flushed to disk.
std::string save_run_report(const Job& job, const FitResult& result, const std::string& checksum,
                            const std::string& path, const std::string& log_problem = {});

}  // namespace tessera::gam
