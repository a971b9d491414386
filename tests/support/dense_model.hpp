// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/reml/reml.hpp"

#include <tessera/gam/matrix.hpp>

#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {

/// A dense model matrix by the documented definitions, without the bases under test: the reference in tests
/// of the REML criterion.
class DenseModel {
 public:
  explicit DenseModel(int rows) : x_(rows, 0) {}

  void add_parametric(const std::string& label, const Matrix& columns);
  void add_intercept();
  /// Cubic P-spline with second-order difference penalty and sum-to-zero constraint.
  void add_ps(const std::string& label, const std::vector<double>& x, int k);
  /// `add_ps` for each level of a factor, with the sum-to-zero constraint over all rows.
  void add_ps_by(const std::string& label, const std::vector<double>& x, int k,
                 const std::vector<std::string>& factor);
  void add_re(const std::string& label, const std::vector<std::string>& factor);
  /// te(x, z, bs = "ps", np = TRUE) with second-order difference penalties.
  void add_te(const std::string& label, const std::vector<double>& x, int k_x, const std::vector<double>& z,
              int k_z);

  [[nodiscard]] const Matrix& matrix() const noexcept { return x_; }
  [[nodiscard]] const Design& design() const noexcept { return design_; }
  /// Gives blocks shared smoothing parameters (mgcv's id), and sets their `by_scale`.
  void link(const std::vector<std::string>& labels, const std::vector<double>& by_factors);
  void forget_eigenvectors();
  /// X'WX, X'Wr and r'Wr with r = z - X base.
  [[nodiscard]] WorkingModel working(const std::vector<double>& z, const std::vector<double>& weights,
                                     const std::vector<double>& base) const;

 private:
  void append(CoefBlock block, const Matrix& columns);
  void append_smooth(const std::string& label, const std::string& kind, const Matrix& columns,
                     std::vector<Matrix> penalties, int null_space);

  Matrix x_;
  Design design_;
};

/// Treatment contrasts of a factor: an indicator for each level except the first, in byte order.
[[nodiscard]] Matrix treatment_contrasts(const std::vector<std::string>& factor);

}  // namespace TESSERA_NAMESPACE::gam::testing
