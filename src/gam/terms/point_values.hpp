// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/component.hpp"
#include "gam/basis/far_field.hpp"
#include "gam/data/frame/column_numbers.hpp"
#include "gam/terms/component_tables.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Evaluates terms on the host, at several points at once.
namespace TESSERA_NAMESPACE::gam {

/// Points, as one column for each variable; `Component::variable` is the index of a column.
struct Points {
  const NumberView* numbers;         ///< one column per variable; not read for factors
  const std::int32_t* const* codes;  ///< level codes of factors
  const std::size_t* index;          ///< row of each point in the columns
  int count;
};

[[nodiscard]] inline bool is_curve(const ComponentTable& component) {
  return component.kind == ComponentKind::spline ||
         (component.kind == ComponentKind::dense && component.parts == 0);
}

/// A curve is a linear combination of a component's columns. `curve_cells` returns this many numbers for each
/// slot: the coefficients of a cubic in t.
inline constexpr int numbers_of_cell = 4;
[[nodiscard]] std::vector<double> curve_cells(const ComponentTable& component, const double* numbers,
                                              const double* coef);

/// Adds the dense columns, summed over points, to `out`. `sums`: see `PointEvaluator::add_moments`.
void add_columns_of_moments(const ComponentTable& component, const double* numbers, const double* sums,
                            double* out);

/// Evaluates products of components. Not thread-safe: each thread needs its own.
class PointEvaluator {
 public:
  /// Allocates buffers for `points` points at once; `tables` must outlive this object.
  PointEvaluator(const ComponentTables& tables, int points);

  /// Values of the product of components [begin, end), with the same number of nonzeros for each point; the
  /// last component varies fastest. Calls `place(i, first)` for each component begin + i in order, where
  /// `first` has the component's first nonzero raw column at each point.
  template <class Place>
  void evaluate(int begin, int end, const Points& points, double* values, const Place& place) {
    int nonzeros = 1;
    if (begin == end) start(points.count, values);
    for (int c = begin; c < end; ++c) {
      nonzeros = multiply_in(c, c == begin, nonzeros, points, values);
      place(c - begin, first_.data());
    }
  }

  /// Whether any component has a far field, whose evaluation is faster for many points at once.
  [[nodiscard]] bool has_far_fields() const;
  /// Requested results for a component with a far field.
  struct FarWanted {
    bool columns = true;
    const FarField::Functions* combined = nullptr;  ///< one combination of the columns; may be null
    FarField::Functions* sums = nullptr;            ///< the functions, summed over all rows; may be null
  };
  /// Evaluates the components with a far field in the rows `index` (ascending). Later calls of `evaluate` and
  /// `add_combination` with a contiguous part of these rows reuse the results. `numbers`: see `Points`;
  /// `wanted`: one for each component, or empty.
  void prepare(const NumberView* numbers, std::vector<std::size_t> index, std::span<const FarWanted> wanted);
  void forget() { prepared_.clear(); }
  /// Adds a combination of the columns of a component with a far field to `out`, at each point.
  void add_combination(int component, const FarField::Functions& combined, const Points& points, double* out);

  /// Adds the curve of a component, given by its cells, to `out` at each point. `evaluated`: whether this
  /// component was the last one evaluated, at the same points.
  void add_curve(int component, const double* cells, const Points& points, bool evaluated, double* out);
  /// Adds t^0 to t^3 of each point to four sums of its slot; `sums`: slots x 4.
  void add_moments(int component, const Points& points, double* sums);

 private:
  static void start(int points, double* values);
  /// Multiplies the values by a component, and returns the new number of values per point.
  int multiply_in(int component, bool is_first, int nonzeros, const Points& points, double* values);
  void evaluate_component(const ComponentTable& component, const Points& points, double* values);
  /// Sets `x_` and `slots_` to t and the slot of each point.
  void locate_all(const ComponentTable& component, const Points& points);
  void evaluate_isotropic(const ComponentTable& component, const Points& points, double* values);
  /// Sets u to the variables of isotropic columns in a row, minus their shifts.
  void shifted(const ComponentTable& component, const NumberView* numbers, std::size_t row, double* u) const;
  /// Evaluates points grouped by leaf. `values`, `combination`: null if not wanted.
  void evaluate_by_leaves(std::size_t component, const NumberView* numbers,
                          std::span<const std::size_t> index, const FarWanted& wanted, double* values,
                          double* combination);
  /// Position of the first point in `prepared_`; -1 unless all points are prepared.
  [[nodiscard]] std::ptrdiff_t prepared_at(const Points& points) const;

  const ComponentTables& tables_;
  std::vector<int> first_;         ///< first nonzero raw column of the last component, by point
  std::vector<double> part_;       ///< values of one component
  std::vector<double> x_;          ///< values of a variable, or t within the slots
  std::vector<int> slots_;         ///< slots of the points in the margin
  std::vector<double> functions_;  ///< functions of isotropic columns at a tile of points
  // Arguments and results of `prepare`.
  const NumberView* prepared_numbers_ = nullptr;
  std::vector<std::size_t> prepared_;
  std::vector<std::vector<double>> prepared_values_, prepared_combinations_;
};

/// Evaluates one term. Not thread-safe: give each thread a copy; copies share the tables, which may be large.
class TermEvaluator {
 public:
  explicit TermEvaluator(std::span<const Component> components, int points = 1);

  [[nodiscard]] int nonzeros() const noexcept { return static_cast<int>(offsets_.size()); }
  /// Calls `use(point, column, value)` for each nonzero, point by point, with increasing columns of the term.
  /// Takes at most the constructor's number of points. At a factor level that the model lacks, the values are
  /// zero.
  template <class Use>
  void for_each_nonzero(const Points& points, const Use& use) {
    evaluate(points);
    const double* value = values_.data();
    for (int p = 0; p < points.count; ++p) {
      for (const int offset : offsets_) use(p, starts_[static_cast<std::size_t>(p)] + offset, *value++);
    }
  }

 private:
  void evaluate(const Points& points);

  std::shared_ptr<const ComponentTables> tables_;
  std::vector<int> strides_, offsets_;
  PointEvaluator evaluator_;
  std::vector<int> starts_;
  std::vector<double> values_;
};

}  // namespace TESSERA_NAMESPACE::gam
