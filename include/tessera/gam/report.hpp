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

/// Reports on a model. Functions without a job take a complete model, such as that of rank 0, and are not
/// collective.
namespace TESSERA_NAMESPACE::gam {

struct ReportedRows;

/// The summary, like R's `summary.gam`: the parametric table, the smooth table with edf and p-values,
/// adjusted R-squared, deviance explained, REML, scale and n. Pure.
[[nodiscard]] TESSERA_EXPORT std::string summary(const Model& model);

/// The summary and the `ModelFigures` of the model as JSON in ASCII, with numbers in full precision and null
/// for unknown values. docs/fit.md lists the keys. Pure. Cost: that of `figures_of`.
[[nodiscard]] TESSERA_EXPORT std::string summary_json(const Model& model);

/// Tests of one model's terms, or the analysis of deviance of several models, with a table of their log
/// likelihoods, AIC, deviances and REML scores: as text for people, and as JSON in ASCII with null for
/// unknown values. Throw as `anova`.
[[nodiscard]] TESSERA_EXPORT std::string anova_text(std::span<const Model> models, DevianceTest test);
[[nodiscard]] TESSERA_EXPORT std::string anova_json(std::span<const Model> models, DevianceTest test);

/// The results of checks made with these options: as text for people, and as JSON with null for unknown
/// values. Pure.
[[nodiscard]] TESSERA_EXPORT std::string check_text(const Check& check, const CheckOptions& options);
[[nodiscard]] TESSERA_EXPORT std::string check_json(const Check& check, const CheckOptions& options);

/// Data from a model's rows for a report: a sample of at most 4096 rows for plots, spread evenly over the
/// table, and the results of checks of all rows. An immutable value, cheap to copy; a move is a copy. Any
/// thread may read it.
class TESSERA_EXPORT ReportRows {
 public:
  ReportRows() = default;  ///< no rows
  ReportRows(const ReportRows&) = default;
  ReportRows& operator=(const ReportRows&) = default;
  ~ReportRows() = default;

  /// For the library: conversion from and to its internal type.
  explicit ReportRows(std::shared_ptr<const ReportedRows> rows) : rows_(std::move(rows)) {}
  [[nodiscard]] const ReportedRows* rows() const noexcept { return rows_.get(); }

 private:
  std::shared_ptr<const ReportedRows> rows_;
};

/// *Collective.* Reads the table of a model's fit once, and checks the model against the table like `check`.
/// The result is on rank 0, with the same bits for any number of ranks and threads. Throws the errors of
/// `check`, and `Error(interrupted)` after a stop request, on every rank. Blocks. Cost: that of `check`, and
/// one pass over the rows.
[[nodiscard]] TESSERA_EXPORT ReportRows report_rows(Job& job, const Model& model, const Table& table,
                                                    const CheckOptions& options = {},
                                                    FitObserver* observer = nullptr);

struct ReportOptions {
  /// Use the same y scale for all plots of curves, as in mgcv's plot.gam, except for a curve that would look
  /// flat.
  bool same_y_scale = true;
  /// File of `save_run_report` for the same model, from which the page shows plan and times; empty: none.
  std::string run_report{};
  /// Data for partial residuals, rugs, maps limited to the region of the data, residuals by covariates, and
  /// checks.
  ReportRows rows{};
};

/// A figure of a report.
struct ReportFigure {
  std::string name;    ///< file name without ending, such as "s_x": letters, digits, '.', '_' and '-'; unique
                       ///< in the page
  std::string label;   ///< what the figure shows: "s(x)"
  std::string svg;     ///< the figure as SVG, which adapts to light or dark mode
  std::string csv;     ///< numbers of the figure as CSV, e.g. estimates with standard errors; empty: none
  std::string points;  ///< values of individual rows, e.g. partial residuals, as CSV; empty: none
};

struct Report {
  std::string html;  ///< the page, including the figures
  std::vector<ReportFigure> figures;
};

/// A self-contained HTML page with the summary, a plot of each term and residual checks, and the figures of
/// the page. The page has no scripts, and needs no other files and no network. Deterministic. Throws
/// `Error(usage)` without covariances, and `Error(input)` for a run report that is invalid or of another fit.
[[nodiscard]] TESSERA_EXPORT Report report(const Model& model, const ReportOptions& options = {});

/// *Collective.* An HTML page about the fits of many responses. `fits` is an HDF5 file of `fit_many` with
/// covariances. The page has the numbers of fits by status, the p values of the smooths, and the curves of
/// the responses with the smallest p values. The result is on rank 0; it is empty on other ranks. Throws the
/// same `Error(input)` on every rank for a file that cannot be read or has no covariances.
[[nodiscard]] TESSERA_EXPORT Report report_many(Job& job, const std::string& fits);

/// The HTML page of `report`, without its figures as separate texts.
[[nodiscard]] TESSERA_EXPORT std::string report_html(const Model& model, const ReportOptions& options = {});

/// Writes figures into a folder, which is created if missing: NAME.svg, NAME.csv, NAME-points.csv, and
/// figures.csv, which lists them with checksums. Each is written whole or not at all. Returns an empty
/// string, or one line if the files are in place but may not survive a power failure. Throws `Error(input)`
/// if the folder cannot be created, if an existing file with one of these names was not written by this
/// function or was changed since, and if a file cannot be written: existing files remain, and new files are
/// removed.
TESSERA_EXPORT std::string save_figures(const std::string& folder, std::span<const ReportFigure> figures);

/// The paths that `save_figures` writes.
[[nodiscard]] TESSERA_EXPORT std::vector<std::string> figure_paths(const std::string& folder,
                                                                   std::span<const ReportFigure> figures);

/// Writes a record of the run as JSON: ranks, devices, plan, verdict, seconds and bytes of each phase.
/// `checksum` is `SavedModel::checksum` of the model. `log_problem`: why lines of the program's own log could
/// not be written; empty: all lines were written. Throws `Error(input)` if the file cannot be written, and
/// leaves an existing file unchanged. Returns an empty string, or one line if the file is in place but may
/// not survive a power failure, because its folder could not be flushed to disk.
TESSERA_EXPORT std::string save_run_report(const Job& job, const FitResult& result,
                                           const std::string& checksum, const std::string& path,
                                           const std::string& log_problem = {});

}  // namespace TESSERA_NAMESPACE::gam
