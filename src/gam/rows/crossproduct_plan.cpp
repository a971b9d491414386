// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/crossproduct_plan.hpp"

#include "base/at.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Warp schedulers of a multiprocessor. Warp w of a block runs on scheduler w % 4.
constexpr int quarters = 4;
/// Shared memory of a multiprocessor, and the part that the driver reserves for each block.
constexpr int shared_memory_bytes = 228 * 1024;
constexpr int reserved_bytes = 1024;

int quads_of(const CrossTerm& term) {
  return (term.columns + quad_columns - 1) / quad_columns;
}

/// Assigns each pair of terms to one of its terms, the centre: result[c] lists the other terms (leaves) of
/// c's pairs. The lists have nearly equal lengths, most of them even.
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

class CrossProducts {
 public:
  explicit CrossProducts(const RowLayout& layout) : layout_(layout) {
    for (std::size_t i = 0; i < layout.all_products.size(); ++i)
      indices_[{layout.all_products[i].row_term, layout.all_products[i].column_term}] = i;
  }

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

/// The tasks for a centre and one or two leaves; several if a task cannot hold all quads.
std::vector<CrossTask> tasks_of_pair(const std::vector<CrossTerm>& terms, int centre, int first, int second,
                                     int halves) {
  std::vector<CrossTask> tasks;
  const bool single = first == second;
  const int quads = std::max(quads_of(terms[at(first)]), quads_of(terms[at(second)]));
  for (int quad = 0; quad < quads; quad += single ? 2 * halves : halves) {
    CrossTask task;
    task.kind = CrossTask::Kind::pair;
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

/// Cost of a task in tiles.
int work_of(const CrossTask& task, const CrossTiling& tiling) {
  return task.has_leaves() ? tiling.tiles : 1;
}

/// Assigns a group's tasks to warps so that the multiprocessor's schedulers have equal work.
std::vector<CrossTask> dealt(std::span<const CrossTask> tasks, const CrossTiling& tiling,
                             int warps_of_block) {
  std::vector<CrossTask> longest_first(tasks.begin(), tasks.end());
  std::stable_sort(longest_first.begin(), longest_first.end(), [&](const CrossTask& a, const CrossTask& b) {
    return work_of(a, tiling) > work_of(b, tiling);
  });
  std::vector<CrossTask> warps(at(warps_of_block));
  std::array<int, quarters> work{};
  std::array<int, quarters> used{};
  for (const CrossTask& task : longest_first) {
    std::size_t least = quarters;
    for (std::size_t q = 0; q < quarters; ++q) {
      const bool room = used[q] < warps_of_block / quarters;
      if (room && (least == quarters || work[q] < work[least])) least = q;
    }
    warps[at(used[least]) * quarters + least] = task;
    work[least] += work_of(task, tiling);
    ++used[least];
  }
  return warps;
}

class CrossPlanner {
 public:
  CrossPlanner(const RowLayout& layout, CrossPlan& plan)
      : layout_(layout), plan_(plan), shape_(plan.shape), products_(layout) {}

  /// False with several linear predictors, a combined term, or fewer than two suitable splines.
  bool choose_terms();
  void make_tasks();
  void group(const std::vector<CrossTask>& all, std::size_t tasks_of_group, CrossShare& share);
  void choose_rows();

  [[nodiscard]] const std::vector<CrossTask>& sums() const noexcept { return sums_; }
  [[nodiscard]] const std::vector<CrossTask>& moments() const noexcept { return moments_; }

 private:
  void find_common();
  void add_tasks(int centre, std::span<const int> leaves);
  void add_dense(CrossTask& task, std::size_t place, int term, CrossShare& share);

  const RowLayout& layout_;
  CrossPlan& plan_;
  CrossShape& shape_;
  CrossProducts products_;
  std::vector<CrossTerm> terms_;
  std::vector<int> indices_;  // layout index of each term
  std::vector<CrossTask> sums_;
  std::vector<CrossTask> moments_;
};

bool CrossPlanner::choose_terms() {
  if (layout_.several()) return false;
  for (int t = 0; t + 1 < static_cast<int>(layout_.terms.size()); ++t) {
    const TermTable& term = layout_.terms[at(t)];
    if (term.combined >= 0) return false;
    const auto has = [&](ComponentKind kind) {
      return std::any_of(layout_.tables.components.begin() + term.component_begin,
                         layout_.tables.components.begin() + term.component_end,
                         [&](const ComponentTable& component) { return component.kind == kind; });
    };
    if (has(ComponentKind::spline) && term.component_end - term.component_begin == 1) {
      CrossTerm chosen{term.component_begin, layout_.placements[at(term.placement_begin)].size, 0, false};
      const int quads = quads_of(chosen);
      if (quads > cross_quads_limit) continue;
      chosen.windows = std::max(1, quads - 1);
      terms_.push_back(chosen);
      indices_.push_back(t);
    } else if (!has(ComponentKind::spline) && !has(ComponentKind::dense) && !has(ComponentKind::factor) &&
               plan_.dense_terms.size() + 1 < cross_dense_columns) {
      plan_.dense_terms.push_back(t);
    }
  }
  if (terms_.size() < 2) return false;
  find_common();
  return true;
}

void CrossPlanner::find_common() {
  const auto all = [&](const auto& holds) {
    return std::all_of(terms_.begin(), terms_.end(), [&](const CrossTerm& term) {
      return holds(layout_.tables.components[at(term.component)].margin);
    });
  };
  if (!all([](const MarginTable& margin) { return margin.uniform && !margin.cyclic && margin.alike; }))
    return;
  for (const CrossTerm& term : terms_) {
    const MarginTable& margin = layout_.tables.components[at(term.component)].margin;
    std::array<double, 16> cubics{};
    // Slot 0 is a continuation; slot 1 is the first cell.
    std::copy_n(layout_.tables.numbers.begin() + margin.cubics + 16, cubics.size(), cubics.begin());
    if (plan_.cubics && *plan_.cubics != cubics) {
      plan_.cubics.reset();
      return;
    }
    plan_.cubics = cubics;
  }
}

void CrossPlanner::make_tasks() {
  for (const CrossTerm& term : terms_) plan_.quads = std::max(plan_.quads, quads_of(term));
  const auto edges = edges_by_centre(static_cast<int>(terms_.size()));
  for (int centre = 0; centre < static_cast<int>(terms_.size()); ++centre)
    add_tasks(centre, edges[at(centre)]);
}

void CrossPlanner::add_dense(CrossTask& task, std::size_t place, int term, CrossShare& share) {
  const int centre_term = indices_[at(task.centre)];
  task.dense[place] = products_.sums(centre_term, term);
  task.dense[place].other_step = 0;
  share.forms[products_.index(centre_term, term)] = true;
}

void CrossPlanner::add_tasks(int centre, std::span<const int> leaves) {
  const int centre_term = indices_[at(centre)];
  const std::size_t first = sums_.size();
  for (std::size_t i = 0; i < leaves.size(); i += 2) {
    const int second = i + 1 < leaves.size() ? leaves[i + 1] : leaves[i];
    for (CrossTask& task :
         tasks_of_pair(terms_, centre, leaves[i], second, cross_tiling(plan_.quads).halves)) {
      for (std::size_t side = 0; side < 2; ++side) {
        const int leaf_term = indices_[at(task.leaves[side])];
        task.pairs[side] = products_.sums(centre_term, leaf_term);
        plan_.sums.forms[products_.index(centre_term, leaf_term)] = true;
      }
      sums_.push_back(task);
    }
  }

  // The centre's products with itself and with dense columns go into its first tasks, which have room.
  CrossTask alone;
  alone.centre = centre;
  const std::size_t pairs = sums_.size() - first;
  if (pairs < 2) sums_.push_back(alone);
  CrossTask& with_own = sums_[first];
  CrossTask& with_dense = sums_[pairs > 0 ? first + 1 : first];
  with_own.kind = pairs > 0 ? CrossTask::Kind::pair_own : CrossTask::Kind::own_dense;
  if (pairs > 0) with_dense.kind = pairs > 1 ? CrossTask::Kind::pair_dense : CrossTask::Kind::dense;
  with_own.own = products_.sums(centre_term, centre_term);
  plan_.sums.forms[products_.index(centre_term, centre_term)] = true;
  const std::size_t residual_place = plan_.dense_terms.size();
  for (std::size_t i = 0; i < residual_place; ++i) add_dense(with_dense, i, plan_.dense_terms[i], plan_.sums);
  const int residual = static_cast<int>(layout_.terms.size()) - 1;
  add_dense(with_dense, residual_place, residual, plan_.sums);

  // Moments are products with a residual of ones.
  alone.kind = CrossTask::Kind::dense;
  add_dense(alone, residual_place, residual, plan_.moments);
  moments_.push_back(alone);
}

void CrossPlanner::group(const std::vector<CrossTask>& all, std::size_t tasks_of_group, CrossShare& share) {
  const std::size_t count = (all.size() + tasks_of_group - 1) / tasks_of_group;
  const auto begin_of = [&](std::size_t group) {
    return all.begin() + static_cast<std::ptrdiff_t>(group * all.size() / count);
  };
  for (std::size_t g = 0; g < count; ++g) {
    const auto most = static_cast<int>(begin_of(g + 1) - begin_of(g));
    shape_.warps = std::max(shape_.warps, (most + quarters - 1) / quarters * quarters);
  }
  for (std::size_t g = 0; g < count; ++g) {
    CrossGroup group;
    group.term_begin = static_cast<int>(share.terms.size());
    group.task_begin = static_cast<int>(share.tasks.size());
    std::map<int, int> places;
    const auto place_of = [&](int term) {
      const auto [found, added] = places.try_emplace(term, static_cast<int>(places.size()));
      if (added) share.terms.push_back(terms_[at(term)]);
      return found->second;
    };
    std::vector<CrossTask> own(begin_of(g), begin_of(g + 1));
    for (CrossTask& task : own) {
      task.centre = place_of(task.centre);
      for (int& leaf : task.leaves) leaf = task.has_leaves() ? place_of(leaf) : task.centre;
      share.terms[at(group.term_begin + task.centre)].centre = true;
    }
    group.term_count = static_cast<int>(places.size());
    for (const CrossTask& task : dealt(own, cross_tiling(plan_.quads), shape_.warps))
      share.tasks.push_back(task);
    share.groups.push_back(group);

    shape_.terms = std::max(shape_.terms, group.term_count);
    int tables = 0;
    for (int t = group.term_begin; t < group.term_begin + group.term_count; ++t)
      tables += cross_table_numbers(layout_.tables.components[at(share.terms[at(t)].component)].margin);
    shape_.tables = std::max(shape_.tables, tables);
  }
}

void CrossPlanner::choose_rows() {
  const int blocks = std::max(1, cross_warps_limit / shape_.warps);
  const std::size_t limit = shared_memory_bytes / at(blocks) - reserved_bytes;
  shape_.rows = cross_rows_limit;
  while (shape_.rows > 0 && cross_shared_bytes(shape_, cross_tiling(plan_.quads)) > limit)
    shape_.rows -= cross_rows_step;
  if (shape_.rows > 0) return;
  // The tables of a group's terms leave no shared memory for rows: empty the plan.
  for (CrossShare* share : {&plan_.sums, &plan_.moments}) {
    share->groups.clear();
    share->forms.assign(share->forms.size(), false);
  }
}

}  // namespace

CrossPlan::CrossPlan(const RowLayout& layout) {
  const std::size_t products = layout.all_products.size();
  sums.forms.assign(products, false);
  moments.forms.assign(products, false);
  CrossPlanner planner(layout, *this);
  if (planner.choose_terms()) {
    planner.make_tasks();
    planner.group(planner.sums(), cross_warps_limit, sums);
    // Each task of moments has a different centre, so a group has at most `shape.terms` tasks.
    planner.group(planner.moments(), at(std::min(shape.warps, shape.terms)), moments);
    planner.choose_rows();
  }
}

std::size_t cross_shared_bytes(const CrossShape& shape, const CrossTiling& tiling) {
  const auto rows = at(shape.rows);
  const auto terms = at(shape.terms);
  const std::size_t values = 2 * (terms + 1) * (rows + 1) * quad_columns * sizeof(double);
  const std::size_t staged = 2 * (terms + 2) * rows * sizeof(double);
  const std::size_t margins = terms * (sizeof(MarginTable) + sizeof(int));
  const std::size_t orders =
      2 * terms * at(cross_order_length(shape.rows, tiling.windows)) * sizeof(std::uint16_t);
  const std::size_t starts = 2 * terms * at(tiling.windows + 1) * sizeof(int);
  constexpr std::size_t alignment = 64;  // upper bound
  // Finally the warps' sums overwrite the rows.
  const std::size_t tiles = at(shape.warps) * at(tiling.windows) * at(tiling.tiles) * 16 * 8 * sizeof(double);
  return std::max(
      tiles, values + staged + at(shape.tables) * sizeof(double) + margins + orders + starts + alignment);
}

}  // namespace TESSERA_NAMESPACE::gam
