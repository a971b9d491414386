// SPDX-License-Identifier: Apache-2.0
#include "gam/many/shared_design.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/data/table_source.hpp"
#include "gam/design/build_design.hpp"
#include "gam/design/model_terms.hpp"
#include "gam/design/side_conditions.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"
#include "gam/many/active_columns.hpp"
#include "gam/many/gaussian_spectrum.hpp"
#include "gam/many/local_coordinates.hpp"
#include "gam/model/smooth_axes.hpp"
#include "gam/rows/row_reader.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;
using base::lane_count;

namespace {

/// With more groups, padding costs more than grouping saves: all rows form one group.
constexpr std::size_t most_groups = 64;

class SharedDesignMaker {
 public:
  SharedDesignMaker(const Workers& workers, TableReader& table, const TableOptions& options,
                    const SharedDesignRequest& request)
      : workers_(workers), table_(table), options_(options), request_(request) {}

  SharedDesign run() {
    read();
    out_.design = with_conditions(constrained());
    find_extents();
    out_.columns = out_.design.coef_size;
    choose_coordinates();
    evaluate();
    scale_columns();
    drop_dependent();
    group_rows();
    localise_parametric();
    order_by_component();
    add_penalties();
    find_constant();
    for (std::size_t g = 0; g < rows_of_group_.size(); ++g) add_group(g);
    out_.exp_offset.resize(out_.slots());
    exp_rows(out_.offset.data(), out_.packets, out_.exp_offset.data());
    find_own_curves();
    add_gram();
    const auto has_weight = [](double weight) { return weight > 0; };
    if (request_.with_spectrum && std::ranges::count_if(out_.weight, has_weight) == out_.rows)
      out_.spectrum = GaussianSpectrum::of(out_, out_.weight);
    return std::move(out_);
  }

 private:
  void read() {
    FormulaTerms formula = request_.formula;
    FrameRequest frame;
    frame.options = options_;
    frame.variables = formula.variables();
    std::erase_if(frame.variables, [&](const Expression& one) { return one.text == formula.response.text; });
    frame.numeric = formula.numeric_variables();
    std::optional<Expression> weights;
    if (!request_.weights.empty()) {
      weights = option_expression(request_.weights);
      frame.variables.push_back(*weights);
      frame.numeric.push_back(weights->text);
    }
    add_columns(frame);
    frame_ = read_variables(table_, workers_, frame, {0, table_.rows()});
    if (frame_.complete_rows == 0)
      throw base::input_error(
          "{}: every row has a missing value in a variable of the formula{}: leave out variables with "
          "missing values",
          table_.name(), missing_by_column(frame_));
    formula_ = model_terms(workers_, formula, frame_);
    if (weights) weight_ = &frame_.at(weights->text).numbers;
    for (const Expression& offset : formula_.offsets) offsets_.push_back(&frame_.at(offset.text).numbers);
    for (std::size_t i = 0; i < frame_.complete.size(); ++i) {
      if (frame_.complete[i] != 0) rows_.push_back(i);
    }
    for (const std::size_t row : rows_) {
      if (weight_ != nullptr && !((*weight_)[row] >= 0 && std::isfinite((*weight_)[row])))
        throw base::input_error("{}: the weight {} is not a number of at least 0: correct the weight",
                                table_.place(static_cast<std::int64_t>(row)), (*weight_)[row]);
    }
    out_.table_rows = table_.rows();
    out_.rows = static_cast<int>(rows_.size());
    out_.slot_of_row.assign(at(out_.table_rows), -1);
    out_.recipe = frame_.recipe;
    for (const ColumnReading& column : frame_.columns) {
      if (!column.unit.empty()) out_.units.emplace_back(column.name, column.unit);
    }
    std::vector<std::size_t> all(frame_.variables.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    out_.summaries = summaries_of(workers_, frame_, all, 0);
  }

  /// Adds the columns that variables read, such as x for log(x); slices need their typical values.
  static void add_columns(FrameRequest& frame) {
    for (const Expression& variable : frame.variables) {
      for (const std::string& name : variable.columns()) {
        const Expression column = column_expression(name);
        const auto has = [&](const std::vector<Expression>& all) {
          return std::ranges::find(all, column.text, &Expression::text) != all.end();
        };
        if (!has(frame.variables) && !has(frame.columns)) frame.columns.push_back(column);
      }
    }
  }

  Design constrained() {
    const DesignDraft draft =
        draft_design(workers_, formula_, frame_, request_.knots, {}, std::numeric_limits<int>::max(),
                     weight_ == nullptr ? -1 : frame_.index_of(option_expression(request_.weights).text),
                     SetupSample::all_rows);
    std::vector<double> raw(at(draft.design.raw_size));
    std::vector<double> sums(raw.size());
    RowReader reader(frame_, draft.design);
    for (const std::size_t row : rows_) {
      reader.raw_row(row, raw);
      add_multiple(sums, 1, raw);
    }
    return finish_design(draft, sums, out_.rows);
  }

  [[nodiscard]] Design with_conditions(Design design) const {
    const auto nested = nested_smooths(design);
    if (nested.empty()) return design;
    ColumnSums columns;
    columns.rows = out_.rows;
    columns.sketch = formula_rows(design);
    columns.gram = multiply_tn(columns.sketch, columns.sketch);
    columns.sketched_ones.assign(rows_.size(), 1);
    columns.sums = multiply_t(columns.sketch, columns.sketched_ones);
    if (design.coef_size > out_.rows) columns = with_penalties(std::move(columns), design);
    const auto dropped = dependent_columns(design, nested, columns, has_constant(design));
    return without_columns(std::move(design), dropped);
  }

  void find_extents() {
    for (const CoefBlock& block : out_.design.blocks) {
      const auto axes =
          block.is_smooth() ? axes_of(margins_of(out_.design, block)) : std::vector<SmoothAxis>();
      if (axes.size() != 1 || !axes[0].is_smooth()) continue;
      const ColumnNumbers& numbers = frame_.at(block.variables[0]).numbers;
      const Variable* const by = block.variables.size() > 1 ? &frame_.at(block.variables[1]) : nullptr;
      const auto applies = [&](std::size_t row) {
        return by == nullptr ||
               (by->factor ? by->levels[at(by->codes[row])] == block.by_level : by->numbers[row] != 0);
      };
      CurveExtent extent{block.label, infinite, -infinite};
      for (const std::size_t row : rows_) {
        if (!applies(row)) continue;
        extent.least = std::min(extent.least, numbers[row]);
        extent.greatest = std::max(extent.greatest, numbers[row]);
      }
      if (extent.least <= extent.greatest) out_.curves.push_back(std::move(extent));
    }
  }

  /// The model matrix of the formula's coefficients, complete rows only.
  [[nodiscard]] Matrix formula_rows(const Design& design) const {
    Matrix x(out_.rows, design.coef_size);
    std::vector<double> row(at(design.coef_size));
    RowReader reader(frame_, design);
    for (int i = 0; i < out_.rows; ++i) {
      reader.coefficient_row(rows_[at(i)], row);
      for (int j = 0; j < design.coef_size; ++j) x(i, j) = row[at(j)];
    }
    return x;
  }

  /// Sets `to_formula`, except the scales of columns without a single penalty.
  void choose_coordinates() {
    bases_ = penalty_bases(out_.design);
    out_.to_formula = identity(out_.columns);
    out_.null_space = out_.columns;
    for (const BlockBasis& basis : bases_) {
      out_.null_space -= basis.rank;
      Matrix own = basis.rotation.empty() ? identity(basis.size) : basis.rotation;
      std::vector<std::vector<double>>& diagonals = diagonals_.emplace_back(basis.diagonals);
      if (basis.dense.size() == 2 && basis.of_level.empty()) diagonals = diagonalise(basis, own);
      if (basis.penalties() == 1) {
        diagonals = {std::vector<double>(at(basis.rank), 1.0)};
        const std::vector<double> roots = unit_scale(basis, own);
        for (int j = 0; j < basis.rank; ++j) {
          for (double& value : own.column(j)) value *= roots[at(j)];
        }
      }
      assign(out_.to_formula, basis.begin, basis.begin, own);
    }
  }

  /// Scales that make a single penalty the identity. Rotates the coordinates if it is not diagonal.
  static std::vector<double> unit_scale(const BlockBasis& basis, Matrix& coordinates) {
    std::vector<double> values;
    if (!basis.diagonals.empty()) {
      values = basis.diagonals.front();
    } else {
      const Matrix penalised = submatrix(coordinates, 0, basis.size, 0, basis.rank);
      const Matrix s = multiply_tn(penalised, multiply(basis.penalty->matrix(0), penalised));
      SymmetricEigen eigen = symmetric_eigen(s);
      assign(coordinates, 0, 0, multiply(penalised, eigen.vectors));
      values = std::move(eigen.values);
    }
    for (double& value : values) value = 1 / std::sqrt(value);
    return values;
  }

  /// Simultaneously diagonalises two penalties; returns their diagonals. Each is exactly zero on its null
  /// space, so that rounding does not lose the smaller lambda.
  static std::vector<std::vector<double>> diagonalise(const BlockBasis& basis, Matrix& coordinates) {
    const double first_scale = 1 / largest(basis.dense[0].values());
    const double second_scale = 1 / largest(basis.dense[1].values());
    Matrix sum(basis.rank, basis.rank);
    add_multiple(sum.values(), first_scale, basis.dense[0].values());
    add_multiple(sum.values(), second_scale, basis.dense[1].values());
    const auto lower = cholesky(sum);
    if (!lower) return {};
    const Matrix half = triangular_solve(*lower, basis.dense[0], false);
    const SymmetricEigen eigen = symmetric_eigen(triangular_solve(*lower, transpose(half), false));
    const Matrix penalised = submatrix(coordinates, 0, basis.size, 0, basis.rank);
    assign(coordinates, 0, 0, multiply(penalised, triangular_solve(*lower, eigen.vectors, true)));
    std::vector<std::vector<double>> diagonals(2, std::vector<double>(at(basis.rank)));
    for (int j = 0; j < basis.rank; ++j) {
      if (j >= basis.rank - basis.penalty->rank_of(std::size_t{0}))
        diagonals[0][at(j)] = std::max(eigen.values[at(j)], 0.0);
      if (j < basis.penalty->rank_of(std::size_t{1}))
        diagonals[1][at(j)] = std::max(1 - first_scale * eigen.values[at(j)], 0.0) / second_scale;
    }
    return diagonals;
  }

  void evaluate() {
    const Matrix formula = formula_rows(out_.design);
    for (int j = 0; j < formula.cols(); ++j) {
      const auto column = formula.column(j);
      out_.column_means.push_back(std::accumulate(column.begin(), column.end(), 0.0) / out_.rows);
    }
    x_ = Matrix(out_.rows, out_.columns);
    for (const CoefBlock& block : out_.design.blocks) {
      const Matrix own = submatrix(formula, 0, out_.rows, block.coef_begin, block.coef_size);
      const Matrix map =
          submatrix(out_.to_formula, block.coef_begin, block.coef_size, block.coef_begin, block.coef_size);
      assign(x_, 0, block.coef_begin, multiply(own, map));
    }
  }

  /// Scales columns to a mean square of 1, unless a single penalty determines the scale.
  void scale_columns() {
    std::vector<bool> scaled(at(out_.columns));
    for (const BlockBasis& basis : bases_) {
      if (basis.penalties() == 1) std::fill_n(scaled.begin() + basis.begin, basis.rank, true);
    }
    std::vector<double> factors(at(out_.columns), 1.0);
    for (int j = 0; j < out_.columns; ++j) {
      const double square = dot(x_.column(j), x_.column(j));
      if (scaled[at(j)] || square == 0) continue;
      const double factor = factors[at(j)] = std::sqrt(static_cast<double>(out_.rows) / square);
      for (double& value : x_.column(j)) value *= factor;
      for (double& value : out_.to_formula.column(j)) value *= factor;
    }
    for (std::size_t i = 0; i < bases_.size(); ++i) {
      for (std::vector<double>& diagonal : diagonals_[i]) {
        for (std::size_t j = 0; j < diagonal.size(); ++j)
          diagonal[j] *= factors[at(bases_[i].begin) + j] * factors[at(bases_[i].begin) + j];
      }
    }
  }

  /// Drops unpenalised coordinates that depend linearly on earlier ones. Parametric coordinates come last, so
  /// that each smooth without a constraint keeps its constant function.
  void drop_dependent() {
    std::vector<int> order;
    std::vector<bool> smooth(at(out_.columns));
    std::vector<bool> penalised(at(out_.columns));
    for (const BlockBasis& basis : bases_) {
      std::fill_n(smooth.begin() + basis.begin, basis.size, true);
      std::fill_n(penalised.begin() + basis.begin, basis.rank, true);
    }
    for (const bool of_smooths : {true, false}) {
      for (int j = 0; j < out_.columns; ++j) {
        if (!penalised[at(j)] && smooth[at(j)] == of_smooths) order.push_back(j);
      }
    }
    // Gram-Schmidt with reorthogonalisation.
    constexpr double rounding = 1e-9;
    Matrix orthonormal(out_.rows, static_cast<int>(order.size()));
    std::vector<int> kept;  // `orthonormal` spans these columns
    std::vector<bool> dropped(at(out_.columns));
    for (const int j : order) {
      const auto residual = orthonormal.column(static_cast<int>(kept.size()));
      std::ranges::copy(x_.column(j), residual.begin());
      const double size = std::sqrt(dot(residual, residual));
      for (int pass = 0; pass < 2; ++pass) {
        for (int k = 0; k < static_cast<int>(kept.size()); ++k)
          add_multiple(residual, -dot(residual, orthonormal.column(k)), orthonormal.column(k));
      }
      const double left = std::sqrt(dot(residual, residual));
      dropped[at(j)] = !(left > rounding * size);
      if (dropped[at(j)]) {
        add_undetermined(j, kept, orthonormal);
        continue;
      }
      for (double& value : residual) value /= left;
      kept.push_back(j);
    }
    keep_columns(dropped);
  }

  /// Adds the null vector of X given by a dropped column: back substitution with R of the QR decomposition of
  /// `kept`, where Q is in `orthonormal`.
  void add_undetermined(int dropped, const std::vector<int>& kept, const Matrix& orthonormal) {
    std::vector<double> change(at(out_.columns));
    change[at(dropped)] = 1;
    for (int i = static_cast<int>(kept.size()) - 1; i >= 0; --i) {
      const auto direction = orthonormal.column(i);
      double rest = dot(direction, x_.column(dropped));
      for (std::size_t j = at(i) + 1; j < kept.size(); ++j)
        rest += change[at(kept[j])] * dot(direction, x_.column(kept[j]));
      change[at(kept[at(i)])] = -rest / dot(direction, x_.column(kept[at(i)]));
    }
    out_.undetermined.push_back(multiply(out_.to_formula, change));
  }

  void keep_columns(const std::vector<bool>& dropped) {
    std::vector<int> all(x_.rows());
    std::iota(all.begin(), all.end(), 0);
    std::vector<int> kept;
    for (int j = 0; j < out_.columns; ++j) {
      place_of_.push_back(dropped[at(j)] ? -1 : static_cast<int>(kept.size()));
      if (!dropped[at(j)]) kept.push_back(j);
    }
    x_ = submatrix(x_, all, kept);
    std::vector<int> columns(at(out_.columns));
    std::iota(columns.begin(), columns.end(), 0);
    auto inverse = solve(out_.to_formula, identity(out_.columns));
    if (!inverse) throw std::logic_error("many: the coordinates of the penalties are dependent");
    out_.from_formula = submatrix(*inverse, kept, columns);
    all.resize(at(out_.columns));
    out_.to_formula = submatrix(out_.to_formula, all, kept);
    out_.null_space -= out_.columns - static_cast<int>(kept.size());
    out_.columns = static_cast<int>(kept.size());
  }

  void add_penalties() {
    const std::vector<PenaltyParameter> parameters = out_.design.parameters();
    std::vector<bool> alone;  // by parameter: its penalties share no coefficient with others
    for (std::size_t i = 0; i < bases_.size(); ++i) {
      const BlockBasis& basis = bases_[i];
      const int begin = place_of_[at(basis.begin)];
      const Matrix map = submatrix(out_.to_formula, basis.begin, basis.size, begin, basis.rank);
      for (int j = 0; j < basis.penalties(); ++j) {
        const PenaltyParameter& parameter = parameters[at(basis.first_sp + j)];
        SharedPenalty penalty{.parameter = parameter.index, .offset = parameter.offset, .begin = begin};
        if (diagonals_[i].empty())
          penalty.dense = multiply_tn(map, multiply(basis.penalty->matrix(at(j)), map));
        else
          penalty.diagonal = diagonals_[i][at(j)];
        name_parameter(basis.penalty->labels[at(j)], parameter.index);
        alone.resize(out_.parameter_names.size(), true);
        if (parameter.index >= 0 && basis.penalties() > 1) alone[at(parameter.index)] = false;
        note_penalty(penalty);
        out_.penalties.push_back(std::move(penalty));
      }
    }
    for (DesignComponent& component : out_.components) {
      const auto is_within = [&](const BlockBasis& basis) {
        const int begin = place_of_[at(basis.begin)];
        return begin >= component.begin && begin < component.end;
      };
      if (std::ranges::any_of(
              bases_, [&](const BlockBasis& basis) { return basis.penalties() > 1 && is_within(basis); }))
        std::ranges::copy_if(bases_, std::back_inserter(component.bases), is_within);
    }
    out_.parameters = static_cast<int>(out_.parameter_names.size());
    out_.penalised.resize(at(out_.parameters));
    for (const SharedPenalty& penalty : out_.penalties) {
      for (int j = 0; penalty.parameter >= 0 && alone[at(penalty.parameter)] && j < penalty.size(); ++j)
        out_.penalised[at(penalty.parameter)].push_back(penalty.begin + j);
    }
  }

  /// Assigns the next penalty to its component.
  void note_penalty(const SharedPenalty& penalty) {
    const auto component = std::ranges::find_if(
        out_.components, [&](const DesignComponent& one) { return penalty.begin < one.end; });
    component->penalties.push_back(static_cast<int>(out_.penalties.size()));
    std::vector<int>& parameters = component->parameters;
    if (penalty.parameter < 0 || std::ranges::find(parameters, penalty.parameter) != parameters.end()) return;
    parameters.insert(std::ranges::upper_bound(parameters, penalty.parameter), penalty.parameter);
  }

  void name_parameter(const std::string& label, int index) {
    if (index == static_cast<int>(out_.parameter_names.size())) out_.parameter_names.push_back(label);
  }

  void find_constant() {
    Matrix gram = multiply_tn(x_, x_);
    for (const SharedPenalty& penalty : out_.penalties) {
      for (int j = 0; j < static_cast<int>(penalty.diagonal.size()); ++j)
        gram(penalty.begin + j, penalty.begin + j) += out_.rows * penalty.diagonal[at(j)];
      for (int j = 0; j < penalty.dense.cols(); ++j) {
        for (int i = 0; i < penalty.dense.rows(); ++i)
          gram(penalty.begin + i, penalty.begin + j) += penalty.dense(i, j);
      }
    }
    const auto factor = cholesky(gram);
    if (!factor)
      throw base::input_error(
          "the terms of the formula are linearly dependent in the rows of {}: leave one of them out",
          table_.name());
    const std::vector<double> ones(at(out_.rows), 1.0);
    out_.constant = cholesky_solve(*factor, multiply_t(x_, ones));
  }

  /// Which smooths, and with `by_level` which parametric columns, are nonzero in a row.
  [[nodiscard]] std::vector<bool> nonzeros_in(int row, bool by_level) const {
    std::vector<bool> in;
    for (const BlockBasis& basis : bases_) {
      bool any = false;
      for (int j = 0; j < basis.rank; ++j) any = any || x_(row, place_of_[at(basis.begin)] + j) != 0;
      in.push_back(any);
    }
    if (by_level) {
      for (const int column : parametric_) in.push_back(x_(row, column) != 0);
    }
    return in;
  }

  [[nodiscard]] std::map<std::vector<bool>, std::vector<int>> rows_by_nonzeros(bool by_level) const {
    std::map<std::vector<bool>, std::vector<int>> groups;
    for (int i = 0; i < out_.rows; ++i) groups[nonzeros_in(i, by_level)].push_back(i);
    return groups;
  }

  /// Groups rows by their nonzero smooths. If these are the same in all rows, groups by levels of factors, so
  /// that a level without counts can be left out; not for gaussian responses, which do not need it.
  void group_rows() {
    for (std::size_t j = 0; j < place_of_.size(); ++j) {
      const bool smooth = std::ranges::any_of(bases_, [&](const BlockBasis& basis) {
        return static_cast<int>(j) >= basis.begin && static_cast<int>(j) < basis.begin + basis.size;
      });
      if (!smooth && place_of_[j] >= 0) parametric_.push_back(place_of_[j]);
    }
    auto groups = rows_by_nonzeros(false);
    if (groups.size() == 1 && !request_.with_spectrum) groups = rows_by_nonzeros(true);
    if (groups.size() > most_groups) {
      groups.clear();
      std::vector<int>& all = groups[{}];
      all.resize(at(out_.rows));
      std::iota(all.begin(), all.end(), 0);
    }
    for (auto& one : groups) rows_of_group_.push_back(std::move(one.second));
  }

  void localise_parametric() {
    if (parametric_.empty() || rows_of_group_.size() == 1) return;
    Matrix x(static_cast<int>(parametric_.size()), out_.rows);
    for (int j = 0; j < x.rows(); ++j) {
      for (int i = 0; i < out_.rows; ++i) x(j, i) = x_(i, parametric_[at(j)]);
    }
    LocalCoordinates local = local_coordinates(x, rows_of_group_);
    for (int j = 0; j < x.rows(); ++j) {
      const auto column = x_.column(parametric_[at(j)]);
      std::ranges::fill(column, 0.0);
      for (std::size_t g = 0; g < rows_of_group_.size(); ++g) {
        if (local.group[at(j)] >= 0 && local.group[at(j)] != static_cast<int>(g)) continue;
        for (const int row : rows_of_group_[g]) column[at(row)] = dot(x.column(row), local.map.column(j));
      }
      const double factor = std::sqrt(static_cast<double>(out_.rows) / dot(column, column));
      for (double& value : column) value *= factor;
      for (double& value : local.map.column(j)) value *= factor;
    }
    const auto inverse = solve(local.map, identity(x.rows()));
    if (!inverse) throw std::logic_error("many: the parametric coordinates are dependent");
    std::vector<int> formula(at(out_.to_formula.rows()));
    std::iota(formula.begin(), formula.end(), 0);
    const Matrix to = multiply(submatrix(out_.to_formula, formula, parametric_), local.map);
    const Matrix from = multiply(*inverse, submatrix(out_.from_formula, parametric_, formula));
    for (int j = 0; j < x.rows(); ++j) {
      std::ranges::copy(to.column(j), out_.to_formula.column(parametric_[at(j)]).begin());
      for (int i = 0; i < from.cols(); ++i) out_.from_formula(parametric_[at(j)], i) = from(j, i);
    }
  }

  [[nodiscard]] std::vector<int> columns_in(const std::vector<int>& rows) const {
    std::vector<int> columns;
    for (int j = 0; j < out_.columns; ++j) {
      if (std::ranges::any_of(rows, [&](int row) { return x_(row, j) != 0; })) columns.push_back(j);
    }
    return columns;
  }

  /// Finds the connected components, and sorts columns and groups by component.
  void order_by_component() {
    // By column, then by group: the smallest connected index.
    std::vector<int> first(at(out_.columns) + rows_of_group_.size());
    std::iota(first.begin(), first.end(), 0);
    const auto join = [&](int a, int b) {
      const auto [low, high] = std::minmax({first[at(a)], first[at(b)]});
      std::ranges::replace(first, int{high}, int{low});
    };
    for (std::size_t g = 0; g < rows_of_group_.size(); ++g) {
      for (const int column : columns_in(rows_of_group_[g])) join(column, out_.columns + static_cast<int>(g));
    }
    for (const BlockBasis& basis : bases_) {
      for (int j = 1; j < basis.rank; ++j) join(place_of_[at(basis.begin)], place_of_[at(basis.begin)] + j);
    }
    std::vector<int> columns;
    std::vector<std::vector<int>> groups;
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (first[i] != static_cast<int>(i)) continue;
      DesignComponent component{.begin = static_cast<int>(columns.size()),
                                .first_group = static_cast<int>(groups.size())};
      for (std::size_t j = i; j < first.size(); ++j) {
        if (first[j] != first[i]) continue;
        if (static_cast<int>(j) < out_.columns)
          columns.push_back(static_cast<int>(j));
        else
          groups.push_back(std::move(rows_of_group_[j - at(out_.columns)]));
      }
      component.end = static_cast<int>(columns.size());
      component.last_group = static_cast<int>(groups.size());
      out_.components.push_back(std::move(component));
    }
    rows_of_group_ = std::move(groups);
    permute_columns(columns);
  }

  void permute_columns(const std::vector<int>& order) {
    std::vector<int> rows(at(out_.rows));
    std::iota(rows.begin(), rows.end(), 0);
    std::vector<int> formula(at(out_.to_formula.rows()));
    std::iota(formula.begin(), formula.end(), 0);
    x_ = submatrix(x_, rows, order);
    out_.to_formula = submatrix(out_.to_formula, formula, order);
    out_.from_formula = submatrix(out_.from_formula, order, formula);
    std::vector<int> place(order.size());
    for (std::size_t j = 0; j < order.size(); ++j) place[at(order[j])] = static_cast<int>(j);
    for (int& one : place_of_) {
      if (one >= 0) one = place[at(one)];
    }
  }

  void add_group(std::size_t index) {
    const std::vector<int>& rows = rows_of_group_[index];
    RowGroup group;
    group.columns = columns_in(rows);
    const int packets = (static_cast<int>(rows.size()) + lane_count - 1) / lane_count;
    group.begin = out_.packets;
    group.end = out_.packets += packets;
    group.x.assign(at(packets) * group.columns.size() * lane_count, 0);
    out_.offset.resize(out_.slots());
    out_.weight.resize(out_.slots());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t row = rows_[at(rows[i])];
      const std::size_t slot = at(group.begin) * lane_count + i;
      out_.slot_of_row[row] = static_cast<int>(slot);
      out_.weight[slot] = weight_ == nullptr ? 1 : (*weight_)[row];
      for (const ColumnNumbers* offset : offsets_) out_.offset[slot] += (*offset)[row];
      const std::size_t packet = i / lane_count;
      for (std::size_t c = 0; c < group.columns.size(); ++c)
        group.x[(packet * group.columns.size() + c) * lane_count + i % lane_count] =
            x_(rows[i], group.columns[c]);
    }
    out_.groups.push_back(std::move(group));
  }

  void find_own_curves() {
    std::vector<int> groups_with(at(out_.columns));
    std::vector<bool> penalised(at(out_.columns));
    for (const BlockBasis& basis : bases_)
      std::fill_n(penalised.begin() + place_of_[at(basis.begin)], basis.rank, true);
    for (const RowGroup& group : out_.groups) {
      for (const int column : group.columns) ++groups_with[at(column)];
    }
    for (std::size_t g = 0; g < out_.groups.size(); ++g) {
      std::vector<int> own;
      std::vector<int> unpenalised;
      for (const int column : out_.groups[g].columns) {
        if (groups_with[at(column)] > 1) continue;
        own.push_back(column);
        if (!penalised[at(column)]) unpenalised.push_back(column);
      }
      const std::vector<int>& rows = rows_of_group_[g];
      if (out_.groups.size() == 1 || unpenalised.empty() || rows.size() <= unpenalised.size()) continue;
      Matrix columns(static_cast<int>(rows.size()), static_cast<int>(unpenalised.size()));
      Matrix ones(columns.rows(), 1);
      for (int i = 0; i < columns.rows(); ++i) {
        ones(i, 0) = 1;
        for (int j = 0; j < columns.cols(); ++j) columns(i, j) = x_(rows[at(i)], unpenalised[at(j)]);
      }
      constexpr double rounding = 1e-16;
      const Matrix residual = unexplained(columns, ones);
      if (!(dot(residual.values(), residual.values()) < rounding * columns.rows())) continue;
      RowGroup& group = out_.groups[g];
      group.own_curve = std::move(own);
      const auto factor = cholesky(multiply_tn(columns, columns));
      if (!factor) throw std::logic_error("many: the functions of a group are dependent");
      const std::vector<double> weights = cholesky_solve(*factor, multiply_t(columns, ones.column(0)));
      group.own_constant.assign(at(out_.design.coef_size), 0);
      for (std::size_t j = 0; j < weights.size(); ++j)
        add_multiple(group.own_constant, weights[j], out_.to_formula.column(unpenalised[j]));
      for (const int column : unpenalised)
        group.own_line.push_back(
            static_cast<int>(std::ranges::find(group.columns, column) - group.columns.begin()));
    }
  }

  void add_gram() {
    out_.gram = gram_of(out_, out_.weight);
    constexpr double ridge = 1e-7;
    std::vector<double> ridged = out_.gram;
    for (int j = 0; j < out_.columns; ++j) ridged[place_in_packed(out_.columns, j, j)] *= 1 + ridge;
    if (!out_.near_least_squares.factor(ridged, out_.columns))
      throw base::input_error(
          "{}: the weights are 0 in all rows of a level, or of a part of a smooth: leave out the term, or "
          "give other weights",
          table_.name());
  }

  const Workers& workers_;
  TableReader& table_;
  const TableOptions& options_;
  const SharedDesignRequest& request_;
  FormulaTerms formula_;
  Frame frame_;
  const ColumnNumbers* weight_ = nullptr;
  std::vector<const ColumnNumbers*> offsets_;
  std::vector<std::size_t> rows_;  ///< complete rows of the table
  std::vector<BlockBasis> bases_;
  /// By basis and penalty: diagonal of the penalty in the chosen coordinates; empty if not diagonal.
  std::vector<std::vector<std::vector<double>>> diagonals_;
  Matrix x_;                     ///< complete rows x coordinates
  std::vector<int> place_of_;    ///< column by coordinate of the formula's blocks; -1: dropped
  std::vector<int> parametric_;  ///< parametric columns, before columns are sorted by component
  std::vector<std::vector<int>> rows_of_group_;
  SharedDesign out_;
};

}  // namespace

SharedDesign make_shared_design(const Workers& workers, TableReader& table, const TableOptions& options,
                                const SharedDesignRequest& request) {
  return SharedDesignMaker(workers, table, options, request).run();
}

}  // namespace TESSERA_NAMESPACE::gam
