// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/many.hpp>
#include <tessera/gam/table.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Fits one of many responses, without a job, from the response and a design that all responses share. For
/// programs that distribute or generate the responses themselves:
///
///     const gam::ManyDesign design("s(t, k=6)", cells, {.family = gam::family("nb")});  // on each rank
///     job.map<double>(plan, genes, tessera::host_only, [&](const tessera::HostTile&, auto in, auto out) {
///       for (std::size_t i = 0; i < in.size(); ++i)
///         out[i] = gam::fit_response(design, simulated(in[i])).p_values.back();
///     });
namespace TESSERA_NAMESPACE::gam {

struct ResponseResult {
  std::string_view status{};  ///< how the fit ended, e.g. "converged" (docs/many.md lists all); a static text
  std::vector<double> values{};    ///< one value for each of `ManyDesign::columns`; NaN: none
  std::vector<double> p_values{};  ///< one p value for each of `ManyDesign::tests`; NaN: none
};

/// The rows, bases and penalties that the models of many responses share. An immutable value, cheap to copy;
/// any thread may use it.
class TESSERA_EXPORT ManyDesign {
 public:
  /// `formula`, `covariates` and `options` (without `drop`) are those of `fit_many`; a table in memory must
  /// have all rows. Not collective; the bits are the same on every rank. Throws `Error` like `fit_many`.
  /// Cost: reading the covariates, and some passes over the rows with p^2 operations per row for p
  /// coefficients.
  ManyDesign(const std::string& formula, const Table& covariates, const ManyOptions& options = {});
  ~ManyDesign();
  // A move is a copy.
  ManyDesign(const ManyDesign&);
  ManyDesign& operator=(const ManyDesign&);

  /// Rows of the covariates; a response has one value for each row.
  [[nodiscard]] std::int64_t rows() const noexcept;
  /// The names of `ResponseResult::values`, which are the numeric columns of the results of `fit_many`.
  [[nodiscard]] const std::vector<std::string>& columns() const noexcept;
  /// The names of `ResponseResult::p_values`: the tested terms.
  [[nodiscard]] const std::vector<std::string>& tests() const noexcept;

 private:
  friend TESSERA_EXPORT ResponseResult fit_response(const ManyDesign& design, std::span<const double> values,
                                                    std::span<const double> weights,
                                                    std::span<const double> offsets);
  struct State;
  std::shared_ptr<State> state_;
};

/// Fits one response on the calling thread, with the same bits as `fit_many` on the CPU. `values` has a value
/// for each row of the covariates; NaN: missing. `weights`, such as those of a bootstrap, are multiplied with
/// the design's weights; a weight of zero excludes a row. `offsets` are added to the linear predictor. An
/// empty span: none. Pure; any thread may call it at any time, also within a pass of a job. Makes at most 60
/// outer iterations, with at most 100 inner steps for each trial point. Throws `Error(usage)` for another
/// number of values, and `Error(input)`, with the row, for a value that the family does not allow.
[[nodiscard]] TESSERA_EXPORT ResponseResult fit_response(const ManyDesign& design,
                                                         std::span<const double> values,
                                                         std::span<const double> weights = {},
                                                         std::span<const double> offsets = {});

}  // namespace TESSERA_NAMESPACE::gam
