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

/// The values of terms on the host, for several points at once: rows of a table, or other points.
namespace TESSERA_NAMESPACE::gam {

/// Points as columns of variables, indexed like the variables of the components.
struct Points {
  const NumberView* numbers;         ///< one column per variable; not read for factors
  const std::int32_t* const* codes;  ///< level codes of factors
  const std::size_t* index;          ///< each point's index in the columns
  int count;
};

/// True for a function of one numeric variable with a margin.
[[nodiscard]] inline bool is_curve(const ComponentTable& component) {
  return component.kind == ComponentKind::spline ||
         (component.kind == ComponentKind::dense && component.parts == 0);
}

/// Numbers per slot of a curve, which is the sum of a component's columns times coefficients: in each slot
/// one cubic in t = (x - begin) / width.
inline constexpr int numbers_of_cell = 4;
[[nodiscard]] std::vector<double> curve_cells(const ComponentTable& component, const double* numbers,
                                              const double* coef);

/// Adds a curve's columns, summed over points, to `out`. They are computed from sums of powers of t by slot.
void add_columns_of_moments(const ComponentTable& component, const double* numbers, const double* sums,
                            double* out);

/// Evaluates products of components. Not thread-safe: each thread needs its own.
class PointEvaluator {
 public:
  /// Allocates buffers for `points` points at once; `tables` must outlive this object.
  PointEvaluator(const ComponentTables& tables, int points);

  /// Values of the product of components [begin, end), `nonzeros` per point; the last component varies
  /// fastest. Calls `place(i, first)` for each component i in order; `first`: its first nonzero raw column
  /// per point.
  template <class Place>
  void evaluate(int begin, int end, const Points& points, double* values, const Place& place) {
    int nonzeros = 1;
    if (begin == end) start(points.count, values);
    for (int c = begin; c < end; ++c) {
      nonzeros = multiply_in(c, c == begin, nonzeros, points, values);
      place(c - begin, first_.data());
    }
  }

  /// Whether there are columns that are evaluated faster at many points at once.
  [[nodiscard]] bool has_far_fields() const;
  /// The requested result for a component with a far field; by default, its columns.
  struct FarWanted {
    bool columns = true;
    const FarField::Functions* combined = nullptr;  ///< one combination of the columns, if not null
    FarField::Functions* sums = nullptr;            ///< sums of the functions over all rows, if not null
  };
  /// Evaluates the components with a far field in the rows `index` (ascending), for later calls of `evaluate`
  /// and `add_combination` with any run of these rows. `numbers`: see `Points`; `wanted`: one for each
  /// component, or empty.
  void prepare(const NumberView* numbers, std::vector<std::size_t> index, std::span<const FarWanted> wanted);
  void forget() { prepared_.clear(); }
  /// At each point, adds the combination of the columns of a component with a far field to `out`.
  void add_combination(int component, const FarField::Functions& combined, const Points& points, double* out);

  /// At each point, adds the curve of a component, given by its cells, to `out`. `evaluated`: whether this
  /// component was the last one evaluated, at the same points.
  void add_curve(int component, const double* cells, const Points& points, bool evaluated, double* out);
  /// Adds the powers of t from 0 to 3 at each point to its slot's four sums, which are contiguous.
  void add_moments(int component, const Points& points, double* sums);

 private:
  static void start(int points, double* values);
  /// Multiplies the values by a component; returns the new number of values per point.
  int multiply_in(int component, bool is_first, int nonzeros, const Points& points, double* values);
  void evaluate_component(const ComponentTable& component, const Points& points, double* values);
  /// Gathers the values of the component's variable, and locates them in the margin.
  void locate_all(const ComponentTable& component, const Points& points);
  void evaluate_isotropic(const ComponentTable& component, const Points& points, double* values);
  /// The variables of isotropic columns at a point, minus their shifts.
  void shifted(const ComponentTable& component, const NumberView* numbers, std::size_t row, double* u) const;
  /// Evaluates points grouped by leaf. `values`, `combination`: null if not wanted.
  void evaluate_by_leaves(std::size_t component, const NumberView* numbers,
                          std::span<const std::size_t> index, const FarWanted& wanted, double* values,
                          double* combination);
  /// Position of the first point among the prepared ones; -1 unless all points are prepared.
  [[nodiscard]] std::ptrdiff_t prepared_at(const Points& points) const;

  const ComponentTables& tables_;
  std::vector<int> first_;         ///< raw columns of one component
  std::vector<double> part_;       ///< values of one component
  std::vector<double> x_;          ///< a variable's values, and then t in the cells of a margin
  std::vector<int> slots_;         ///< slots of these values in the margin
  std::vector<double> functions_;  ///< functions of isotropic columns, at a tile of points
  // The arguments of `prepare`, and its results: the columns of each component with a far field.
  const NumberView* prepared_numbers_ = nullptr;
  std::vector<std::size_t> prepared_;
  std::vector<std::vector<double>> prepared_values_, prepared_combinations_;
};

/// Evaluates one term. Not thread-safe: give each thread a copy; copies share the tables, which may be large.
class TermEvaluator {
 public:
  explicit TermEvaluator(std::span<const Component> components, int points = 1);

  [[nodiscard]] int nonzeros() const noexcept { return static_cast<int>(offsets_.size()); }
  /// Calls `use(point, column, value)` for each nonzero, point by point, in increasing order of the term's
  /// columns. The number of points is limited by the buffers. A point with a factor level that the model
  /// lacks has zeros at the first level.
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
