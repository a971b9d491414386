// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/crossproduct_plan.hpp"

#include "base/at.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

namespace tessera::gam {

/// The products of a layout by their terms.
class CrossProducts {
 public:
  explicit CrossProducts(const RowLayout& layout) : layout_(layout) {
    for (std::size_t i = 0; i < layout.all_products.size(); ++i)
      indices_[{layout.all_products[i].row_term, layout.all_products[i].column_term}] = i;
  }

  /// Where the product of two terms has its sums.
  [[nodiscard]] CrossSums sums(int centre, int other) const {
    if (const auto found = indices_.find({centre, other}); found != indices_.end()) {
      const Product& product = layout_.all_products[found->second];
      if (product.symmetric) return {product.begin + product.columns / 2, product.columns, 1};
      return {product.begin, product.columns, 1};
    }
    const Product& product = layout_.all_products[indices_.at({other, centre})];
    return {product.begin, 1, product.columns};
  }
  [[nodiscard]] std::size_t index(int one, int other) const {
    const auto found = indices_.find({one, other});
    return found != indices_.end() ? found->second : indices_.at({other, one});
  }

 private:
  const RowLayout& layout_;
  std::map<std::pair<int, int>, std::size_t> indices_;
};

namespace {

using base::at;
using Kind = CrossTask::Kind;

/// Warps of a block at most: their sums fill the registers.
constexpr int warps_limit = 12;
/// Sums of a task at most, by windows and tiles, for the same reason.
constexpr int tiles_of_windows = 12;
/// Sets of warps that share a multiprocessor's units.
constexpr int quarters = 4;
/// Shared memory of a multiprocessor, of which each block takes some for itself.
constexpr int shared_memory_bytes = 228 * 1024;
constexpr int reserved_bytes = 1024;

int quads_of(const CrossTerm& term) {
  return (term.columns + quad_columns - 1) / quad_columns;
}

/// Every edge of the complete graph once, at one of its ends, which is its centre. All have nearly as many,
/// and most an even number.
std::vector<std::vector<int>> edges_by_centre(int count) {
  std::vector<std::vector<int>> leaves(at(count));
  for (int v = 0; v < count; ++v) {
    for (int d = 1; 2 * d < count; ++d) leaves[at(v)].push_back((v + d) % count);
    if (count % 2 == 0 && v < count / 2) leaves[at(v)].push_back(v + count / 2);
  }
  for (int v = 0; v + 1 < count; ++v) {
    if (leaves[at(v)].size() % 2 == 0) continue;
    if (std::erase(leaves[at(v)], v + 1) > 0) leaves[at(v + 1)].push_back(v);
  }
  return leaves;
}

/// Tasks for one centre and one or two leaves, as many as their quads need.
std::vector<CrossTask> tasks_of_pair(const std::vector<CrossTerm>& terms, int centre, int first, int second,
                                     int halves) {
  std::vector<CrossTask> tasks;
  const bool single = first == second;
  const int quads = std::max(quads_of(terms[at(first)]), quads_of(terms[at(second)]));
  for (int quad = 0; quad < quads; quad += single ? 2 * halves : halves) {
    CrossTask task;
    task.kind = Kind::pair;
    task.centre = centre;
    task.leaves[0] = first;
    task.leaves[1] = second;
    const int both = std::min(2 * halves, quads - quad);
    task.first_quad[0] = quad;
    task.first_quad[1] = single ? quad + (both + 1) / 2 : quad;
    task.end_quad[0] = single ? task.first_quad[1] : std::min(quad + halves, quads_of(terms[at(first)]));
    task.end_quad[1] = single ? quad + both : std::min(quad + halves, quads_of(terms[at(second)]));
    tasks.push_back(task);
  }
  return tasks;
}

/// How long a task takes, in tiles.
int work_of(const CrossTask& task, const CrossShape& shape) {
  return task.kind == Kind::own_dense || task.kind == Kind::dense ? 1 : shape.tiles;
}

/// The tasks of a group in the order of their warps, so that the quarters of a multiprocessor, which warps
/// go to in turn, have as much to do each.
std::vector<CrossTask> dealt(std::span<const CrossTask> tasks, const CrossShape& shape) {
  std::vector<CrossTask> longest_first(tasks.begin(), tasks.end());
  std::stable_sort(longest_first.begin(), longest_first.end(), [&](const CrossTask& a, const CrossTask& b) {
    return work_of(a, shape) > work_of(b, shape);
  });
  std::vector<CrossTask> warps(at(shape.warps));
  std::array<int, quarters> work{};
  std::array<int, quarters> used{};
  for (const CrossTask& task : longest_first) {
    std::size_t least = quarters;
    for (std::size_t q = 0; q < quarters; ++q) {
      const bool room = used[q] < shape.warps / quarters;
      if (room && (least == quarters || work[q] < work[least])) least = q;
    }
    warps[at(used[least]) * quarters + least] = task;
    work[least] += work_of(task, shape);
    ++used[least];
  }
  return warps;
}

}  // namespace

CrossPlan::CrossPlan(const RowLayout& layout) : forms(layout.all_products.size(), false) {
  choose_terms(layout);
  if (all_terms_.size() > 1) {
    make_tasks(layout);
    make_groups(layout);
    choose_rows();
  }
  keep_values(layout);
}

void CrossPlan::choose_terms(const RowLayout& layout) {
  for (int t = 0; t + 1 < static_cast<int>(layout.terms.size()); ++t) {
    const TermTable& term = layout.terms[at(t)];
    const int columns = layout.placements[at(term.placement_begin)].size;
    const int components = term.component_end - term.component_begin;
    const auto has = [&](ComponentKind kind) {
      return std::any_of(layout.components.begin() + term.component_begin,
                         layout.components.begin() + term.component_end,
                         [&](const ComponentTable& component) { return component.kind == kind; });
    };
    if (components == 1 && has(ComponentKind::spline)) {
      const CrossTerm chosen{term.component_begin, columns, 0, false};
      const int quads = quads_of(chosen);
      if (quads > cross_quads_limit) continue;
      all_terms_.push_back(chosen);
      all_terms_.back().windows = std::max(1, quads - 1);
      term_indices_.push_back(t);
    } else if (!has(ComponentKind::spline) && !has(ComponentKind::factor) &&
               dense_terms.size() + 1 < cross_dense_columns) {
      dense_terms.push_back(t);
    }
  }
}

void CrossPlan::make_tasks(const RowLayout& layout) {
  int quads = 1;
  for (const CrossTerm& term : all_terms_) {
    shape.windows = std::max(shape.windows, term.windows);
    quads = std::max(quads, quads_of(term));
  }
  // One half of a tile is for another product than that of the leaves.
  shape.halves = std::min(quads, 2 * (tiles_of_windows / shape.windows) - 1);
  shape.tiles = (shape.halves + 2) / 2;

  const CrossProducts products(layout);
  const auto edges = edges_by_centre(static_cast<int>(all_terms_.size()));
  for (int centre = 0; centre < static_cast<int>(all_terms_.size()); ++centre)
    add_tasks(layout, products, centre, edges[at(centre)]);
}

void CrossPlan::add_tasks(const RowLayout& layout, const CrossProducts& products, int centre,
                          std::span<const int> leaves) {
  const int centre_term = term_indices_[at(centre)];
  const std::size_t first = all_tasks_.size();
  for (std::size_t i = 0; i < leaves.size(); i += 2) {
    const int second = i + 1 < leaves.size() ? leaves[i + 1] : leaves[i];
    for (CrossTask& task : tasks_of_pair(all_terms_, centre, leaves[i], second, shape.halves)) {
      for (std::size_t side = 0; side < 2; ++side) {
        const int leaf_term = term_indices_[at(task.leaves[side])];
        task.pairs[side] = products.sums(centre_term, leaf_term);
        forms[products.index(centre_term, leaf_term)] = true;
      }
      all_tasks_.push_back(task);
    }
  }

  // The centre with itself and with the dense columns: what its first tasks have room for.
  CrossTask alone;
  alone.centre = centre;
  const std::size_t pairs = all_tasks_.size() - first;
  if (pairs < 2) all_tasks_.push_back(alone);
  CrossTask& with_own = all_tasks_[first];
  CrossTask& with_dense = all_tasks_[pairs > 0 ? first + 1 : first];
  with_own.kind = pairs > 0 ? Kind::pair_own : Kind::own_dense;
  if (pairs > 0) with_dense.kind = pairs > 1 ? Kind::pair_dense : Kind::dense;
  with_own.own = products.sums(centre_term, centre_term);
  forms[products.index(centre_term, centre_term)] = true;
  std::vector<int> columns = dense_terms;
  columns.push_back(static_cast<int>(layout.terms.size()) - 1);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    with_dense.dense[i] = products.sums(centre_term, columns[i]);
    with_dense.dense[i].other_step = 0;
    forms[products.index(centre_term, columns[i])] = true;
  }
}

void CrossPlan::make_groups(const RowLayout& layout) {
  const std::size_t count = (all_tasks_.size() + warps_limit - 1) / warps_limit;
  const auto begin_of = [&](std::size_t group) { return group * all_tasks_.size() / count; };
  for (std::size_t g = 0; g < count; ++g) {
    const int most = static_cast<int>(begin_of(g + 1) - begin_of(g));
    shape.warps = std::max(shape.warps, (most + quarters - 1) / quarters * quarters);
  }
  for (std::size_t g = 0; g < count; ++g) {
    CrossGroup group;
    group.term_begin = static_cast<int>(terms.size());
    group.task_begin = static_cast<int>(tasks.size());
    std::map<int, int> places;
    const auto place_of = [&](int term) {
      const auto [found, added] = places.try_emplace(term, static_cast<int>(places.size()));
      if (added) terms.push_back(all_terms_[at(term)]);
      return found->second;
    };
    std::vector<CrossTask> own(all_tasks_.begin() + static_cast<std::ptrdiff_t>(begin_of(g)),
                               all_tasks_.begin() + static_cast<std::ptrdiff_t>(begin_of(g + 1)));
    for (CrossTask& task : own) {
      const bool pair = task.kind != Kind::own_dense && task.kind != Kind::dense;
      task.centre = place_of(task.centre);
      for (int& leaf : task.leaves) leaf = pair ? place_of(leaf) : task.centre;
      terms[at(group.term_begin + task.centre)].centre = true;
    }
    group.term_count = static_cast<int>(places.size());
    for (const CrossTask& task : dealt(own, shape)) tasks.push_back(task);
    groups.push_back(group);

    shape.terms = std::max(shape.terms, group.term_count);
    int tables = 0;
    for (int t = group.term_begin; t < group.term_begin + group.term_count; ++t)
      tables += cross_table_numbers(layout.components[at(terms[at(t)].component)].margin);
    shape.tables = std::max(shape.tables, tables);
  }
}

void CrossPlan::choose_rows() {
  const int blocks = std::max(1, warps_limit / shape.warps);
  const std::size_t limit = shared_memory_bytes / blocks - reserved_bytes;
  shape.rows = cross_rows_limit;
  while (shape.rows > 0 && cross_shared_bytes(shape) > limit) shape.rows -= 32;
  if (shape.rows > 0) return;
  // So many terms meet in a group that not even few rows fit.
  groups.clear();
  forms.assign(forms.size(), false);
}

void CrossPlan::keep_values(const RowLayout& layout) {
  std::vector<bool> read(layout.terms.size(), false);
  read.back() = true;  // the residual
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (forms[i]) continue;
    read[at(layout.all_products[i].row_term)] = true;
    read[at(layout.all_products[i].column_term)] = true;
  }
  for (std::size_t t = 0; t < read.size(); ++t) {
    value_begins.push_back(read[t] ? values_per_row : -1);
    if (read[t]) values_per_row += layout.terms[t].nonzeros;
  }
}

std::size_t cross_shared_bytes(const CrossShape& shape) {
  const auto rows = at(shape.rows);
  const auto terms = at(shape.terms);
  const std::size_t values = 2 * (terms + 1) * (rows + 1) * quad_columns * sizeof(double);
  const std::size_t staged = 2 * (terms + 2) * rows * sizeof(double);
  const std::size_t margins = terms * (sizeof(MarginTable) + sizeof(int));
  const std::size_t orders =
      2 * terms * at(cross_order_length(shape.rows, shape.windows)) * sizeof(std::uint16_t);
  const std::size_t starts = 2 * terms * at(shape.windows + 1) * sizeof(int);
  constexpr std::size_t alignment = 64;  // at most, of all the members
  // Where the rows were, the warps keep their sums in the end.
  const std::size_t tiles = at(shape.warps * shape.windows * shape.tiles) * 16 * 8 * sizeof(double);
  return std::max(
      tiles, values + staged + at(shape.tables) * sizeof(double) + margins + orders + starts + alignment);
}

}  // namespace tessera::gam
