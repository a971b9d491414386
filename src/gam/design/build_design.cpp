// SPDX-License-Identifier: Apache-2.0
#include "gam/design/build_design.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/math/elementary.hpp"
#include "gam/basis/bases.hpp"
#include "gam/basis/isotropic.hpp"
#include "gam/data/frame/extents.hpp"
#include "gam/design/natural_basis.hpp"
#include "gam/design/parametric.hpp"
#include "gam/design/parametric_penalties.hpp"
#include "gam/design/standardised_columns.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/terms/shape.hpp"

#include <tessera/job/reproducible_sum.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

double scale_of(const Component& component) {
  return component.parts.empty() ? 1.0 : component.parts.front().factor;
}

/// The Kronecker product of two rows; the index of the second one varies fastest.
std::vector<double> products_of(std::span<const double> first, std::span<const double> second) {
  std::vector<double> products;
  for (const double one : first) {
    for (const double other : second) products.push_back(one * other);
  }
  return products;
}

void raw_values(const Component& component, std::span<const double> x, std::span<double> out) {
  if (component.kind == Component::Kind::dense) return evaluate_dense(component, x, out);
  const LocalValues local = evaluate(component.margin, x[0]);
  std::ranges::fill(out, 0.0);
  std::ranges::copy(local.values, out.begin() + local.first);
}

void raw_row(const Component& component, const Frame& frame, std::size_t row, std::span<double> out) {
  if (component.kind == Component::Kind::factor) {
    std::ranges::fill(out, 0.0);
    out[at(frame.variables[at(component.variable)].codes[row])] = 1;
    return;
  }
  std::vector<double> x;
  Component::for_each_variable(
      component, [&](int variable) { x.push_back(frame.variables[at(variable)].numbers[row]); });
  raw_values(component, x, out);
}

/// *Collective.* Means of the columns of a margin over the complete rows of the job.
std::vector<double> margin_means(const Workers& workers, const Frame& frame, const Basis& margin) {
  const std::size_t width = at(margin.component.raw_size());
  std::vector<ReproducibleSum> sums(at(workers.team.size()), ReproducibleSum(width));
  for_each_run(workers, frame, [&](int thread, std::size_t begin, std::size_t end) {
    Component::for_each_variable(
        margin.component, [&](int variable) { frame.variables[at(variable)].prepare_to_read(begin, end); });
    std::vector<double> raw(width);
    for (std::size_t row = begin; row < end; ++row) {
      if (frame.complete[row] == 0) continue;
      raw_row(margin.component, frame, row, raw);
      sums[at(thread)].add(raw);
    }
  });
  for (std::size_t i = 1; i < sums.size(); ++i) sums.front().merge(sums[i]);
  sums.front().allreduce(workers.comm);
  std::vector<double> means = sums.front().values();
  for (double& value : means) value /= static_cast<double>(frame.complete_rows);
  return multiply_t(margin.map, means);
}

/// *Collective.* X'X / n over the complete rows of the job, with X = R map and the raw columns R of `curve`.
Matrix mean_products(const Workers& workers, const Frame& frame, const Component& curve, const Matrix& map) {
  const std::size_t width = at(map.cols());
  std::vector<ReproducibleSum> sums(at(workers.team.size()), ReproducibleSum(width * (width + 1) / 2));
  const Variable& variable = frame.variables[at(curve.variable)];
  for_each_run(workers, frame, [&](int thread, std::size_t begin, std::size_t end) {
    variable.prepare_to_read(begin, end);
    std::vector<double> products(width * (width + 1) / 2);
    std::vector<double> x(width);
    for (std::size_t row = begin; row < end; ++row) {
      if (frame.complete[row] == 0) continue;
      if (curve.kind == Component::Kind::numeric) {
        x[0] = variable.numbers[row] * map(0, 0);
      } else {
        const LocalValues local = evaluate(curve.margin, variable.numbers[row]);
        for (std::size_t j = 0; j < width; ++j)
          x[j] = dot(local.values, map.column(static_cast<int>(j)).subspan(at(local.first), 4));
      }
      auto product = products.begin();
      for (std::size_t j = 0; j < width; ++j) {
        for (std::size_t i = 0; i <= j; ++i) *product++ = x[i] * x[j];
      }
      sums[at(thread)].add(products);
    }
  });
  for (std::size_t i = 1; i < sums.size(); ++i) sums.front().merge(sums[i]);
  sums.front().allreduce(workers.comm);
  const std::vector<double> all = sums.front().values();
  auto next = all.begin();
  Matrix out(map.cols(), map.cols());
  for (int j = 0; j < out.cols(); ++j) {
    for (int i = 0; i <= j; ++i) out(i, j) = out(j, i) = *next++ / static_cast<double>(frame.complete_rows);
  }
  return out;
}

/// One row of a margin's columns, in mgcv's parametrisation.
std::vector<double> margin_row(const Basis& basis, const Frame& frame, std::size_t row) {
  std::vector<double> raw(at(basis.component.raw_size()));
  raw_row(basis.component, frame, row, raw);
  return multiply_t(basis.points ? basis.points->map : basis.map, raw);
}

double row_sum(const Basis& basis, const Frame& frame, std::size_t row) {
  if (basis.unit_rows) return 1;
  const auto sum_of_all = [&] {
    double sum = 0;
    for (const double value : margin_row(basis, frame, row)) sum += std::abs(value);
    return sum;
  };
  if (basis.dense_levels) return sum_of_all();
  // The map of a random effect is a multiple of the identity; empty: the identity itself.
  const double factor = basis.map.empty() ? 1 : basis.map(0, 0);
  if (basis.component.kind == Component::Kind::factor) return factor;
  const double x = frame.variables[at(basis.component.variable)].numbers[row];
  if (basis.component.kind == Component::Kind::numeric)
    return factor * std::abs(x) * scale_of(basis.component);
  if (basis.component.kind == Component::Kind::dense) return sum_of_all();
  const LocalValues local = evaluate(basis.component.margin, x);
  const auto& v = local.values;
  const Matrix& map = basis.points ? basis.points->map : basis.map;
  double sum = 0;
  for (int j = 0; j < basis.size(); ++j) {
    const double* m = map.column(j).data() + local.first;
    sum += std::abs(v[0] * m[0] + v[1] * m[1] + v[2] * m[2] + v[3] * m[3]);
  }
  return sum;
}

/// The columns of a smooth at a point: one value for each variable, margin by margin.
std::vector<double> columns_at(std::span<const Basis> margins, std::span<const double> point) {
  std::vector<double> values{1};
  for (const Basis& margin : margins) {
    const std::size_t variables = 1 + margin.component.others.size();
    std::vector<double> raw(at(margin.component.raw_size()));
    raw_values(margin.component, point.first(variables), raw);
    point = point.subspan(variables);
    values = products_of(values, multiply_t(margin.map, raw));
  }
  return values;
}

/// *Collective.* The column with the least variance over the complete rows of the job; ties: the first.
int least_varying_column(const Workers& workers, const Frame& frame, std::span<const Basis> margins) {
  std::size_t size = 1;
  for (const Basis& margin : margins) size *= at(margin.size());
  std::vector<ReproducibleSum> sums(at(workers.team.size()), ReproducibleSum(2 * size));
  for_each_run(workers, frame, [&](int thread, std::size_t begin, std::size_t end) {
    for (const Basis& margin : margins) {
      Component::for_each_variable(
          margin.component, [&](int variable) { frame.variables[at(variable)].prepare_to_read(begin, end); });
    }
    for (std::size_t row = begin; row < end; ++row) {
      if (frame.complete[row] == 0) continue;
      std::vector<double> values{1};
      for (const Basis& margin : margins) values = products_of(values, margin_row(margin, frame, row));
      for (std::size_t j = 0; j < size; ++j) values.push_back(values[j] * values[j]);
      sums[at(thread)].add(values);
    }
  });
  for (std::size_t i = 1; i < sums.size(); ++i) sums.front().merge(sums[i]);
  sums.front().allreduce(workers.comm);
  const std::vector<double> all = sums.front().values();
  std::vector<double> variances;
  for (std::size_t j = 0; j < size; ++j)
    variances.push_back(all[size + j] - all[j] * (all[j] / static_cast<double>(frame.complete_rows)));
  return static_cast<int>(std::ranges::min_element(variances) - variances.begin());
}

std::vector<std::string> variables_of(const SmoothSpec& smooth) {
  std::vector<std::string> names;
  for (const MarginSpec& margin : smooth.margins)
    margin.for_each_variable([&](const Expression& variable) { names.push_back(variable.text); });
  return names;
}

/// The variables of several smooths' margins, stacked in one frame under the names of the first smooth.
Frame one_after_another(const Frame& frame, std::span<const SmoothSpec* const> smooths) {
  Frame out;
  out.memory = frame.memory;
  const std::size_t rows = frame.complete.size();
  const std::size_t all = rows * smooths.size();
  out.complete_rows = frame.complete_rows * std::ssize(smooths);
  out.complete = out.memory.column<std::uint8_t>(out.memory.place<std::uint8_t>(all));
  for (std::size_t s = 0; s < smooths.size(); ++s)
    std::ranges::copy(frame.complete, out.complete.writable() + s * rows);
  std::vector<std::vector<std::string>> names;
  for (const SmoothSpec* smooth : smooths) names.push_back(variables_of(*smooth));
  for (std::size_t v = 0; v < names.front().size(); ++v) {
    Variable& variable = out.variables.emplace_back();
    variable.name = names.front()[v];
    variable.numbers = out.memory.column<double>(out.memory.place<double>(all));
    for (std::size_t s = 0; s < smooths.size(); ++s) {
      const Variable& from = frame.at(names[s][v]);
      from.prepare_to_read(0, rows);
      double* to = variable.numbers.writable() + s * rows;
      from.numbers.for_each_piece(
          0, rows, [&](std::span<const double> numbers) { to = std::ranges::copy(numbers, to).out; });
    }
  }
  return out;
}

/// The sum of |X| over one row of a t2() smooth, whose columns are products, of the given orders, of natural
/// margins.
double row_sum(std::span<const Basis> margins, std::span<const int> orders, const Frame& frame,
               std::size_t row) {
  std::vector<double> of_order{1};
  for (const Basis& margin : margins) {
    const double all = row_sum(margin, frame, row);
    double free = 0;
    if (margin.rank < margin.size()) {
      const std::vector<double> values = margin_row(margin, frame, row);
      for (int j = margin.rank; j < margin.size(); ++j) free += std::abs(values[at(j)]);
    }
    of_order.push_back(0);
    for (std::size_t order = of_order.size(); order-- > 0;)
      of_order[order] = of_order[order] * free + (order > 0 ? of_order[order - 1] * (all - free) : 0);
  }
  double sum = 0;
  for (std::size_t order = 0; order < of_order.size(); ++order) {
    if (std::ranges::find(orders, static_cast<int>(order)) != orders.end()) sum += of_order[order];
  }
  return sum;
}

/// *Collective.* The maximum over the complete rows of the job of the sum of |X| over a row. X has the
/// products of the margins' columns, for t2() only those of the given orders.
double largest_row_sum(const Workers& workers, const Frame& frame, std::span<const Basis> margins,
                       std::span<const int> orders) {
  if (std::all_of(margins.begin(), margins.end(), [](const Basis& basis) { return basis.unit_rows; })) {
    return 1;
  }
  if (margins.size() == 1 && margins[0].row_sum) return *margins[0].row_sum;
  const Extent sums = extents_of(workers, frame, 1, [&](std::size_t row, std::span<Extent> one) {
                        if (!orders.empty()) return one[0].add(row_sum(margins, orders, frame, row));
                        double sum = 1;
                        for (const Basis& margin : margins) sum *= row_sum(margin, frame, row);
                        one[0].add(sum);
                      }).front();
  return std::max(0.0, sums.max);
}

class Drafter {
 public:
  Drafter(const Workers& workers, const FormulaTerms& formula, const Frame& frame,
          const SuppliedKnots& supplied, const Standards& standards, int largest_whole_effect,
          int prior_weight, SetupSample sample)
      : workers_(workers),
        formula_(formula),
        frame_(frame),
        supplied_(supplied),
        standards_(standards),
        largest_whole_effect_(largest_whole_effect),
        setup_rows_(workers, frame, formula, prior_weight, sample) {}

  DesignDraft run() {
    check_supplied_names();
    for (const Variable& variable : frame_.variables) {
      draft_.design.variables.push_back({variable.name, variable.factor, variable.levels, variable.ordered});
    }
    std::vector<ParametricColumns> terms = parametric_columns(formula_, frame_);
    std::vector<ColumnCombination> combinations;
    if (!standards_.empty()) combinations = standardise_columns(terms, standards_);
    for (ParametricColumns& columns : terms) add(std::move(columns));
    keep(combinations);
    for (const SmoothSpec& spec : formula_.smooths) add(spec);
    constrain_together();
    part_large_effects();
    if (setup_rows_.is_own_sample())
      draft_.note = fmt::format(
          "thin plate splines: the bases use a sample of {} rows, but not the sample of mgcv's bam, because "
          "R's sample() changes its algorithm above 1e7 rows",
          setup_rows_.count());
    return std::move(draft_);
  }

 private:
  void check_supplied_names() const {
    for (const auto& entry : supplied_) {
      const std::string& name = entry.first;
      const auto in_spline = [&](const MarginSpec& margin) {
        bool found = false;
        margin.for_each_variable([&](const Expression& variable) { found = found || variable.text == name; });
        return found && !is_random_effect(margin.basis) && !basis_of(margin.basis).of_districts;
      };
      const bool known =
          std::any_of(formula_.smooths.begin(), formula_.smooths.end(), [&](const SmoothSpec& smooth) {
            return std::any_of(smooth.margins.begin(), smooth.margins.end(), in_spline);
          });
      if (!known) {
        throw base::usage_error(
            "knots: no spline of the formula has the variable '{}': leave its knots out, or correct the name",
            name);
      }
    }
  }

  void add(ParametricColumns columns) {
    if (formula_.intercept && columns.components.size() == 1 &&
        columns.components[0].kind == Component::Kind::numeric) {
      const Extent range = extent_of(workers_, frame_, columns.components[0].variable);
      if (!(range.min < range.max)) {
        throw base::input_error("'{}' is constant ({:g}): leave it out of the formula", columns.label,
                                range.min);
      }
    }
    DraftBlock draft;
    draft.block.label = std::move(columns.label);
    draft.block.kind = "parametric";
    draft.block.names = std::move(columns.names);
    if (columns.penalty) {
      for (Component& component : columns.components) {
        if (component.kind != Component::Kind::numeric) continue;
        scale(component);
        draft.block.margin_scale *= scale_of(component);
      }
      draft.block.penalty = penalty_of(*columns.penalty, draft.block.label, columns.map.cols());
      draft.null_space = draft.block.penalty->null_space;
      draft.block.s_scale.assign(draft.block.penalty->count(), 1);
      draft.sp = columns.penalty->sp;
      scale_penalties(draft.block, draft.block.margin_scale);
    }
    draft.block.raw_begin = draft_.design.add_term(std::move(columns.components));
    draft.block.raw_size = columns.map.rows();
    draft.block.map = std::move(columns.map);
    draft.block.variables = std::move(columns.variables);
    draft_.blocks.push_back(std::move(draft));
  }

  void add(const SmoothSpec& spec) {
    const TermShape shape = shape_of(spec, frame_);
    const auto [margins, row_sum, least_varying] = margins_of(spec);
    DraftBlock draft = draft_of(
        spec, shape.ridge ? random_effect(margins.size(), static_cast<int>(shape.coefficients), row_sum)
              : spec.sum_to_zero   ? deviations(spec, shape, margins, row_sum)
              : spec.factor_smooth ? factor_smooth(margins[1], margins[0].size(), row_sum)
              : spec.by_spaces     ? combine_by_spaces(margins, spec.full, spec.orders, row_sum, spec.label)
                                   : combine(margins, spec.tensor, row_sum));
    draft.constrained = shape.constrained;
    draft.select = spec.select && !spec.fixed && !shape.random;
    draft.least_varying = least_varying;
    draft.sp = spec.sp;
    if (!spec.point.empty() && !draft.constrained)
      throw base::usage_error(
          "{}: pc: this smooth has no sum-to-zero constraint that pc can replace: leave pc out", spec.label);
    if (!spec.point.empty()) draft.point = columns_at(margins, spec.point);
    if (spec.fixed) remove_penalties(draft);

    std::vector<Component> components = shape.components;
    auto margin_component = components.end() - std::ssize(margins);
    for (const Basis& margin : margins) {
      *margin_component++ = margin.component;
      draft.block.margin_scale *= scale_of(margin.component);
      draft.block.margin_constraints.push_back(margin.constraint);
      draft.block.margin_natural.push_back(margin.natural);
    }
    const auto clear_if_all_are_empty = [](auto& of_margins) {
      if (std::ranges::all_of(of_margins, [](const auto& one) { return one.empty(); })) of_margins.clear();
    };
    clear_if_all_are_empty(draft.block.margin_constraints);
    clear_if_all_are_empty(draft.block.margin_natural);
    if (!spec.by) {
      draft.block.raw_begin = draft_.design.add_term(std::move(components));
      push(std::move(draft));
      return;
    }
    draft.block.variables.push_back(spec.by->text);
    if (shape.by_number)
      add_by_number(std::move(draft), std::move(components));
    else
      add_by_factor(std::move(draft), std::move(components));
  }

  /// The basis of bs="sz". As in mgcv, the curves are unconstrained if a numeric by variable varies.
  [[nodiscard]] SmoothBasis deviations(const SmoothSpec& spec, const TermShape& shape,
                                       const std::vector<Basis>& margins, double row_sum) const {
    std::vector<int> levels;
    for (std::size_t i = 0; i + 1 < margins.size(); ++i) levels.push_back(margins[i].size());
    bool varies = false;
    if (shape.by_number) {
      const Extent range = extent_of(workers_, frame_, shape.components.front().variable);
      varies = range.min < range.max;
    }
    return level_deviations(margins.back(), levels, !varies, !spec.id.empty(), row_sum);
  }

  static DraftBlock draft_of(const SmoothSpec& spec, SmoothBasis smooth) {
    DraftBlock draft;
    CoefBlock& block = draft.block;
    block.label = spec.label;
    block.kind = spec.interaction     ? "ti"
                 : spec.by_spaces     ? "t2"
                 : spec.tensor        ? "te"
                 : spec.sum_to_zero   ? "sz"
                 : spec.factor_smooth ? "fs"
                                      : spec.margins[0].basis;
    block.map = std::move(smooth.map);
    block.copies = std::max(1, smooth.copies);
    block.raw_size = smooth.ridge > 0 ? smooth.eigenvalues.rows() : block.copies * block.map.rows();
    block.penalty = Penalty{.matrices = std::move(smooth.penalties),
                            .eigenvalues = std::move(smooth.eigenvalues),
                            .log_det_constant = 2 * smooth.log_det_values,
                            .labels = {},
                            .set_ranks = std::move(smooth.set_ranks),
                            .levels = std::move(smooth.levels),
                            .of_level = std::move(smooth.of_level),
                            .rank_of_level = smooth.rank_of_level,
                            .null_space = {},
                            .eigenvectors = std::move(smooth.eigenvectors),
                            .ridge = smooth.ridge,
                            .diagonal = smooth.copies > 0};
    block.knots = std::move(smooth.knots);
    block.s_scale = std::move(smooth.s_scale);
    block.penalty_names = std::move(smooth.penalty_names);
    for (std::size_t j = 0; !spec.id.empty() && j < block.penalty->count(); ++j)
      block.ids.push_back(fmt::format("{} {}", spec.id, j));
    block.variables = variables_of(spec);
    draft.id = spec.id;
    draft.null_space = std::move(smooth.null_space);
    draft.values = std::move(smooth.values);
    draft.log_det_values = smooth.log_det_values;
    draft.constant = std::move(smooth.constant);
    return draft;
  }

  static void remove_penalties(DraftBlock& draft) {
    const int size = draft.block.map.cols();
    draft.block.penalty = Penalty{};
    draft.block.s_scale.clear();
    draft.block.ids.clear();
    draft.null_space = identity(size);
    draft.values = Matrix();
    draft.log_det_values = 0;
  }

  void add_by_number(DraftBlock draft, std::vector<Component> components) {
    const int index = components.front().variable;
    scale(components.front());
    draft.block.by_scale = scale_of(components.front());
    draft.block.raw_begin = draft_.design.add_term(std::move(components));
    // No constraint if the by variable varies: the smooth is then identifiable.
    const Extent range = extent_of(workers_, frame_, index);
    draft.constrained = draft.constrained && (range.min == range.max || !draft.point.empty());
    draft.by_value = range.min * draft.block.by_scale;
    push(std::move(draft));
  }

  /// Adds one smooth per level; as in mgcv, an ordered factor gets none for its first level.
  void add_by_factor(DraftBlock draft, std::vector<Component> components) {
    const Variable& by = frame_.variables[at(components.front().variable)];
    const int levels = components.front().levels;
    const int begin = draft_.design.add_term(std::move(components));
    const int size = draft.block.raw_size;
    for (int level = 0; level < levels; ++level) draft.sum_begins.push_back(begin + level * size);
    for (int level = by.ordered ? 1 : 0; level < levels; ++level) {
      DraftBlock one = draft;
      one.block.by_level = by.levels[at(level)];
      one.block.label += one.block.by_level;
      one.block.raw_begin = begin + level * size;
      push(std::move(one));
    }
  }

  struct Margins {
    std::vector<Basis> bases;
    double row_sum = 0;  ///< maximum over rows of the sum of |X|
    int least_varying = -1;
  };

  [[nodiscard]] Margins margins_of(const SmoothSpec& spec) {
    std::vector<const SmoothSpec*> linked;
    for (const SmoothSpec& other : formula_.smooths) {
      if (!spec.id.empty() && other.id == spec.id) linked.push_back(&other);
    }
    // Random effects and Markov random fields with the same id share only the smoothing parameter.
    const bool of_levels = std::ranges::any_of(spec.margins, [](const MarginSpec& margin) {
      return is_random_effect(margin.basis) || basis_of(margin.basis).of_districts;
    });
    if (linked.size() < 2 || of_levels)
      return make_margins(spec, frame_, [&](int variable) { return setup_rows_.values(variable); });
    const auto [found, is_first] = linked_.try_emplace(spec.id);
    if (is_first) {
      found->second = make_margins(spec, one_after_another(frame_, linked), [&](int variable) {
        std::vector<double> all;
        for (const SmoothSpec* one : linked) {
          const std::vector<double> own =
              setup_rows_.values(frame_.index_of(variables_of(*one)[at(variable)]));
          all.insert(all.end(), own.begin(), own.end());
        }
        return all;
      });
    }
    Margins own = found->second;
    for (std::size_t m = 0; m < spec.margins.size(); ++m) {
      Component& component = own.bases[m].component;
      component.variable = frame_.index_of(spec.margins[m].variable.text);
      component.others.clear();
      for (const Expression& other : spec.margins[m].others)
        component.others.push_back(frame_.index_of(other.text));
      const Extent range = extent_of(workers_, frame_, component.variable);
      component.extent = {range.min, range.max};
    }
    return own;
  }

  [[nodiscard]] Margins make_margins(const SmoothSpec& spec, const Frame& frame,
                                     const std::function<std::vector<double>(int)>& setup_values) {
    std::vector<Basis> margins;
    for (const MarginSpec& margin : spec.margins) {
      margins.push_back(make_basis(workers_, frame, margin, supplied_, setup_values, spec.label));
      Basis& basis = margins.back();
      basis.fixed = margin.fixed;
      // `natural_margin` scales the columns.
      if (basis.component.kind == Component::Kind::numeric && !spec.by_spaces) scale(basis.component);
      if (margin.centred) {
        const std::vector<double> means = margin_means(workers_, frame, basis);
        basis = centred_margin(std::move(basis), means);
      }
      if (spec.tensor && spec.normalise && !spec.by_spaces && !basis.nodal && margin.others.empty()) {
        const Extent range = extent_of(workers_, frame, basis.component.variable);
        reparameterise_at_points(basis, range.min, range.max);
      }
      if (spec.factor_smooth && !spec.sum_to_zero && !is_random_effect(margin.basis))
        basis = natural_curve(std::move(basis), frame, setup_values, spec.label);
      if (spec.by_spaces) {
        const MeanProducts products = products_of_columns(basis.component, frame, setup_values);
        basis = natural_margin(std::move(basis), products, spec.label);
      }
    }
    if (!spec.tensor) std::reverse(margins.begin(), margins.end());  // the order of `TermShape::components`
    // A row has one level of a factor smooth, so only the last margin, the curve, contributes to the sum.
    const auto of_row = std::span<const Basis>(margins).last(spec.factor_smooth ? 1 : margins.size());
    const double row_sum = largest_row_sum(workers_, frame, of_row, spec.orders);
    // Only select=TRUE uses this column. For t2(), bam drops no column.
    const bool chosen = spec.select && spec.drops_column && !spec.fixed && !spec.by_spaces &&
                        shape_of(spec, frame_).constrained;
    const int least_varying = chosen ? least_varying_column(workers_, frame, margins) : -1;
    return {std::move(margins), row_sum, least_varying};
  }

  using MeanProducts = std::function<Matrix(const Matrix& map)>;

  /// Returns a function of `map` that computes X'X / n, where X = R map for the raw columns R of `curve`. The
  /// rows are those that determine the basis: mgcv's setup sample for dense columns, otherwise all rows.
  [[nodiscard]] MeanProducts products_of_columns(
      const Component& curve, const Frame& frame,
      const std::function<std::vector<double>(int)>& setup_values) const {
    if (curve.kind == Component::Kind::factor)
      return [levels = curve.levels](const Matrix& map) {
        Matrix products(map.cols(), map.cols());
        for (int j = 0; j < products.cols(); ++j) products(j, j) = 1.0 / levels;
        return products;
      };
    if (curve.kind != Component::Kind::dense)
      return [this, &frame, curve](const Matrix& map) { return mean_products(workers_, frame, curve, map); };
    return [columns = setup_columns(curve, setup_values)](const Matrix& map) {
      const Matrix own = multiply(columns, map);
      Matrix products = multiply_tn(own, own);
      for (double& value : products.values()) value /= own.rows();
      return products;
    };
  }

  [[nodiscard]] static Matrix setup_columns(const Component& curve,
                                            const std::function<std::vector<double>(int)>& setup_values) {
    std::vector<std::vector<double>> values;
    Component::for_each_variable(curve, [&](int variable) { values.push_back(setup_values(variable)); });
    Matrix columns(static_cast<int>(values.front().size()), curve.raw_size());
    std::vector<double> x(values.size());
    std::vector<double> row(at(columns.cols()));
    for (int i = 0; i < columns.rows(); ++i) {
      for (std::size_t v = 0; v < x.size(); ++v) x[v] = values[v][at(i)];
      evaluate_dense(curve, x, row);
      for (int j = 0; j < columns.cols(); ++j) columns(i, j) = row[at(j)];
    }
    return columns;
  }

  [[nodiscard]] Basis natural_curve(Basis basis, const Frame& frame,
                                    const std::function<std::vector<double>(int)>& setup_values,
                                    const std::string& label) const {
    const Component curve = basis.component;
    Basis natural = natural_basis(std::move(basis), products_of_columns(curve, frame, setup_values), label);
    if (curve.kind == Component::Kind::spline) return natural;
    const Matrix own = multiply(setup_columns(curve, setup_values), natural.map);
    natural.row_sum = 0;
    for (int i = 0; i < own.rows(); ++i) {
      double sum = 0;
      for (int j = 0; j < own.cols(); ++j) sum += std::abs(own(i, j));
      natural.row_sum = std::max(*natural.row_sum, sum);
    }
    return natural;
  }

  /// Smooths with the same id share one constraint, on the column means over all of them.
  void constrain_together() {
    for (const auto& one : linked_) {
      const std::string& id = one.first;
      std::vector<int> begins;
      int copies = 0;
      bool any = false;
      bool all = true;
      const auto is_linked = [&](const DraftBlock& draft) { return draft.id == id; };
      for (const DraftBlock& draft : draft_.blocks) {
        if (!is_linked(draft)) continue;
        any = any || draft.constrained;
        all = all && draft.constrained && draft.by_value == 1;
        // Blocks of different levels share the sums: count them once, in the first block.
        if (draft.block.raw_begin != draft.sum_begins.front()) continue;
        ++copies;
        begins.insert(begins.end(), draft.sum_begins.begin(), draft.sum_begins.end());
      }
      if (any && !all)
        throw base::input_error(
            "id={}: a smooth with a numeric by= and one without cannot share an id: give them different ids",
            id);
      for (DraftBlock& draft : draft_.blocks) {
        if (!is_linked(draft)) continue;
        draft.sum_begins = begins;
        draft.copies = copies;
      }
    }
  }

  /// Stores the combinations by raw column. Requires that all blocks so far are parametric.
  void keep(const std::vector<ColumnCombination>& combinations) {
    if (combinations.empty()) return;
    std::vector<int> raw_of;
    for (const DraftBlock& draft : draft_.blocks) {
      for (int j = 0; j < draft.block.map.cols(); ++j) {
        const auto column = draft.block.map.column(j);
        const auto selected = std::find_if(column.begin(), column.end(), [](double v) { return v != 0; });
        raw_of.push_back(draft.block.raw_begin + static_cast<int>(selected - column.begin()));
      }
    }
    for (std::size_t j = 0; j < combinations.size(); ++j) {
      ColumnCombination raw;
      for (const auto& [column, factor] : combinations[j]) raw.emplace_back(raw_of[at(column)], factor);
      draft_.design.raw_combinations.emplace_back(raw_of[j], std::move(raw));
    }
  }

  /// Number of coefficients of a block with diagonal penalties; 0 for other blocks.
  static int effects_of(const DraftBlock& draft) {
    const std::optional<Penalty>& penalty = draft.block.penalty;
    return penalty && penalty->is_diagonal() ? penalty->eigenvalues.rows() : 0;
  }

  void part_large_effects() {
    std::vector<const DraftBlock*> drafts;
    std::vector<EffectSize> sizes;
    for (const DraftBlock& draft : draft_.blocks) {
      if (effects_of(draft) == 0) continue;
      drafts.push_back(&draft);
      sizes.push_back({effects_of(draft), draft.block.raw_size});
    }
    const std::vector<bool> parted = parted_effects(sizes, largest_whole_effect_, frame_.complete_rows);
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      if (parted[i]) draft_.design.parted_columns.add(drafts[i]->block.raw_begin, drafts[i]->block.raw_size);
    }
  }

  /// Scales without centring, because a shift would change a penalised model.
  void scale(Component& component) const {
    if (standards_.empty()) return;
    const double factor = standards_[at(component.variable)].factor;
    component.parts = {{component.variable, 0, factor}};
  }

  void push(DraftBlock draft) {
    if (draft.sum_begins.empty()) draft.sum_begins = {draft.block.raw_begin};
    draft_.blocks.push_back(std::move(draft));
  }

  const Workers& workers_;
  const FormulaTerms& formula_;
  const Frame& frame_;
  const SuppliedKnots& supplied_;
  const Standards& standards_;
  int largest_whole_effect_;
  SetupRows setup_rows_;
  std::map<std::string, Margins> linked_;  ///< margins of smooths with the same id, by id
  DesignDraft draft_;
};

/// Adds the penalty of select=TRUE; `z` maps constrained coefficients to unconstrained ones.
void penalise_null_space(const DraftBlock& draft, const Matrix& z, CoefBlock& block) {
  constexpr double least = 1e-6;
  const auto in_values = [&](const Matrix& a) {
    return draft.values.empty() ? a : multiply(draft.values, a);
  };
  Matrix coefficients = in_values(z);
  if (draft.constrained && draft.least_varying >= 0 && draft.point.empty()) {
    Matrix constant(static_cast<int>(draft.constant.size()), 1);
    std::ranges::copy(draft.constant, constant.data());
    constant = in_values(constant);
    // As bam does, drops the column of least variance if the constant involves it; otherwise uses gam()'s
    // coefficients.
    if (std::abs(constant(draft.least_varying, 0)) > least * largest(constant.values()))
      coefficients = sweep_and_drop(coefficients, constant.values(), draft.least_varying);
  }
  penalise_null_space(*block.penalty, coefficients);
  block.s_scale.push_back(1);
  if (!block.penalty_names.empty()) block.penalty_names.emplace_back();
  if (!draft.id.empty()) block.ids.push_back(fmt::format("{} {}", draft.id, block.ids.size()));
}

void give_sp(std::span<const double> sp, CoefBlock& block) {
  if (sp.size() != block.penalty->count())
    throw base::usage_error(
        "{}: sp= has {} value{}, but the smooth has {} smoothing parameter{}: give one value per smoothing "
        "parameter",
        block.label, sp.size(), sp.size() == 1 ? "" : "s", block.penalty->count(),
        block.penalty->count() == 1 ? "" : "s");
  for (const double one : sp) block.log_sp.push_back(one < 0 ? NAN : base::log(one));
}

/// Column means of a smooth over all its levels, by unconstrained coefficient.
std::vector<double> column_means(const DraftBlock& draft, std::span<const double> column_sums,
                                 std::int64_t rows) {
  const CoefBlock& block = draft.block;
  std::vector<double> raw(at(block.raw_size));
  for (const int begin : draft.sum_begins) {
    for (std::size_t i = 0; i < raw.size(); ++i) raw[i] += column_sums[at(begin) + i];
  }
  if (draft.by_value == 0) {
    throw base::input_error("{}: '{}' is zero in every row: leave the term out", block.label,
                            block.variables.back());
  }
  for (double& value : raw) value /= static_cast<double>(rows * draft.copies) * draft.by_value;
  return multiply_t(block.map, raw);
}

}  // namespace

DesignDraft draft_design(const Workers& workers, const FormulaTerms& formula, const Frame& frame,
                         const SuppliedKnots& supplied, const Standards& standards, int largest_whole_effect,
                         int prior_weight, SetupSample sample) {
  return Drafter(workers, formula, frame, supplied, standards, largest_whole_effect, prior_weight, sample)
      .run();
}

Design finish_design(const DesignDraft& draft, std::span<const double> column_sums, std::int64_t rows) {
  if (static_cast<int>(column_sums.size()) != draft.design.raw_size) {
    throw base::usage_error("finish_design: {} column sums for {} raw columns", column_sums.size(),
                            draft.design.raw_size);
  }
  Design design = draft.design;
  for (const DraftBlock& one : draft.blocks) {
    CoefBlock block = one.block;
    if (block.penalty) block.penalty->null_space = one.null_space;
    // bs="sz" counts as centred, because its curves sum to zero over the levels.
    block.centred = one.constrained || block.kind == "sz";
    Matrix z;  // maps constrained coefficients to unconstrained ones
    if (one.select) z = identity(one.null_space.rows());
    if (one.constrained) {
      const std::vector<double> means = one.point.empty() ? column_means(one, column_sums, rows) : one.point;
      Penalty& penalty = *block.penalty;
      Matrix null_space = one.null_space;
      const bool whole = null_space.cols() == 0;
      if (whole && one.point.empty()) {
        free_constant(penalty, one.constant);
        null_space = Matrix(block.map.cols(), 1);
        const double length = std::sqrt(dot(one.constant, one.constant));
        for (int i = 0; i < null_space.rows(); ++i) null_space(i, 0) = one.constant[at(i)] / length;
      }
      const Constraint constraint =
          sum_to_zero(means, null_space, one.values, one.log_det_values, block.label);
      block.map = multiply(block.map, constraint.z);
      block.constraint = means;
      for (Matrix& matrix : penalty.matrices) {
        matrix = multiply_tn(constraint.z, multiply(matrix, constraint.z));
      }
      penalty.eigenvectors = constrained_eigenvectors(penalty.eigenvectors, means, null_space, constraint.z);
      if (whole && !one.point.empty()) {
        restrict_to_constraint(penalty);
      } else {
        penalty.log_det_constant = penalty.commutes() ? constraint.log_det_constant : 0;
        penalty.null_space = multiply_tn(constraint.z, constraint.null_space);
      }
      z = constraint.z;
    }
    if (one.select && block.penalty->null_space.cols() > 0) penalise_null_space(one, z, block);
    if (!one.sp.empty()) give_sp(one.sp, block);
    block.coef_size = block.has_identity_map() ? block.raw_size : block.copies * block.map.cols();
    if (block.penalty) name_smooth(block);
    design.blocks.push_back(std::move(block));
  }
  design.count_coefficients();
  // Penalties allow more coefficients than rows, as long as the rows determine the unpenalised ones.
  if (design.coef_size > rows && design.null_space() >= rows) {
    throw base::input_error(
        "the model has {} coefficients, {} of them unpenalised, but the table has only {} complete rows: "
        "reduce k, or leave out terms",
        design.coef_size, design.null_space(), rows);
  }
  return design;
}

}  // namespace TESSERA_NAMESPACE::gam
