// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/response_fit.hpp"
#include "gam/many/search_rules.hpp"
#include "gam/many/shared_design.hpp"

#include <array>
#include <memory>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Coordinates of a design with one smoothing parameter in which X'WX and S are diagonal, so that a gaussian
/// response costs one pass over its rows, and O(p) for each value of lambda.
///
/// A component has unpenalised coordinates u, orthonormal in its rows, and penalised ones c, which are
/// orthogonal to u, with the penalty lambda |c|^2 and X'WX = diag(g). With w = X'W(y - offset) in the
/// penalised coordinates, c = w / (g + lambda).
class GaussianSpectrum {
  struct Projections {
    std::vector<double> w;     ///< w by coordinate; u for unpenalised coordinates
    std::vector<double> base;  ///< coordinates near the least-squares solution
    std::vector<double> rest;  ///< w of the residuals at `base`
    double squares = 0;        ///< sum of squares of these residuals
    double mean = 0;
    double zeros = 0;
    double null_deviance = 0;
    bool is_constant = false;
  };

 public:
  /// Working memory, reused by successive fits.
  class Buffers {
    friend class GaussianSpectrum;
    std::vector<double> y_, sums_, residual_sums_;
    Projections of_response_;
  };

  /// The spectrum of the rows with a positive weight. `weight` is by slot: zero for a slot without a row, and
  /// for a row that is left out. Null for a design with several smoothing parameters, for penalty matrices
  /// that are not diagonal, and if these rows do not determine the unpenalised coefficients.
  [[nodiscard]] static std::shared_ptr<const GaussianSpectrum> of(const SharedDesign& design,
                                                                  std::vector<double> weight);

  /// Fits a response as `ResponseFitter` does. `values`: by row of the table; ignored where the weight is
  /// zero. Returns false, with `out` undefined, if other values are missing or not finite, or if the
  /// residuals are zero up to rounding. Thread-safe.
  [[nodiscard]] bool fit(const SharedDesign& design, int least_rows, std::span<const double> values,
                         Buffers& buffers, ResponseFit& out) const;

 private:
  struct Component {
    int begin = 0;  ///< columns [begin, begin + size) of the design
    int unpenalised = 0;
    std::vector<double> g{};         ///< g of each penalised coordinate
    Matrix coordinates{};            ///< coefficients of the design by coordinate, the unpenalised ones first
    std::vector<double> constant{};  ///< unpenalised coordinates of a predictor that is one in each row
  };
  struct Group {
    int begin = 0;  ///< packets [begin, end)
    int end = 0;
    int component = 0;
    std::vector<double> x;  ///< values as in `LaneColumns`, by coordinate of the component
  };
  struct Value;

  void add_component(const SharedDesign& design, const DesignComponent& component, Component one);
  /// X'v by coordinate. `weigh` computes v for a run of rows.
  template <class Weigh>
  void project(const Weigh& weigh, std::vector<double>& sums, std::vector<double>& to) const;
  /// Calls `use(index, g, largest g)` for each coordinate; g is -1 for the unpenalised ones.
  template <class Use>
  void for_each_coordinate(const Use& use) const;
  /// `padding`: the value of slots without a row.
  [[nodiscard]] bool add_rows(const SharedDesign& design, double padding, Buffers& buffers) const;
  void add_centre(double centre, Projections& to) const;
  /// The criterion, and its derivatives by the log smoothing parameter.
  [[nodiscard]] Value value_at(const SharedDesign& design, const Projections& of, double log_sp) const;
  [[nodiscard]] ManyStatus search(const SharedDesign& design, const Projections& of, double& log_sp,
                                  int& iterations) const;
  [[nodiscard]] std::vector<double> coefficients(const Projections& of, double log_sp) const;
  void write_covariance(const SharedDesign& design, double log_sp, ResponseFit& out) const;

  std::vector<Component> components_;
  std::vector<Group> groups_;
  std::vector<int> indices_;    ///< 0, 1, …
  int coordinates_ = 0;         ///< number of coordinates of all components
  bool has_constant_ = false;   ///< whether constants are among the unpenalised functions
  bool in_order_ = false;       ///< whether row i of the table is in slot i
  std::vector<double> weight_;  ///< weights of the rows, by slot
  int rows_ = 0;                ///< number of rows with a weight
  int first_row_ = 0;           ///< first row of the table with a weight
  std::vector<int> unused_;     ///< slots of rows of the table without a weight
  std::vector<double> gram_;    ///< X'WX, packed
  double sum_of_weights_ = 0;
  double log_weights_ = 0;
  double log_determinant_ = 0;  ///< half of the log determinant of the unpenalised part of X'WX
  /// For each element of `values_around_start`: by how much the log determinants raise the criterion above
  /// its value at the limit.
  std::array<double, values_around_start.size()> costs_around_start_{};
  double origin_ = 0;  ///< log smoothing parameter at which the search begins
};

}  // namespace TESSERA_NAMESPACE::gam
