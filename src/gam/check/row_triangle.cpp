// SPDX-License-Identifier: Apache-2.0
#include "gam/check/row_triangle.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"
#include "gam/rows/columns.hpp"
#include "gam/rows/host_prediction.hpp"
#include "gam/rows/layout.hpp"

#include <tessera/job/together.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// R of the QR decomposition of [above; below].
Matrix joined(const Matrix& above, Matrix below) {
  if (above.rows() == 0) return below;
  if (below.rows() == 0) return above;
  Matrix both(above.rows() + below.rows(), above.cols());
  assign(both, 0, 0, above);
  assign(both, above.rows(), 0, below);
  return triangle_of(std::move(both));
}

/// R of the local rows [begin, end), updated by `at_once` rows at a time.
Matrix triangle_of_block(const HostDesignRows& design_rows, const Frame& frame, int columns,
                         std::size_t begin, std::size_t end) {
  const std::size_t at_once = std::clamp<std::size_t>(2 * at(columns), 256, 4096);
  std::vector<double> elements(std::min(at_once, end - begin) * at(columns));
  Matrix triangle(0, columns);
  for (; begin < end; begin += at_once) {
    const std::size_t last = std::min(end, begin + at_once);
    design_rows.evaluate(begin, last, std::span(elements).first((last - begin) * at(columns)));
    const auto count = std::count(frame.complete.data() + begin, frame.complete.data() + last, 1);
    if (count == 0) continue;
    Matrix stacked(triangle.rows() + static_cast<int>(count), columns);
    assign(stacked, 0, 0, triangle);
    int to = triangle.rows();
    for (std::size_t row = begin; row < last; ++row) {
      if (frame.complete[row] == 0) continue;
      const double* const from = elements.data() + (row - begin) * at(columns);
      for (int j = 0; j < columns; ++j) stacked(to, j) = from[j];
      ++to;
    }
    triangle = triangle_of(std::move(stacked));
  }
  return triangle;
}

}  // namespace

void TriangleTree::add(Node node, Matrix triangle) {
  for (;; node = {node.first + 1, node.second / 2}) {
    Matrix other;
    {
      const std::lock_guard lock(mutex_);
      const auto found = waiting_.find({node.first, node.second ^ 1});
      if (found == waiting_.end()) {
        waiting_.emplace(node, std::move(triangle));
        return;
      }
      other = std::move(found->second);
      waiting_.erase(found);
    }
    triangle = node.second % 2 == 0 ? joined(triangle, std::move(other)) : joined(other, std::move(triangle));
  }
}

std::vector<double> TriangleTree::numbers() const {
  std::vector<double> out;
  for (const auto& [node, triangle] : waiting_) {
    for (const double number : {static_cast<double>(node.first), static_cast<double>(node.second),
                                static_cast<double>(triangle.rows()), static_cast<double>(triangle.cols())})
      out.push_back(number);
    out.insert(out.end(), triangle.values().begin(), triangle.values().end());
  }
  return out;
}

void TriangleTree::add_numbers(std::span<const double> numbers) {
  while (!numbers.empty()) {
    const Node node(static_cast<int>(numbers[0]), static_cast<std::int64_t>(numbers[1]));
    Matrix triangle(static_cast<int>(numbers[2]), static_cast<int>(numbers[3]));
    numbers = numbers.subspan(4);
    std::ranges::copy(numbers.first(triangle.values().size()), triangle.values().begin());
    numbers = numbers.subspan(triangle.values().size());
    add(node, std::move(triangle));
  }
}

Matrix TriangleTree::whole() {
  // One factor remains per 1 bit of the number of blocks. Lower levels have later rows, so the map order
  // joins from the last rows to the first.
  Matrix triangle;
  for (auto& [node, one] : waiting_) triangle = triangle.cols() == 0 ? one : joined(one, std::move(triangle));
  return triangle;
}

Matrix row_triangle(Job& job, const Plan& plan, const Rows& rows) {
  const mpi::Communicator& comm = job.comm();
  const Frame& frame = *rows.frame;
  const int columns = rows.design->coef_size;
  TriangleTree tree;
  together(comm, [&] {
    const RowLayout layout(*rows.design);
    const HostDesignRows design_rows(rows, layout);
    const std::vector<int> read = variables_read(rows);
    job.host_team().for_each_block(frame.rows, plan.block(), [&](int /*thread*/, Range block) {
      const std::size_t begin = at(block.begin - frame.rows.begin);
      const std::size_t end = at(block.end - frame.rows.begin);
      for (const int variable : read) frame.variables[at(variable)].prepare_to_read(begin, end);
      tree.add(block.begin / plan.block(), triangle_of_block(design_rows, frame, columns, begin, end));
    });
  });
  // A binary tree over ranks, whose rows are consecutive.
  for (int step = 1; step < comm.size(); step *= 2) {
    const bool sends = comm.rank() % (2 * step) == step;
    std::vector<double> outgoing;
    std::vector<std::size_t> counts(at(comm.size()), 0);
    together(comm, [&] {
      if (!sends) return;
      outgoing = tree.numbers();
      counts[at(comm.rank() - step)] = outgoing.size();
    });
    const std::vector<double> arrived = comm.alltoallv(std::span<const double>(outgoing), counts);
    together(comm, [&] { tree.add_numbers(arrived); });
  }
  Matrix whole;
  together(comm, [&] {
    if (comm.rank() == 0) whole = tree.whole();
  });
  return whole;
}

}  // namespace TESSERA_NAMESPACE::gam
