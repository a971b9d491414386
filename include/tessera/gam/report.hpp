// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/anova.hpp>
#include <tessera/gam/check.hpp>
#include <tessera/gam/fit.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Reports on a model. Functions without a job take a complete model, as rank 0 has it, and are not
/// collective.
namespace TESSERA_NAMESPACE::gam {

struct ReportedRows;

/// The summary that R users know from `summary.gam`: the parametric table, the smooth table with edf and
/// p-values, adjusted R-squared, deviance explained, REML, scale and n. Pure.
[[nodiscard]] TESSERA_EXPORT std::string summary(const Model& model);

/// The same, with what `figures_of` the model has, as JSON in ASCII: numbers in full, null for what is not
/// known. docs/fit.md lists its keys. Pure. Cost: that of `figures_of`.
[[nodiscard]] TESSERA_EXPORT std::string summary_json(const Model& model);

/// The tests of one model's terms, or the analysis of deviance of several, and the table of their log
/// likelihoods, AIC, deviances and REML scores: for people, and as JSON in ASCII, where null stands for what
/// is not known. Throw as `anova`.
[[nodiscard]] TESSERA_EXPORT std::string anova_text(std::span<const Model> models, DevianceTest test);
[[nodiscard]] TESSERA_EXPORT std::string anova_json(std::span<const Model> models, DevianceTest test);

/// What checks have found, made with these options: for people, and as JSON, where null stands for what is
/// not known. Pure.
[[nodiscard]] TESSERA_EXPORT std::string check_text(const Check& check, const CheckOptions& options);
[[nodiscard]] TESSERA_EXPORT std::string check_json(const Check& check, const CheckOptions& options);

/// What a report has from a model's rows: a sample of them for its plots, at most 4096, spread evenly over
/// the table, and what checks of all rows have found. An immutable value, cheap to copy; a move is a copy.
/// Any thread may read it.
class TESSERA_EXPORT ReportRows {
 public:
  ReportRows() = default;  ///< none
  ReportRows(const ReportRows&) = default;
  ReportRows& operator=(const ReportRows&) = default;
  ~ReportRows() = default;

  /// From and to the engine's representation; not a public type.
  explicit ReportRows(std::shared_ptr<const ReportedRows> rows) : rows_(std::move(rows)) {}
  [[nodiscard]] const ReportedRows* rows() const noexcept { return rows_.get(); }

 private:
  std::shared_ptr<const ReportedRows> rows_;
};

/// *Collective.* Reads the table that a model was fitted to, once, and checks the model against it as `check`
/// does with these options. The result is on rank 0, the same for any number of ranks and threads. Throws the
/// same `Error` on every rank: as `check`, and `interrupted` when the job is asked to stop. It blocks. Cost:
/// that of `check`, and one pass over the rows.
[[nodiscard]] TESSERA_EXPORT ReportRows report_rows(Job& job, const Model& model, const TableFile& file,
                                                    const CheckOptions& options = {},
                                                    FitObserver* observer = nullptr);

struct ReportOptions {
  /// Of the curves, as mgcv's plot.gam has them; one that would be flat has an axis of its own.
  bool same_y_scale = true;
  std::string
      run_report{};  ///< a file of `save_run_report`, of the same model, for plan and times; empty: none
  /// For partial residuals, rugs, maps that end where there are no rows, residuals by covariates and checks.
  ReportRows rows{};
};

/// A picture of a page, which can stand alone.
struct ReportFigure {
  std::string name;    ///< for files, of letters, digits, '.', '_' and '-': "s_x"; no other's of the page
  std::string label;   ///< what it shows: "s(x)"
  std::string svg;     ///< light, or dark where its reader has it so
  std::string csv;     ///< its numbers, or of an estimate and its standard error together; empty: none
  std::string points;  ///< its single rows, such as partial residuals, as CSV; empty: none
};

struct Report {
  std::string html;  ///< a page, with the figures
  std::vector<ReportFigure> figures;
};

/// A self-contained HTML page with the summary, every term's plot and residual checks: no script, no other
/// file, no network access; and its figures. Deterministic. Throws `Error(input)` for a run report that
/// cannot be read or is of another model.
[[nodiscard]] TESSERA_EXPORT Report report(const Model& model, const ReportOptions& options = {});

/// The page alone.
[[nodiscard]] TESSERA_EXPORT std::string report_html(const Model& model, const ReportOptions& options = {});

/// Writes figures into a folder, which is made if it is not there: NAME.svg, NAME.csv, NAME-points.csv, and
/// figures.csv, which lists them with checksums. Each is written whole or not at all. Returns an empty
/// string, or one line if the files are in place but may not survive a power failure. Throws `Error(input)`
/// for a folder that cannot be made, for a file of these names that no call of this wrote or that was changed
/// since, and if one cannot be written: files that were there remain, and new ones are removed.
TESSERA_EXPORT std::string save_figures(const std::string& folder, std::span<const ReportFigure> figures);

/// The paths that it writes.
[[nodiscard]] TESSERA_EXPORT std::vector<std::string> figure_paths(const std::string& folder,
                                                                   std::span<const ReportFigure> figures);

/// Writes a record of the run as JSON: ranks, devices, plan, verdict, seconds and bytes of each phase.
/// `checksum`: that of the model's file, returned by `save_model`. `log_problem`: why lines of the program's
/// own log could not be written; empty: they were. Throws `Error(input)` if the file cannot be written, and
/// leaves an existing file unchanged. Returns an empty string, or one line if the file is in place but may
/// not survive a power failure, because its folder could not be flushed to disk.
TESSERA_EXPORT std::string save_run_report(const Job& job, const FitResult& result,
                                           const std::string& checksum, const std::string& path,
                                           const std::string& log_problem = {});

}  // namespace TESSERA_NAMESPACE::gam
