// SPDX-License-Identifier: Apache-2.0
#include "gam/linalg/elimination.hpp"

#include "base/at.hpp"
#include "base/target_clones.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Cost of a multiplication in sparse elimination, relative to one in a dense product.
constexpr double rate_of_dense = 16;
/// A column counts as dense if at least 1 / dense_part of its elements are nonzero.
constexpr int dense_part = 32;
/// Minimum number of columns in a task.
constexpr std::size_t eliminated_at_once = 32;
constexpr std::size_t most_blocks = 64;  ///< maximum tasks of a level: each needs an array over all columns

std::ptrdiff_t nonzeros(std::span<const double> x) {
  return std::ssize(x) - std::ranges::count(x, 0.0);
}

void for_each_part(const std::vector<int>& level, const Algebra& algebra,
                   const std::function<void(std::span<const int> columns, const Algebra&)>& work) {
  const std::size_t columns = std::max(eliminated_at_once, (level.size() + most_blocks - 1) / most_blocks);
  const auto parts = static_cast<int>((level.size() + columns - 1) / columns);
  const auto part = [&](int i, const Algebra& own) {
    const std::size_t begin = at(i) * columns;
    work(std::span(level).subspan(begin, std::min(columns, level.size() - begin)), own);
  };
  if (parts == 1) {
    part(0, algebra);
    return;
  }
  algebra.for_each(parts, part);
}

/// True if no two runs (random effects) share a nonzero.
bool runs_are_apart(const PartedMatrix& a) {
  std::vector<std::size_t> run_at;  // run of each coefficient of the part
  for (std::size_t run = 0; run < a.part().runs().size(); ++run)
    run_at.insert(run_at.end(), at(a.part().runs()[run].size), run);
  bool apart = true;
  a.for_each_beside([&](std::size_t, int i, int j) { apart = apart && run_at[at(i)] == run_at[at(j)]; });
  return apart;
}

void append(SparsePattern& pattern, std::vector<int> rows) {
  std::ranges::sort(rows);
  pattern.rows.insert(pattern.rows.end(), rows.begin(), rows.end());
  pattern.begins.push_back(std::ssize(pattern.rows));
}

}  // namespace

/// Quotient graph. A node's neighbours are its `nodes`, and the members of its `elements` (eliminated nodes).
struct EliminationOrder::Graph {
  Graph(const PartedMatrix& a, const std::vector<int>& core_columns, int dense)
      : part(a.part().size()),
        live(part + static_cast<int>(core_columns.size())),
        fixed(a.core.rows()),
        dense_columns(dense),
        nodes(at(live)),
        elements(at(live)),
        members(at(live)),
        degree(at(live)),
        mark(at(live), -1),
        counted(at(live), -1),
        outside(at(live)),
        gone(at(live)) {
    const auto connect = [&](int i, int j) {
      nodes[at(i)].push_back(j);
      nodes[at(j)].push_back(i);
    };
    a.for_each_beside([&](std::size_t, int i, int j) { connect(i, j); });
    for (std::size_t k = 0; k < core_columns.size(); ++k) {
      const auto column = a.border.column(core_columns[k]);
      for (int i = 0; i < part; ++i) {
        if (column[at(i)] != 0) connect(i, part + static_cast<int>(k));
      }
    }
    left = part;
  }

  [[nodiscard]] std::vector<int> neighbours(int i) {
    std::vector<int> found;
    mark[at(i)] = i;
    const auto take = [&](int j) {
      if (gone[at(j)] || mark[at(j)] == i) return;
      mark[at(j)] = i;
      found.push_back(j);
    };
    for (const int j : nodes[at(i)]) take(j);
    for (const int e : elements[at(i)])
      for (const int j : members[at(e)]) take(j);
    return found;
  }
  /// True if eliminating a coefficient with `met` neighbours costs more than keeping it in the dense S.
  [[nodiscard]] bool better_kept(std::size_t met) const {
    const double own = static_cast<double>(met) + dense_columns;
    const double all = static_cast<double>(left) + fixed;
    return rate_of_dense * own * own > all * all;
  }
  /// Eliminates node `i`, which becomes an element. `met`: the result of the last `neighbours(i)`.
  void eliminate(int i, const std::vector<int>& met) {
    eliminate_early(i, met);
    for (const int j : met) {
      std::erase_if(nodes[at(j)], [&](int k) { return mark[at(k)] == i; });
      std::erase_if(elements[at(j)], [&](int e) { return gone[at(e)] == 2; });
    }
  }
  /// Eliminates `i` before the ordering begins; leaves stale entries in neighbours' lists for `clean`.
  void eliminate_early(int i, const std::vector<int>& met) {
    for (const int e : elements[at(i)]) {
      gone[at(e)] = 2;
      members[at(e)] = {};
    }
    gone[at(i)] = 1;
    --left;
    for (const int j : met) elements[at(j)].push_back(i);
    members[at(i)] = met;
    nodes[at(i)] = {};
    elements[at(i)] = {};
  }
  void clean() {
    for (int j = 0; j < live; ++j) {
      if (gone[at(j)]) continue;
      std::erase_if(elements[at(j)], [&](int e) { return gone[at(e)] == 2; });
      const int own = -2 - j;  // differs from all marks of `neighbours`
      for (const int e : elements[at(j)])
        for (const int k : members[at(e)]) mark[at(k)] = own;
      std::erase_if(nodes[at(j)], [&](int k) { return gone[at(k)] || mark[at(k)] == own; });
    }
  }
  /// Updates degree bounds after the elimination of `i`; calls `changed(j)` for each changed bound.
  template <class Use>
  void update_degrees(int i, const Use& changed) {
    const std::vector<int>& met = members[at(i)];
    for (const int j : met) {
      for (const int e : elements[at(j)]) {
        if (e == i) continue;
        if (counted[at(e)] != i) {
          counted[at(e)] = i;
          outside[at(e)] = static_cast<int>(members[at(e)].size());
        }
        --outside[at(e)];
      }
    }
    const int others = static_cast<int>(met.size()) - 1;
    for (const int j : met) {
      // Aggressive absorption: drops elements whose members are all members of `i`.
      std::erase_if(elements[at(j)], [&](int e) { return e != i && outside[at(e)] == 0; });
      std::int64_t bound = std::ssize(nodes[at(j)]) + others;
      for (const int e : elements[at(j)]) bound += e == i ? 0 : outside[at(e)];
      bound = std::min<std::int64_t>({bound, live - 1, std::int64_t{degree[at(j)]} + others});
      if (degree[at(j)] == bound) continue;
      degree[at(j)] = static_cast<int>(bound);
      changed(j);
    }
  }

  int part;           ///< number of nodes of the part, which come first; then columns of the core
  int live;           ///< total number of nodes
  int fixed;          ///< number of coefficients of the core
  int dense_columns;  ///< number of coefficients of the core that are adjacent to all nodes
  int left = 0;       ///< number of nodes of the part not yet eliminated
  std::vector<std::vector<int>> nodes, elements, members;
  std::vector<int> degree, mark, counted, outside;
  std::vector<char> gone;  ///< 1: eliminated, 2: element absorbed by a later element
};

EliminationOrder::EliminationOrder(const PartedMatrix& a, const std::vector<bool>& will_be_dense) {
  const int part = a.part().size();
  order.resize(at(part));
  std::iota(order.begin(), order.end(), 0);
  place = order;
  eliminated_ = part;
  if (!a.pattern()) {
    lower.begins.resize(at(part) + 1);
    return;
  }
  has_pattern_ = true;
  std::vector<int> core_columns;  // sparse columns of the core
  for (int j = 0; j < a.border.cols(); ++j) {
    const bool counts_as_dense = !will_be_dense.empty() && will_be_dense[at(j)];
    if (!counts_as_dense && nonzeros(a.border.column(j)) * dense_part < part) core_columns.push_back(j);
  }
  Graph graph(a, core_columns, a.border.cols() - static_cast<int>(core_columns.size()));
  order.clear();
  std::vector<std::vector<int>> structs;
  const auto put = [&](int i, std::vector<int> met) {
    order.push_back(i);
    structs.push_back(std::move(met));
  };

  const std::vector<Part::Run>& runs = a.part().runs();
  const auto largest = at(std::ranges::max_element(runs, {}, &Part::Run::size) - runs.begin());
  const bool apart = runs_are_apart(a);
  const auto mean = a.pattern()->rows.size() / at(apart ? part : runs[largest].size) + 1;
  const auto others = at(part - runs[largest].size + a.core.rows());
  for (std::size_t run = apart ? 0 : largest; run < (apart ? runs.size() : largest + 1); ++run) {
    const int first = a.part().begin_of(run);
    for (int i = first; i < first + runs[run].size; ++i) {
      std::vector<int> met = graph.neighbours(i);
      // Eliminating a coefficient with many neighbours causes too much fill-in: leave it to the loop below.
      if (met.size() > std::max(10 * mean, others / 4)) continue;
      graph.eliminate_early(i, met);
      put(i, std::move(met));
    }
  }
  graph.clean();

  std::vector<std::vector<int>> waiting(at(graph.live));  // by degree; stale entries are skipped
  std::size_t least = 0;
  const auto wait = [&](int i) {
    if (i >= part || graph.gone[at(i)] != 0) return;
    waiting[at(graph.degree[at(i)])].push_back(i);
    least = std::min(least, at(graph.degree[at(i)]));
  };
  for (int i = graph.live; i-- > 0;) {
    std::int64_t bound = std::ssize(graph.nodes[at(i)]);
    for (const int e : graph.elements[at(i)]) bound += std::ssize(graph.members[at(e)]) - 1;
    graph.degree[at(i)] = static_cast<int>(std::min<std::int64_t>(bound, graph.live - 1));
    wait(i);
  }
  while (graph.left > 0) {
    while (waiting[least].empty()) ++least;
    const int next = waiting[least].back();
    waiting[least].pop_back();
    if (graph.gone[at(next)] != 0 || at(graph.degree[at(next)]) != least) continue;
    std::vector<int> met = graph.neighbours(next);
    if (graph.better_kept(met.size())) break;
    graph.eliminate(next, met);
    put(next, std::move(met));
    graph.update_degrees(next, wait);
  }
  eliminated_ = static_cast<int>(order.size());
  for (int i = 0; i < part; ++i) {
    if (graph.gone[at(i)] == 0) order.push_back(i);
  }
  for (int i = 0; i < part; ++i) place[at(order[at(i)])] = i;
  take(structs, core_columns);
  find_blocks();
  for (int j = 0; j < a.border.cols(); ++j) {
    if (!std::ranges::binary_search(core_columns, j)) dense.push_back(left() + j);
  }
}

void EliminationOrder::find_blocks() {
  // Dense products with larger blocks are expensive. A level of a factor smooth has fewer coefficients.
  constexpr std::size_t most = 100;
  if (left() > 0) return;
  std::vector<bool> taken(at(eliminated_));
  for (int j = 0; j < eliminated_; ++j) {
    if (taken[at(j)]) continue;
    const std::span<const int> others = lower.rows_of(j);
    bool is_dense = others.size() < most;
    for (std::size_t i = 0; i < others.size() && is_dense; ++i) {
      is_dense = !taken[at(others[i])] && std::ranges::equal(lower.rows_of(others[i]), others.subspan(i + 1));
      taken[at(others[i])] = true;
    }
    if (!is_dense) {
      blocks.clear();
      return;
    }
    blocks.push_back(j);
  }
}

/// Builds patterns and levels from each coefficient's neighbours at its elimination.
void EliminationOrder::take(const std::vector<std::vector<int>>& structs,
                            const std::vector<int>& core_columns) {
  const int part = static_cast<int>(order.size());
  std::vector<std::vector<int>> by_row(at(eliminated_));
  std::vector<int> level(at(eliminated_));
  for (int j = 0; j < eliminated_; ++j) {
    std::vector<int> inner;
    std::vector<int> outer;
    for (const int node : structs[at(j)]) {
      const int own = node < part ? place[at(node)] : part + core_columns[at(node - part)];
      if (own < eliminated_)
        inner.push_back(own);
      else
        outer.push_back(own - eliminated_);
    }
    append(lower, std::move(inner));
    append(beside, std::move(outer));
    for (const int i : lower.rows_of(j)) {
      level[at(i)] = std::max(level[at(i)], level[at(j)] + 1);
      by_row[at(i)].push_back(j);
    }
    if (at(level[at(j)]) >= levels.size()) levels.resize(at(level[at(j)]) + 1);
    levels[at(level[at(j)])].push_back(j);
  }
  for (int i = 0; i < eliminated_; ++i) {
    append(rows, by_row[at(i)]);
    for (const int j : rows.rows_of(i)) row_places.push_back(lower.find(i, j));
  }
}

std::vector<double> in_order(std::span<const double> x, const Part& part, const EliminationOrder& order) {
  const std::vector<double> own = part_of(x, part);
  const std::vector<double> core = core_of(x, part);
  std::vector<double> out;
  out.reserve(x.size());
  for (const int i : order.order) out.push_back(own[at(i)]);
  out.insert(out.end(), core.begin(), core.end());
  return out;
}

std::vector<double> from_order(std::span<const double> x, const Part& part, const EliminationOrder& order) {
  std::vector<double> own(order.order.size());
  for (std::size_t k = 0; k < own.size(); ++k) own[at(order.order[k])] = x[k];
  return with_part(x.subspan(own.size()), own, part);
}

OrderedMatrix in_order(const PartedMatrix& a, std::shared_ptr<const EliminationOrder> order,
                       const std::vector<bool>& will_be_dense) {
  OrderedMatrix out;
  const int first = order->eliminated();
  const int left = order->left();
  if (!a.pattern()) {
    out.order = std::move(order);
    if (a.is_parted()) out.border = Border(a.border, will_be_dense);
    out.diagonal = a.diagonal;
    out.outer = a.core;
    return out;
  }
  out.diagonal.resize(at(first));
  out.lower.resize(order->lower.rows.size());
  out.border = Border(left + a.core.rows(), order->dense, order->beside);
  out.outer = Matrix(left + a.core.rows(), left + a.core.rows());
  assign(out.outer, left, left, a.core);
  const auto set = [&](int i, int j, double value) {
    const auto [low, high] = std::minmax({i, j});
    if (high < first)
      (low == high ? out.diagonal[at(low)] : out.lower[at(order->lower.find(high, low))]) = value;
    else if (low < first)
      out.border.set(low, high - first, value);
    else
      out.outer(low - first, high - first) = out.outer(high - first, low - first) = value;
  };
  const auto place = [&](int i) { return order->place[at(i)]; };
  for (std::size_t i = 0; i < a.diagonal.size(); ++i) set(order->place[i], order->place[i], a.diagonal[i]);
  a.for_each_beside([&](std::size_t k, int i, int j) { set(place(i), place(j), a.beside[k]); });
  for (int j = 0; j < a.border.cols(); ++j) {
    for (int i = 0; i < a.border.rows(); ++i) {
      if (a.border(i, j) != 0) set(place(i), first + left + j, a.border(i, j));
    }
  }
  out.order = std::move(order);
  return out;
}

std::vector<double> OrderedMatrix::times(std::span<const double> x) const {
  const auto first = x.first(diagonal.size());
  const auto rest = x.subspan(diagonal.size());
  std::vector<double> out = multiply(outer, rest);
  if (diagonal.empty()) return out;
  const std::vector<double> below = border.transposed_times(first);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += below[i];
  std::vector<double> own = border.times(rest);
  for (std::size_t i = 0; i < own.size(); ++i) own[i] += diagonal[i] * first[i];
  for (int j = 0; !lower.empty() && j < eliminated(); ++j) {
    auto k = at(order->lower.begins[at(j)]);
    for (const int i : order->lower.rows_of(j)) {
      own[at(i)] += lower[k] * first[at(j)];
      own[at(j)] += lower[k] * first[at(i)];
      ++k;
    }
  }
  out.insert(out.begin(), own.begin(), own.end());
  return out;
}

void EliminatedBlock::forward(std::span<double> x) const {
  if (lower.empty()) return;
  for (int j = 0; j < order->eliminated(); ++j) {
    auto k = at(order->lower.begins[at(j)]);
    for (const int i : order->lower.rows_of(j)) x[at(i)] -= lower[k++] * x[at(j)];
  }
}

void EliminatedBlock::backward(std::span<double> x) const {
  if (lower.empty()) return;
  for (int j = order->eliminated(); j-- > 0;) {
    auto k = at(order->lower.begins[at(j)]);
    for (const int i : order->lower.rows_of(j)) x[at(j)] -= lower[k++] * x[at(i)];
  }
}

namespace {

/// Left-looking LDL' factorisation, one column at a time.
class ColumnFactor {
 public:
  explicit ColumnFactor(EliminatedBlock& block)
      : block_(block),
        order_(*block.order),
        in_lower_(at(order_.eliminated())),
        in_border_(at(block.own->columns())) {}

  [[nodiscard]] bool factor(int k) {
    const std::span<double> own = values_of(k);
    const std::span<double> beside = block_.own->values_of(k);
    number(order_.lower.rows_of(k), in_lower_);
    number(order_.beside.rows_of(k), in_border_);
    double pivot = block_.diagonal[at(k)];
    auto next = at(order_.rows.begins[at(k)]);
    for (const int j : order_.rows.rows_of(k)) {
      const auto from = at(order_.row_places[next++]);
      const double factor = block_.lower[from];
      const double scaled = factor * block_.diagonal[at(j)];
      pivot -= factor * scaled;
      const auto end = at(order_.lower.begins[at(j) + 1]);
      for (auto m = from + 1; m < end; ++m)
        own[at(in_lower_[at(order_.lower.rows[m])])] -= scaled * block_.lower[m];
      const std::span<const int> places = order_.beside.rows_of(j);
      const std::span<const double> values = std::as_const(*block_.own).values_of(j);
      for (std::size_t m = 0; m < places.size(); ++m)
        beside[at(in_border_[at(places[m])])] -= factor * values[m];
      add_multiple(block_.own->dense_of(k), -factor, std::as_const(*block_.own).dense_of(j));
    }
    if (!(pivot > 0) || !std::isfinite(pivot)) return false;
    block_.diagonal[at(k)] = pivot;
    for (double& value : own) value /= pivot;
    return true;
  }

 private:
  [[nodiscard]] std::span<double> values_of(int k) {
    const auto begin = at(order_.lower.begins[at(k)]);
    return std::span(block_.lower).subspan(begin, at(order_.lower.begins[at(k) + 1]) - begin);
  }
  static void number(std::span<const int> places, std::vector<int>& numbers) {
    for (std::size_t i = 0; i < places.size(); ++i) numbers[at(places[i])] = static_cast<int>(i);
  }

  EliminatedBlock& block_;
  const EliminationOrder& order_;
  std::vector<int> in_lower_;   ///< by row: index in the current column
  std::vector<int> in_border_;  ///< by outer column: index in the current row of W
};

}  // namespace

std::optional<EliminatedBlock> eliminate(const OrderedMatrix& a, std::vector<double> diagonal,
                                         const Algebra& algebra) {
  EliminatedBlock block{a.order, std::move(diagonal), a.lower, {}};
  if (a.order->levels.empty()) {
    const bool positive =
        std::ranges::all_of(block.diagonal, [](double d) { return d > 0 && std::isfinite(d); });
    if (!positive) return std::nullopt;
    return block;
  }
  block.own = a.border;
  std::atomic<bool> positive = true;
  for (const std::vector<int>& level : a.order->levels) {
    algebra.check_cancelled();
    for_each_part(level, algebra, [&](std::span<const int> columns, const Algebra&) {
      ColumnFactor factor(block);
      for (const int k : columns) {
        if (positive && !factor.factor(k)) positive = false;
      }
    });
    if (!positive) return std::nullopt;
  }
  return block;
}

namespace {

TESSERA_TARGET_CLONES double wide_dot(std::span<const double> x, std::span<const double> y) {
  using Four = double __attribute__((vector_size(32)));
  Four sum{};
  const std::size_t whole = x.size() / 4 * 4;
  for (std::size_t i = 0; i < whole; i += 4) {
    Four a;
    Four b;
    std::memcpy(&a, x.data() + i, sizeof a);
    std::memcpy(&b, y.data() + i, sizeof b);
    sum = sum + a * b;
  }
  double rest = 0;
  for (std::size_t i = whole; i < x.size(); ++i) rest += x[i] * y[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]) + rest;
}

/// Computes columns of the inverse, from last to first, by Takahashi's recurrence.
class ColumnInverse {
 public:
  ColumnInverse(const EliminatedBlock& block, const Border& border, const Matrix& outer_inverse,
                const Matrix& dense_rows, SelectedInverse& out)
      : block_(block),
        border_(border),
        order_(*block.order),
        outer_(outer_inverse),
        dense_rows_(dense_rows),
        out_(out),
        in_lower_(at(order_.eliminated())),
        in_border_(at(outer_.rows())) {}

  /// Computes only diagonal element j. Requires empty row and column j of L. `through`: as in `invert`.
  void invert_diagonal(int j, std::span<const double> through) {
    load(j);
    const std::span<const int> outer = order_.beside.rows_of(j);
    double form = wide_dot(l_dense_, through);
    for (std::size_t a = 0; a < outer.size(); ++a) {
      const double* const column = outer_.column(outer[a]).data();
      double sum = wide_dot(dense_rows_.column(outer[a]), l_dense_) + 0.5 * column[outer[a]] * l_outer_[a];
      for (std::size_t b = 0; b < a; ++b) sum += column[outer[b]] * l_outer_[b];
      form += 2 * l_outer_[a] * sum;
    }
    out_.diagonal[at(j)] = 1 / block_.diagonal[at(j)] + form;
  }
  /// Computes column j, from the columns i of the inverse for all i in the pattern of column j of L.
  /// `through`: V_dd (W' D^-1)_dj, where d are the dense columns.
  void invert(int j, std::span<const double> through) {
    const std::span<const int> inner = order_.lower.rows_of(j);
    const std::span<const int> outer = order_.beside.rows_of(j);
    const double pivot = block_.diagonal[at(j)];
    load(j);
    number(inner, in_lower_, 1);
    number(outer, in_border_, 1);
    std::vector<double> to_inner(inner.size());
    std::vector<double> to_outer(outer.size());
    std::vector<double> to_dense(through.begin(), through.end());
    for (std::size_t a = 0; a < inner.size(); ++a) {
      const int i = inner[a];
      const std::span<const double> dense = std::as_const(out_.border).dense_of(i);
      double sum = out_.diagonal[at(i)] * l_inner_[a] + wide_dot(dense, l_dense_);
      auto place = at(order_.lower.begins[at(i)]);
      for (const int m : order_.lower.rows_of(i)) {
        const double value = out_.lower[place++];
        if (const int b = in_lower_[at(m)]; b > 0) {
          sum += value * l_inner_[at(b - 1)];
          to_inner[at(b - 1)] += value * l_inner_[a];
        }
      }
      const std::span<const int> places = order_.beside.rows_of(i);
      const std::span<const double> values = std::as_const(out_.border).values_of(i);
      for (std::size_t m = 0; m < places.size(); ++m) {
        if (const int b = in_border_[at(places[m])]; b > 0) {
          sum += values[m] * l_outer_[at(b - 1)];
          to_outer[at(b - 1)] += values[m] * l_inner_[a];
        }
      }
      to_inner[a] += sum;
      add_multiple(to_dense, l_inner_[a], dense);
    }
    for (std::size_t a = 0; a < outer.size(); ++a) {
      const double* const column = outer_.column(outer[a]).data();
      double sum = wide_dot(dense_rows_.column(outer[a]), l_dense_);
      for (std::size_t b = 0; b < outer.size(); ++b) sum += column[outer[b]] * l_outer_[b];
      to_outer[a] += sum;
      add_multiple(to_dense, l_outer_[a], dense_rows_.column(outer[a]));
    }
    number(inner, in_lower_, 0);
    number(outer, in_border_, 0);
    out_.diagonal[at(j)] =
        1 / pivot + (dot(l_inner_, to_inner) + dot(l_outer_, to_outer) + dot(l_dense_, to_dense));
    const auto begin = out_.lower.begin() + order_.lower.begins[at(j)];
    std::ranges::transform(to_inner, begin, std::negate());
    std::ranges::transform(to_outer, out_.border.values_of(j).begin(), std::negate());
    std::ranges::transform(to_dense, out_.border.dense_of(j).begin(), std::negate());
  }

 private:
  /// Loads column j of [L; W' D^-1].
  void load(int j) {
    const auto begin = block_.lower.begin() + order_.lower.begins[at(j)];
    l_inner_.assign(begin, block_.lower.begin() + order_.lower.begins[at(j) + 1]);
    const auto scaled = [&](std::span<const double> from, std::vector<double>& to) {
      to.assign(from.begin(), from.end());
      for (double& value : to) value /= block_.diagonal[at(j)];
    };
    scaled(border_.values_of(j), l_outer_);
    scaled(border_.dense_of(j), l_dense_);
  }
  static void number(std::span<const int> places, std::vector<int>& numbers, int step) {
    for (std::size_t i = 0; i < places.size(); ++i) numbers[at(places[i])] = step * (static_cast<int>(i) + 1);
  }

  const EliminatedBlock& block_;
  const Border& border_;  ///< W
  const EliminationOrder& order_;
  const Matrix& outer_;
  const Matrix& dense_rows_;
  SelectedInverse& out_;
  std::vector<int> in_lower_;   ///< by row: index in the current column plus 1; 0 if absent
  std::vector<int> in_border_;  ///< by outer column: index in the current row of W plus 1; 0 if absent
  std::vector<double> l_inner_, l_outer_, l_dense_;
};

}  // namespace

SelectedInverse selected_inverse(const OrderedMatrix& a, const EliminatedBlock& block,
                                 const Matrix& outer_inverse, const Algebra& algebra, bool only_diagonal) {
  const EliminationOrder& order = *block.order;
  const Border& border = block.border(a);
  SelectedInverse out{std::vector<double>(block.diagonal.size()), std::vector<double>(block.lower.size()),
                      Border(outer_inverse.rows(), order.dense, order.beside)};
  std::vector<int> all(at(outer_inverse.rows()));
  std::iota(all.begin(), all.end(), 0);
  const Matrix dense_rows = submatrix(outer_inverse, order.dense, all);
  std::vector<int> own_rows(order.dense.size());
  std::iota(own_rows.begin(), own_rows.end(), 0);
  const Matrix within = submatrix(dense_rows, own_rows, order.dense);
  for (auto level = order.levels.rbegin(); level != order.levels.rend(); ++level) {
    algebra.check_cancelled();
    for_each_part(*level, algebra, [&](std::span<const int> columns, const Algebra& alone) {
      Matrix beside(static_cast<int>(order.dense.size()), static_cast<int>(columns.size()));
      for (std::size_t k = 0; k < columns.size(); ++k) {
        const auto to = beside.column(static_cast<int>(k));
        std::ranges::copy(border.dense_of(columns[k]), to.begin());
        for (double& value : to) value /= block.diagonal[at(columns[k])];
      }
      const Matrix through = alone.multiply(within, beside);
      ColumnInverse inverse(block, border, outer_inverse, dense_rows, out);
      for (std::size_t k = 0; k < columns.size(); ++k) {
        const auto own = through.column(static_cast<int>(k));
        const bool alone_there =
            order.lower.rows_of(columns[k]).empty() && order.rows.rows_of(columns[k]).empty();
        if (only_diagonal && alone_there)
          inverse.invert_diagonal(columns[k], own);
        else
          inverse.invert(columns[k], own);
      }
    });
  }
  return out;
}

namespace {

class DenseBlocks {
 public:
  DenseBlocks(const EliminatedBlock& block, const Border& border, const Matrix& outer_inverse,
              BlockInverse& inverse)
      : block_(block), order_(*block.order), border_(border), outer_(outer_inverse), out_(inverse) {
    std::vector<int> all(at(outer_.rows()));
    std::iota(all.begin(), all.end(), 0);
    dense_rows_ = submatrix(outer_, order_.dense, all);
    std::vector<int> own_rows(order_.dense.size());
    std::iota(own_rows.begin(), own_rows.end(), 0);
    within_ = submatrix(dense_rows_, own_rows, order_.dense);
  }

  void invert(std::span<const int> firsts, const Algebra& alone) const {
    std::vector<int> rows;
    for (const int first : firsts) {
      const std::vector<int> members = members_of(first);
      solve(members);
      rows.insert(rows.end(), members.begin(), members.end());
    }
    Matrix beside(static_cast<int>(order_.dense.size()), static_cast<int>(rows.size()));
    for (std::size_t k = 0; k < rows.size(); ++k)
      std::ranges::copy(std::as_const(out_.solved).dense_of(rows[k]),
                        beside.column(static_cast<int>(k)).begin());
    const Matrix through = alone.multiply(within_, beside);
    int next = 0;
    for (const int first : firsts) {
      const std::vector<int> members = members_of(first);
      add_outer(members, through, next);
      next += static_cast<int>(members.size());
    }
  }

 private:
  [[nodiscard]] std::vector<int> members_of(int first) const {
    std::vector<int> members{first};
    const std::span<const int> others = order_.lower.rows_of(first);
    members.insert(members.end(), others.begin(), others.end());
    return members;
  }
  [[nodiscard]] std::size_t place_below(const std::vector<int>& members, int i, int j) const {
    return at(order_.lower.begins[at(members[at(j)])] + i - j - 1);
  }

  /// The block's rows of A11^-1 and A11^-1 A12.
  void solve(const std::vector<int>& members) const {
    const int size = static_cast<int>(members.size());
    // root = L^-1.
    Matrix root = identity(size);
    for (int c = 0; c < size; ++c) {
      for (int k = c; k < size; ++k) {
        const double* const column = block_.lower.data() + order_.lower.begins[at(members[at(k)])];
        for (int i = k + 1; i < size; ++i) root(i, c) -= column[i - k - 1] * root(k, c);
      }
    }
    for (int j = 0; j < size; ++j) {
      for (int i = j; i < size; ++i) {
        double sum = 0;
        for (int k = i; k < size; ++k) sum += root(k, i) * root(k, j) / block_.diagonal[at(members[at(k)])];
        if (i == j)
          out_.diagonal[at(members[at(i)])] = sum;
        else
          out_.lower[place_below(members, i, j)] = sum;
      }
    }
    for (int i = 0; i < size; ++i) {
      const std::span<double> dense = out_.solved.dense_of(members[at(i)]);
      for (int k = i; k < size; ++k) {
        const int from = members[at(k)];
        const double factor = root(k, i) / block_.diagonal[at(from)];
        add_multiple(dense, factor, border_.dense_of(from));
        const std::span<const int> places = border_.places_of(from);
        const std::span<const double> values = border_.values_of(from);
        for (std::size_t p = 0; p < places.size(); ++p)
          out_.solved.set(members[at(i)], places[p],
                          out_.solved(members[at(i)], places[p]) + factor * values[p]);
      }
    }
  }

  /// Writes the block of A^-1: the block of A11^-1 plus U V U', where U is the block's rows of A11^-1 A12.
  /// `through`: V_dd U_d' from column `next` on, where d are the dense columns.
  void add_outer(const std::vector<int>& members, const Matrix& through, int next) const {
    const Border& solved = out_.solved;
    const std::span<const int> places = solved.places_of(members.front());
    std::vector<double> to_places(places.size());
    for (int j = 0; j < static_cast<int>(members.size()); ++j) {
      const auto of_j = through.column(next + j);
      std::vector<double> to_dense(of_j.begin(), of_j.end());
      const std::span<const double> dense = solved.dense_of(members[at(j)]);
      const std::span<const double> values = solved.values_of(members[at(j)]);
      for (std::size_t a = 0; a < places.size(); ++a) {
        add_multiple(to_dense, values[a], dense_rows_.column(places[a]));
        to_places[a] = wide_dot(dense_rows_.column(places[a]), dense);
        for (std::size_t b = 0; b < places.size(); ++b)
          to_places[a] += outer_(places[b], places[a]) * values[b];
      }
      for (int i = j; i < static_cast<int>(members.size()); ++i) {
        const double sum = wide_dot(solved.dense_of(members[at(i)]), to_dense) +
                           wide_dot(solved.values_of(members[at(i)]), to_places);
        if (i == j) {
          out_.whole_diagonal[at(members[at(i)])] = out_.diagonal[at(members[at(i)])] + sum;
        } else {
          const std::size_t place = place_below(members, i, j);
          out_.whole_lower[place] = out_.lower[place] + sum;
        }
      }
    }
  }

  const EliminatedBlock& block_;
  const EliminationOrder& order_;
  const Border& border_;  ///< W
  const Matrix& outer_;   ///< V
  Matrix dense_rows_, within_;
  BlockInverse& out_;
};

}  // namespace

BlockInverse block_inverse(const OrderedMatrix& a, const EliminatedBlock& block, const Matrix& outer_inverse,
                           const Algebra& algebra) {
  const EliminationOrder& order = *block.order;
  const Border& reduced = block.border(a);
  // Because of fill-in, the last row of a block in W has the columns of all the block's rows. Every row of
  // `solved` gets this pattern.
  SparsePattern pattern;
  std::vector<int> last(at(order.eliminated()));
  for (const int first : order.blocks) {
    const std::span<const int> others = order.lower.rows_of(first);
    const int end = others.empty() ? first : others.back();
    last[at(first)] = end;
    for (const int other : others) last[at(other)] = end;
  }
  for (const int end : last) {
    const std::span<const int> places = order.beside.rows_of(end);
    pattern.rows.insert(pattern.rows.end(), places.begin(), places.end());
    pattern.begins.push_back(std::ssize(pattern.rows));
  }
  const std::vector<double> diagonal(block.diagonal.size());
  const std::vector<double> lower(block.lower.size());
  BlockInverse out{diagonal, lower, diagonal, lower, Border(reduced.columns(), order.dense, pattern)};
  const DenseBlocks blocks(block, reduced, outer_inverse, out);
  algebra.check_cancelled();
  for_each_part(order.blocks, algebra,
                [&](std::span<const int> firsts, const Algebra& alone) { blocks.invert(firsts, alone); });
  return out;
}

PartedMatrix parted_inverse(const PartedMatrix& like, const OrderedMatrix& a, const EliminatedBlock& block,
                            const Matrix& outer_inverse, const Algebra& algebra) {
  const EliminationOrder& order = *block.order;
  const Border& border = block.border(a);
  const int first = order.eliminated();
  const int left = order.left();
  PartedMatrix inverse(like.size(), like.part(), like.pattern());
  const int core = inverse.core.rows();
  inverse.core = submatrix(outer_inverse, left, core, left, core);
  algebra.for_each(core, [&](int j, const Algebra&) {
    // -L'^-1 D^-1 W v for a column v.
    const auto column = outer_inverse.column(left + j);
    std::vector<double> own = border.times(column);
    for (std::size_t i = 0; i < own.size(); ++i) own[i] /= -block.diagonal[i];
    block.backward(own);
    const auto to = inverse.border.column(j);
    for (int i = 0; i < first; ++i) to[at(order.order[at(i)])] = own[at(i)];
    for (int i = 0; i < left; ++i) to[at(order.order[at(first + i)])] = column[at(i)];
  });
  const SelectedInverse selected = selected_inverse(a, block, outer_inverse, algebra);
  const auto element = [&](int i, int j) {
    const auto [low, high] = std::minmax({order.place[at(i)], order.place[at(j)]});
    if (low >= first) return outer_inverse(low - first, high - first);
    if (high >= first) return selected.border(low, high - first);
    return low == high ? selected.diagonal[at(low)] : selected.lower[at(order.lower.find(high, low))];
  };
  for (std::size_t i = 0; i < inverse.diagonal.size(); ++i)
    inverse.diagonal[i] = element(static_cast<int>(i), static_cast<int>(i));
  inverse.for_each_beside([&](std::size_t k, int i, int j) { inverse.beside[k] = element(i, j); });
  return inverse;
}

}  // namespace TESSERA_NAMESPACE::gam
