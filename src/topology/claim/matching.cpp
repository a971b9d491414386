// SPDX-License-Identifier: Apache-2.0
#include "topology/claim/matching.hpp"

#include <algorithm>
#include <limits>

namespace TESSERA_NAMESPACE::detail {
namespace {

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

/// The assignment problem with a dummy column per row, after the real columns, for "no column". A dummy
/// column costs more than all edges of any matching, so a minimum-cost matching uses as few as possible.
class AssignmentProblem {
 public:
  AssignmentProblem(std::size_t rows, std::size_t columns, std::span<const Edge> edges)
      : rows_(rows),
        columns_(columns + rows),
        cost_(rows * columns_),
        column_of_(rows, none),
        row_of_(columns_, none),
        row_potential_(rows),
        column_potential_(columns_) {
    std::int64_t dearest = 0;
    for (const Edge& edge : edges) dearest = std::max(dearest, edge.cost);
    const std::int64_t unmatched = (dearest + 1) * static_cast<std::int64_t>(rows + 1);
    const std::int64_t forbidden = unmatched * static_cast<std::int64_t>(rows + 1);
    std::fill(cost_.begin(), cost_.end(), forbidden);
    for (const Edge& edge : edges) {
      auto& cost = cost_[edge.row * columns_ + edge.column];
      cost = std::min(cost, edge.cost);
    }
    for (std::size_t row = 0; row < rows; ++row) cost_[row * columns_ + columns + row] = unmatched;
  }

  /// Finds a minimum-cost matching of all rows, and potentials that prove its optimality.
  void solve() {
    for (std::size_t row = 0; row < rows_; ++row) add_row(row);
  }

  /// Selects the minimum-cost matching with the lexicographically lowest columns.
  void settle_ties() {
    for (std::size_t row = 0; row < rows_; ++row)
      for (std::size_t column = 0; column != column_of_[row]; ++column)
        if (tight(row, column) && move_to(row, column)) break;
  }

  [[nodiscard]] std::size_t column_of(std::size_t row) const { return column_of_[row]; }

 private:
  [[nodiscard]] std::int64_t reduced_cost(std::size_t row, std::size_t column) const {
    return cost_[row * columns_ + column] - row_potential_[row] - column_potential_[column];
  }
  [[nodiscard]] bool tight(std::size_t row, std::size_t column) const {
    return reduced_cost(row, column) == 0;
  }

  void match(std::size_t row, std::size_t column) {
    column_of_[row] = column;
    row_of_[column] = row;
  }

  /// Dijkstra's algorithm over alternating paths from `start` to the nearest free column; flips the path.
  void add_row(std::size_t start) {
    std::vector<std::int64_t> distance(columns_, std::numeric_limits<std::int64_t>::max());
    std::vector<std::size_t> from(columns_, start);
    std::vector<char> reached(columns_, 0);
    std::size_t row = start;
    std::size_t column = none;
    std::int64_t length = 0;
    while (row != none) {
      column = none;
      for (std::size_t j = 0; j < columns_; ++j) {
        if (reached[j] != 0) continue;
        if (const auto through = length + reduced_cost(row, j); through < distance[j]) {
          distance[j] = through;
          from[j] = row;
        }
        if (column == none || distance[j] < distance[column]) column = j;
      }
      length = distance[column];
      reached[column] = 1;
      row = row_of_[column];
    }
    row_potential_[start] += length;
    for (std::size_t j = 0; j < columns_; ++j) {
      if (reached[j] == 0 || j == column) continue;
      row_potential_[row_of_[j]] += length - distance[j];
      column_potential_[j] -= length - distance[j];
    }
    for (;;) {
      const std::size_t before = from[column];
      const std::size_t given_up = column_of_[before];
      match(before, column);
      if (before == start) return;
      column = given_up;
    }
  }

  /// Whether the row of column `held` may have column `wanted` in an optimal matching. For an unmatched
  /// column `held`: whether `wanted` may be unmatched.
  [[nodiscard]] bool may_swap(std::size_t held, std::size_t wanted) const {
    const std::size_t row = row_of_[held];
    return row == none ? column_potential_[wanted] == 0 : tight(row, wanted);
  }

  /// Matches `row` with `column` if the matching stays optimal and earlier rows keep their columns.
  bool move_to(std::size_t row, std::size_t column) {
    const std::size_t given_up = column_of_[row];
    const auto settled = [&](std::size_t j) { return row_of_[j] != none && row_of_[j] < row; };
    if (settled(column)) return false;
    // Breadth-first search for an alternating cycle: each row that loses its column takes another one, from
    // `column` on, until a row takes `given_up`.
    std::vector<std::size_t> before(columns_, none);
    std::vector<std::size_t> queue{column};
    before[column] = column;
    for (std::size_t next = 0; next < queue.size() && before[given_up] == none; ++next) {
      for (std::size_t j = 0; j < columns_; ++j) {
        if (before[j] != none || settled(j) || !may_swap(queue[next], j)) continue;
        before[j] = queue[next];
        queue.push_back(j);
      }
    }
    if (before[given_up] == none) return false;
    for (std::size_t at = given_up; at != column; at = before[at]) {
      const std::size_t mover = row_of_[before[at]];
      row_of_[at] = mover;
      if (mover != none) column_of_[mover] = at;
    }
    match(row, column);
    return true;
  }

  std::size_t rows_;
  std::size_t columns_;
  std::vector<std::int64_t> cost_;
  std::vector<std::size_t> column_of_;
  std::vector<std::size_t> row_of_;
  std::vector<std::int64_t> row_potential_;
  std::vector<std::int64_t> column_potential_;  // not positive; zero for unmatched columns
};

}  // namespace

std::vector<std::optional<std::size_t>> best_matching(std::size_t rows, std::size_t columns,
                                                      std::span<const Edge> edges) {
  AssignmentProblem assignment(rows, columns, edges);
  assignment.solve();
  assignment.settle_ties();
  std::vector<std::optional<std::size_t>> result(rows);
  for (std::size_t row = 0; row < rows; ++row)
    if (const auto column = assignment.column_of(row); column < columns) result[row] = column;
  return result;
}

}  // namespace TESSERA_NAMESPACE::detail
