// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/posterior/smooth_grid.hpp"

#include <tessera/gam/posterior.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

Margin derivative_of(Margin margin) {
  for (std::size_t c = 0; c < margin.cells.size(); ++c) {
    const double width = margin.breaks[c + 1] - margin.breaks[c];
    std::array<double, 16>& cell = margin.cells[c];
    for (std::size_t a = 0; a < 16; a += 4) {
      for (std::size_t i = 0; i < 3; ++i) cell[a + i] = static_cast<double>(i + 1) * cell[a + i + 1] / width;
      cell[a + 3] = 0;
    }
  }
  return margin;
}

class DerivativeRows {
 public:
  DerivativeRows(const FittedModel& model, const SmoothGrid& grid, std::size_t axis, int order)
      : axis_(axis), order_(order) {
    std::vector<Component> components(grid.margins().begin(), grid.margins().end());
    Component& component = components[at(grid.axes()[axis].component - grid.margins().data())];
    if (component.is_curve()) {
      for (int i = 0; i < order; ++i) component.margin = derivative_of(std::move(component.margin));
    } else {
      const auto [low, high] = extent_of(model, grid.axes()[axis]);
      // Balances truncation error against rounding error.
      step_ = (order == 1 ? 1e-5 : 3e-4) * (high - low);
    }
    rows_.emplace(grid.block(), components);
  }

  [[nodiscard]] bool is_exact() const noexcept { return step_ == 0; }
  [[nodiscard]] Combination at_values(std::vector<double> values) {
    if (is_exact()) return rows_->at(values);
    const double centre = values[axis_];
    const auto beside = [&](double x) {
      values[axis_] = x;
      return rows_->at(values);
    };
    const double above = centre + step_;
    const double below = centre - step_;
    const Combination difference = sum_of(beside(above), order_ == 1 ? -1 : 1, beside(below));
    if (order_ == 1) return scaled(difference, 1 / (above - below));
    return scaled(sum_of(difference, -2, beside(centre)), 1 / (step_ * step_));
  }

 private:
  static Combination scaled(Combination x, double factor) {
    for (Weight& one : x) one.value *= factor;
    return x;
  }

  std::size_t axis_;
  int order_;
  double step_ = 0;  ///< step of central differences; 0: exact derivatives
  std::optional<CoefBlockRows> rows_;
};

}  // namespace

Predictions derivatives(Job& job, const Model& model, const DerivativeOptions& options) {
  const FittedModel& fitted = model.fitted();
  std::vector<Piece> pieces;
  std::vector<std::string> by_differences;
  together(job.comm(), [&] {
    if (options.order != 1 && options.order != 2)
      throw base::usage_error("the order of derivatives is {}: give 1 or 2", options.order);
    std::set<std::string> unknown(options.variables.begin(), options.variables.end());
    for (const CoefBlock* block : smooths_of(fitted, options)) {
      const auto grid = std::make_shared<const SmoothGrid>(fitted, *block, options.points);
      for (std::size_t axis = 0; axis < grid->axes().size(); ++axis) {
        if (!grid->axes()[axis].is_smooth()) continue;
        const std::string& variable = fitted.design.variables[at(grid->axes()[axis].variable)].name;
        unknown.erase(variable);
        if (!options.variables.empty() &&
            std::ranges::find(options.variables, variable) == options.variables.end())
          continue;
        const auto rows = std::make_shared<DerivativeRows>(fitted, *grid, axis, options.order);
        if (!rows->is_exact() && std::ranges::find(by_differences, block->label) == by_differences.end())
          by_differences.push_back(block->label);
        pieces.push_back(
            {.texts = {block->label, variable},
             .points = grid->size(),
             .describe = [grid](std::int64_t point) { return grid->described(point); },
             .combination = [grid, rows](std::int64_t point) { return rows->at_values(grid->at(point)); }});
      }
    }
    if (!unknown.empty())
      throw base::usage_error("no smooth has the variable '{}': name another variable", *unknown.begin());
    if (pieces.empty())
      throw base::usage_error(
          "derivatives need a smooth of a numeric variable, but no chosen term is one: choose other terms");
  });
  Predictions out = answer_of(job, fitted, {"smooth", "derivative"}, pieces, options);
  for (const std::string& label : by_differences)
    out.remarks.push_back(fmt::format("derivatives of {} are central differences", label));
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
