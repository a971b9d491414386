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

/// Simultaneous diagonalisation of X'WX and S for a design with one smoothing parameter. A gaussian response
/// costs one pass over its rows, and O(p) per value of lambda.
///
/// A component has unpenalised coordinates u with X'WX = I, and penalised coordinates c, W-orthogonal to u,
/// with penalty lambda |c|^2 and X'WX = diag(g). With w = X'W(y - offset), u = w and c = w/(g + lambda).
class GaussianSpectrum {
  struct Projections {
    std::vector<double> w;     ///< w of penalised, u of unpenalised coordinates
    std::vector<double> base;  ///< coordinates near the least-squares solution
    std::vector<double> rest;  ///< w of the residuals at `base`
    double squares = 0;        ///< residual sum of squares at `base`
    double mean = 0;
    double zeros = 0;
    double null_deviance = 0;
    bool is_constant = false;
  };

 public:
  /// Scratch memory, reused by successive fits.
  class Buffers {
    friend class GaussianSpectrum;
    std::vector<double> y_, sums_, residual_sums_;
    Projections of_response_;
  };

  /// The spectrum of the rows with a positive weight. `weight` is by slot; zero for slots without a row and
  /// for omitted rows. Null if the design has several smoothing parameters or penalties that are not
  /// diagonal, or if the rows do not determine the unpenalised coefficients.
  [[nodiscard]] static std::shared_ptr<const GaussianSpectrum> of(const SharedDesign& design,
                                                                  std::vector<double> weight);

  /// Fits a response like `ResponseFitter`. `values` is by row of the table; rows with weight zero are
  /// ignored. Returns false, with `out` undefined, if a value of another row is not finite, if there are no
  /// more rows than unpenalised functions, or if the residuals are zero up to rounding. Thread-safe.
  [[nodiscard]] bool fit(const SharedDesign& design, int least_rows, std::span<const double> values,
                         Buffers& buffers, ResponseFit& out) const;

 private:
  struct Component {
    int begin = 0;  ///< first column of the component in the design
    int unpenalised = 0;
    std::vector<double> g{};         ///< by penalised coordinate
    Matrix coordinates{};            ///< design coefficients by coordinate, unpenalised coordinates first
    std::vector<double> constant{};  ///< unpenalised coordinates of the constant function 1
  };
  struct Group {
    int begin = 0;  ///< packets [begin, end)
    int end = 0;
    int component = 0;
    std::vector<double> x;  ///< laid out like `LaneColumns::x`, by coordinate of the component
  };
  struct Value;

  void add_component(const SharedDesign& design, const DesignComponent& component, Component one);
  /// X'v by coordinate; `weigh` computes v for a run of rows.
  template <class Weigh>
  void project(const Weigh& weigh, std::vector<double>& sums, std::vector<double>& to) const;
  /// Calls `use(index, g, largest g)` for each coordinate; g = -1 for unpenalised coordinates.
  template <class Use>
  void for_each_coordinate(const Use& use) const;
  /// `padding`: y in slots without a row or with weight zero.
  [[nodiscard]] bool add_rows(const SharedDesign& design, double padding, Buffers& buffers) const;
  void add_centre(double centre, Projections& to) const;
  /// The criterion and its derivatives by the log smoothing parameter.
  [[nodiscard]] Value value_at(const SharedDesign& design, const Projections& of, double log_sp) const;
  [[nodiscard]] ManyStatus search(const SharedDesign& design, const Projections& of, double& log_sp,
                                  int& iterations) const;
  [[nodiscard]] std::vector<double> coefficients(const Projections& of, double log_sp) const;
  void write_covariance(const SharedDesign& design, double log_sp, ResponseFit& out) const;

  std::vector<Component> components_;
  std::vector<Group> groups_;
  std::vector<int> indices_;
  int coordinates_ = 0;         ///< of all components
  bool has_constant_ = false;   ///< constants are in the span of the unpenalised functions
  bool in_order_ = false;       ///< row i of the table is in slot i
  std::vector<double> weight_;  ///< by slot
  int rows_ = 0;                ///< rows with a positive weight
  int first_row_ = 0;           ///< first table row with a positive weight
  std::vector<int> unused_;     ///< slots of table rows with weight zero
  std::vector<double> gram_;    ///< X'WX, packed
  double sum_of_weights_ = 0;
  double log_weights_ = 0;
  double log_determinant_ = 0;  ///< half log-determinant of the unpenalised block of X'WX
  /// Rise of the log-determinant terms over their value at the limit, by element of `values_around_start`.
  std::array<double, values_around_start.size()> costs_around_start_{};
  double origin_ = 0;  ///< initial log smoothing parameter
};

}  // namespace TESSERA_NAMESPACE::gam
