// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/options.hpp"

#include <tessera/gam/matrix.hpp>
#include <tessera/job/host_team.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Input of a basis: the margin in the formula, and the data of its variable. Members that check data throw
/// the same `Error` on every rank, with the smooth's label and advice.
struct MarginData : BasisOptions {
  std::string label;
  std::string variable;  ///< name of the variable, or of the first of several

  HostTeam* team = nullptr;  ///< threads of this rank, for expensive bases

  bool factor = false;  ///< true only for a random effect
  int levels = 0;
  std::vector<std::string> level_names;  ///< the levels of a factor of districts
  /// *Collective.* The number of rows of mgcv's bam setup sample in each level.
  std::function<std::vector<std::int64_t>()> level_counts;

  std::int64_t distinct = 0;  ///< number of distinct values in the complete rows; counting may stop above k
  double min = 0;
  double max = 0;
  std::vector<double> supplied;  ///< knots in ascending order; two numbers: limits; empty: none are supplied
  Matrix supplied_points;        ///< knots of an isotropic basis: points x variables; empty: none
  /// *Collective.* k quantiles of the distinct values, to which the limits are added if they are given.
  std::function<std::vector<double>(std::span<const double> limits)> quantiles;

  /// *Collective.* Values in the rows of mgcv's bam setup sample, in order: a column for each variable.
  std::function<Matrix()> setup_values;

  [[nodiscard]] bool has_limits() const { return supplied.size() == 2; }
  /// The supplied limits, or else the limits of the data. Throws if data lie outside the supplied limits.
  [[nodiscard]] std::pair<double, double> limits() const;

  /// Throws `Error(input)` if there are fewer than `needed` distinct values.
  void require_distinct(std::int64_t needed) const { require_distinct(needed, distinct); }
  void require_distinct(std::int64_t needed, std::int64_t available) const;
  /// Throws `Error(usage)` unless the supplied knots are distinct and `all` in number. `or_limits`: the
  /// message also offers two limits.
  void require_knots(int all, bool or_limits) const;
  /// Throws `Error(input)` if data lie outside [low, high].
  void require_covered(double low, double high) const;
};

}  // namespace TESSERA_NAMESPACE::gam
