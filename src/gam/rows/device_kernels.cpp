// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/device_kernels.hpp"

#include "base/at.hpp"
#include "gam/rows/curve_predictor.hpp"
#include "gam/rows/device_memory.hpp"
#include "gam/terms/point_values.hpp"

#include <algorithm>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

std::vector<OffsetColumn> offset_columns(const Rows& rows) {
  std::vector<OffsetColumn> columns;
  for (const int variable : rows.offsets) columns.push_back({variable, 0});
  for (std::size_t p = 0; p < rows.further_offsets.size(); ++p)
    for (const int variable : rows.further_offsets[p]) columns.push_back({variable, static_cast<int>(p) + 1});
  return columns;
}

/// The component of a term that is a curve without stored values; null for any other term.
const ComponentTable* unstored_curve(const RowLayout& layout, const StoredValues& stored, int term) {
  return stored.value_begins[base::at(term)] < 0 ? lone_curve(layout.view(), term) : nullptr;
}

/// The cubics of all unstored curves: see `RowsView::curves`.
struct Curves {
  Curves(const RowLayout& layout, const StoredValues& stored, std::span<const double> raw_coef)
      : begins(layout.terms.size(), -1) {
    for (std::size_t t = 0; t + 1 < layout.terms.size() && !raw_coef.empty(); ++t) {
      const ComponentTable* curve = unstored_curve(layout, stored, static_cast<int>(t));
      if (curve == nullptr) continue;
      begins[t] = std::ssize(cubics);
      const std::vector<double> own =
          curve_cells(*curve, layout.tables.numbers.data(), raw_coef.data() + layout.terms[t].raw_begin);
      cubics.insert(cubics.end(), own.begin(), own.end());
    }
  }

  std::vector<std::int64_t> begins;
  std::vector<double> cubics;
};

/// Throws if the kernels' fixed arrays are too small for a term.
void require_supported(const RowLayout& layout) {
  const bool fit =
      std::ranges::all_of(layout.terms,
                          [](const TermTable& term) { return term.splines <= most_splines_of_term; }) &&
      std::ranges::all_of(layout.tables.components, [](const ComponentTable& component) {
        return component.kind != ComponentKind::dense || component.parts <= most_isotropic_variables;
      });
  if (!fit)
    throw Error(ErrorCode::job_fault, "smooths of more variables than " +
                                          std::to_string(most_splines_of_term) + " (te, ti, t2) or " +
                                          std::to_string(most_isotropic_variables) +
                                          " (s) are computed on the CPU");
}

}  // namespace

std::int64_t evaluation_bytes_per_row(const RowLayout& layout, const StoredValues& stored) {
  return std::int64_t{sizeof(double)} * (stored.per_row + layout.predictors()) +
         std::int64_t{sizeof(int)} * std::ssize(layout.placements);
}

void set_evaluation(RowsView& view, const Rows& rows, const RowLayout& layout, const DeviceLayout& on_device,
                    const StoredValues& stored, std::span<const double> raw_coef,
                    std::span<const double> parameters, const Tile& tile) {
  require_supported(layout);
  const std::vector<OffsetColumn> offsets = offset_columns(rows);
  view.layout = on_device.view();
  view.offsets = uploaded(offsets, tile);
  view.offset_count = static_cast<int>(offsets.size());
  view.formulas = layout.predictors();
  view.response_factor = rows.response_factor;
  const Curves curves(layout, stored, raw_coef);
  view.curve_begins = uploaded(curves.begins, tile);
  view.curves = uploaded(curves.cubics, tile);
  view.raw_coef = raw_coef.empty() ? nullptr : uploaded(raw_coef, tile);
  view.parameters = uploaded(parameters, tile);
  view.predictors = scratch<double>(view.capacity * layout.predictors(), tile);
  view.values = scratch<double>(view.capacity * stored.per_row, tile);
  view.value_begins = uploaded(stored.value_begins, tile);
  view.dense_begins = uploaded(stored.dense_begins, tile);
  view.starts = scratch<int>(view.capacity * std::ssize(layout.placements), tile);
}

void TermKernels::evaluate(const RowsView& batch, const RowLayout& layout, const StoredValues& stored,
                           unsigned slices, StreamView stream) const {
  const auto launch_for = [&](KernelView kernel, int rows_of_thread, const auto&... arguments) {
    launch(kernel, {blocks_for((batch.slice_rows - 1) / rows_of_thread + 1), slices}, {threads_per_block}, 0,
           stream, batch, arguments...);
  };
  const auto for_each_dense = [&](bool alone) {
    for (int t = 0; t < batch.layout.term_count; ++t) {
      const TermTable& term = layout.terms[base::at(t)];
      if (term.dense == 0 || is_dense_alone(term) != alone || unstored_curve(layout, stored, t) != nullptr)
        continue;
      for (int i = term.component_begin; i < term.component_end; ++i) {
        const ComponentTable& component = layout.tables.components[base::at(i)];
        if (component.kind != ComponentKind::dense) continue;
        int first = 0;
        for (; component.parts > 0 && component.columns - first > many_dense_columns - 4;
             first += many_dense_columns)
          launch_for(evaluate_many_dense_, 1, i, alone ? t : -1, first);
        if (first < component.columns) launch_for(evaluate_dense_, 1, i, alone ? t : -1, first);
      }
    }
  };
  for_each_dense(false);
  const bool are_curves = std::ranges::all_of(layout.terms, [](const TermTable& term) {
    return term.splines <= 1 && (term.dense == 0 || is_dense_alone(term));
  });
  if (are_curves)
    launch_for(evaluate_curves_, curve_rows_of_thread);
  else
    launch_for(evaluate_terms_, 1);
  for_each_dense(true);
}

}  // namespace TESSERA_NAMESPACE::gam
