// SPDX-License-Identifier: Apache-2.0
#include "gam/design/side_conditions.hpp"

#include "base/at.hpp"
#include "gam/basis/bases.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <tessera/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>

namespace tessera::gam {
namespace {

using base::at;

/// Of the square of a column: less is rounding of X'X.
constexpr double gram_tolerance = 1e-12;
/// The square root of the machine epsilon: mgcv's.
const double sample_tolerance = std::sqrt(std::numeric_limits<double>::epsilon());
/// Eigenvalues of a penalty below this, of the largest, are zero: mgcv's.
const double rank_tolerance = std::pow(std::numeric_limits<double>::epsilon(), 0.75);

using Identity = std::tuple<std::string, std::string, std::string>;  // variable, by variable, its level

int dimension(const CoefBlock& block) {
  return static_cast<int>(block.knots.size());
}

std::vector<Identity> identities(const CoefBlock& block) {
  const auto margins = at(dimension(block));
  const std::string by = block.variables.size() > margins ? block.variables.back() : "";
  std::vector<Identity> all;
  for (std::size_t i = 0; i < margins; ++i) all.emplace_back(block.variables[i], by, block.by_level);
  return all;
}

bool share_a_variable(const CoefBlock& a, const CoefBlock& b) {
  const std::vector<Identity> theirs = identities(b);
  return std::ranges::any_of(identities(a), [&](const Identity& mine) {
    return std::find(theirs.begin(), theirs.end(), mine) != theirs.end();
  });
}

/// X'X while columns are taken out of it one by one: what is left of the others.
class Remainder {
 public:
  Remainder(const Matrix& gram, std::span<const int> columns) : rest_(submatrix(gram, columns, columns)) {
    for (int j = 0; j < rest_.cols(); ++j) squares_.push_back(rest_(j, j));
  }

  /// Takes columns among [begin, end), the one with the most left first, while any has more left than
  /// rounding. Returns them in this order.
  std::vector<int> take(int begin, int end) {
    std::vector<int> waiting(at(end - begin));
    std::iota(waiting.begin(), waiting.end(), begin);
    std::vector<int> taken;
    for (;;) {
      auto next = waiting.end();
      for (auto one = waiting.begin(); one != waiting.end(); ++one) {
        if (!(rest_(*one, *one) > gram_tolerance * squares_[at(*one)])) continue;
        if (next == waiting.end() || rest_(*one, *one) > rest_(*next, *next)) next = one;
      }
      if (next == waiting.end()) return taken;
      project_out(*next);
      taken.push_back(*next);
      waiting.erase(next);
    }
  }

 private:
  void project_out(int pivot) {
    const std::vector<double> column(rest_.column(pivot).begin(), rest_.column(pivot).end());
    const double square = column[at(pivot)];
    for (int j = 0; j < rest_.cols(); ++j) {
      const double factor = column[at(j)] / square;
      if (factor == 0) continue;
      for (int i = 0; i < rest_.rows(); ++i) rest_(i, j) -= column[at(i)] * factor;
    }
  }

  Matrix rest_;
  std::vector<double> squares_;
};

/// X'X about the means, so that the constant is projected out.
Matrix centred(const ColumnSums& columns) {
  Matrix out = columns.gram;
  for (int j = 0; j < out.cols(); ++j) {
    const double mean = columns.sums[at(j)] / static_cast<double>(columns.rows);
    for (int i = 0; i < out.rows(); ++i) out(i, j) -= columns.sums[at(i)] * mean;
  }
  return out;
}

Matrix columns_of(const Matrix& a, std::span<const int> indices, bool with_constant) {
  const int first = with_constant ? 1 : 0;
  Matrix out(a.rows(), first + static_cast<int>(indices.size()));
  if (with_constant) std::ranges::fill(out.column(0), 1.0);
  for (std::size_t j = 0; j < indices.size(); ++j) {
    std::ranges::copy(a.column(indices[j]), out.column(first + static_cast<int>(j)).begin());
  }
  return out;
}

double largest_norm(const Matrix& a) {
  double largest = 0;
  for (int j = 0; j < a.cols(); ++j) largest = std::max(largest, std::sqrt(dot(a.column(j), a.column(j))));
  return largest;
}

/// Columns of the sample in the order of a pivoted QR of what those before leave of them, and how many of the
/// last are explained.
struct SampleOrder {
  std::vector<int> order;
  int explained = 0;
};

SampleOrder look_at_sample(const Matrix& before, const Matrix& own) {
  const PivotedQr qr = pivoted_qr(unexplained(before, own));
  const double least = sample_tolerance * largest_norm(before);
  const int rows = qr.r.rows();
  int independent = rows;
  double sum = 0;
  // The mean over the square that follows, the zeros below its diagonal included.
  for (; independent > 0; --independent) {
    const int row = independent - 1;
    for (int j = row; j < rows; ++j) sum += std::abs(qr.r(row, j));
    const auto size = static_cast<double>(rows - row);
    if (!(sum / (size * size) < least)) break;
  }
  return {qr.pivots, own.cols() - independent};
}

class SideConditions {
 public:
  SideConditions(const Design& design, const ColumnSums& columns, bool constant)
      : design_(design),
        columns_(columns),
        constant_(constant),
        gram_(constant_ ? centred(columns) : columns.gram),
        dropped_(design.blocks.size()) {}

  void apply(const NestedSmooth& nested) {
    std::vector<int> indices;
    for (const int block : nested.before) {
      for (int i = 0; i < block_of(block).coef_size; ++i) {
        const auto& gone = dropped_[at(block)];
        if (!std::binary_search(gone.begin(), gone.end(), i))
          indices.push_back(block_of(block).coef_begin + i);
      }
    }
    const CoefBlock& own = block_of(nested.block);
    std::vector<int> own_indices(at(own.coef_size));
    std::iota(own_indices.begin(), own_indices.end(), own.coef_begin);

    const int before = static_cast<int>(indices.size());
    indices.insert(indices.end(), own_indices.begin(), own_indices.end());
    Remainder remainder(gram_, indices);
    (void)remainder.take(0, before);
    std::vector<int> taken = remainder.take(before, before + own.coef_size);
    for (int& one : taken) one -= before;
    const int doubtful = own.coef_size - static_cast<int>(taken.size());
    if (doubtful == 0) return;

    const std::span<const int> before_indices = std::span(indices).first(at(before));
    const SampleOrder sample = look_at_sample(columns_of(columns_.sample, before_indices, constant_),
                                              columns_of(columns_.sample, own_indices, false));
    const int explained = std::min(doubtful, sample.explained);
    if (explained == own.coef_size) {
      throw Error(ErrorCode::input, fmt::format("{} holds nothing that {} does not: leave it out", own.label,
                                                labels(nested.before)));
    }
    // Those that X'X cannot tell, in the order of the sample.
    for (const int one : sample.order) {
      if (static_cast<int>(taken.size()) == own.coef_size - explained) break;
      if (std::find(taken.begin(), taken.end(), one) == taken.end()) taken.push_back(one);
    }
    std::ranges::sort(taken);
    std::vector<int>& gone = dropped_[at(nested.block)];
    for (int i = 0; i < own.coef_size; ++i) {
      if (!std::binary_search(taken.begin(), taken.end(), i)) gone.push_back(i);
    }
  }

  [[nodiscard]] std::vector<std::vector<int>> dropped() && { return std::move(dropped_); }

 private:
  [[nodiscard]] const CoefBlock& block_of(int index) const { return design_.blocks[at(index)]; }
  [[nodiscard]] std::string labels(std::span<const int> blocks) const {
    std::string text;
    for (const int block : blocks) text += (text.empty() ? "" : " + ") + block_of(block).label;
    return text;
  }

  const Design& design_;
  const ColumnSums& columns_;
  bool constant_;
  Matrix gram_;
  std::vector<std::vector<int>> dropped_;
};

struct SetSum {
  SymmetricEigen eigen;
  int rank = 0;
};

/// The sum of a set of penalties, each over its norm, by its eigenvalues.
SetSum sum_of(const std::vector<Matrix>& penalties, std::size_t set) {
  const int size = penalties.front().rows();
  Matrix sum(size, size);
  for (std::size_t j = 0; j < penalties.size(); ++j) {
    if ((set >> j & 1) == 0) continue;
    const auto values = penalties[j].values();
    const double norm = penalties.size() > 1 ? std::sqrt(dot(values, values)) : 1;
    for (std::size_t i = 0; i < values.size(); ++i) sum.values()[i] += values[i] / norm;
  }
  SetSum out{symmetric_eigen(sum), 0};
  const double least = rank_tolerance * out.eigen.values.back();
  out.rank = static_cast<int>(std::ranges::count_if(out.eigen.values, [&](double v) { return v > least; }));
  return out;
}

/// What the rest of the design has to know of penalties that are no longer those of whole bases.
void describe(Penalty& penalty) {
  const std::size_t sets = std::size_t{1} << penalty.matrices.size();
  const SetSum all = sum_of(penalty.matrices, sets - 1);
  const int size = penalty.matrices.front().rows();
  penalty.null_space = submatrix(all.eigen.vectors, 0, size, 0, size - all.rank);
  penalty.log_det_constant = 0;
  penalty.set_ranks.clear();
  if (penalty.matrices.size() == 1) {
    penalty.eigenvalues = Matrix(all.rank, 1);
    std::copy(all.eigen.values.end() - all.rank, all.eigen.values.end(), penalty.eigenvalues.data());
    return;
  }
  penalty.eigenvalues = Matrix();
  penalty.set_ranks.push_back(0);
  for (std::size_t set = 1; set + 1 < sets; ++set) {
    penalty.set_ranks.push_back(sum_of(penalty.matrices, set).rank);
  }
  penalty.set_ranks.push_back(all.rank);
}

void drop(CoefBlock& block, std::span<const int> dropped) {
  std::vector<int> kept;
  for (int i = 0; i < block.coef_size; ++i) {
    if (!std::binary_search(dropped.begin(), dropped.end(), i)) kept.push_back(i);
  }
  std::vector<int> raw(at(block.raw_size));
  std::iota(raw.begin(), raw.end(), 0);
  block.map = submatrix(block.map, raw, kept);
  block.coef_size = static_cast<int>(kept.size());
  if (!block.penalty) {
    std::vector<std::string> names;
    names.reserve(kept.size());
    for (const int i : kept) names.push_back(block.names[at(i)]);
    block.names = std::move(names);
    return;
  }
  Penalty& penalty = *block.penalty;
  std::vector<Matrix> matrices;
  std::vector<double> scales;
  for (std::size_t j = 0; j < penalty.matrices.size(); ++j) {
    Matrix part = submatrix(penalty.matrices[j], kept, kept);
    if (!(largest(part.values()) > rank_tolerance * largest(penalty.matrices[j].values()))) continue;
    matrices.push_back(std::move(part));
    scales.push_back(block.s_scale[j]);
  }
  if (matrices.empty()) {
    throw Error(ErrorCode::input, fmt::format("no penalty is left of {} beside the smooths that it contains: "
                                              "give it a larger k, or leave it out",
                                              block.label));
  }
  penalty.matrices = std::move(matrices);
  penalty.eigenvectors = {};
  block.s_scale = std::move(scales);
  describe(penalty);
  name_smooth(block);
}

}  // namespace

std::vector<NestedSmooth> nested_smooths(const Design& design) {
  std::vector<int> order;
  for (std::size_t i = 0; i < design.blocks.size(); ++i) {
    const CoefBlock& block = design.blocks[i];
    if (block.penalty && !is_random_effect(block.kind)) order.push_back(static_cast<int>(i));
  }
  const auto block_of = [&](int index) -> const CoefBlock& { return design.blocks[at(index)]; };
  std::ranges::stable_sort(order, {}, [&](int index) { return dimension(block_of(index)); });

  std::vector<NestedSmooth> nested;
  for (std::size_t i = 0; i < order.size(); ++i) {
    NestedSmooth one{order[i], {}};
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      if (share_a_variable(block_of(order[i]), block_of(order[earlier])))
        one.before.push_back(order[earlier]);
    }
    if (!one.before.empty()) nested.push_back(std::move(one));
  }
  return nested;
}

bool has_constant(const Design& design) {
  return std::ranges::any_of(design.blocks, [&](const CoefBlock& block) {
    if (block.penalty) return false;
    if (block.label == "(Intercept)") return true;
    const auto term = std::ranges::find(design.terms, block.raw_begin, &RawTerm::raw_begin);
    return block.coef_size == block.raw_size &&
           std::ranges::all_of(term->components, [](const Component& component) {
             return component.kind == Component::Kind::factor;
           });
  });
}

std::vector<std::vector<int>> dependent_columns(const Design& design, std::span<const NestedSmooth> nested,
                                                const ColumnSums& columns, bool constant) {
  SideConditions conditions(design, columns, constant);
  for (const NestedSmooth& one : nested) conditions.apply(one);
  return std::move(conditions).dropped();
}

Design without_columns(Design design, const std::vector<std::vector<int>>& dropped) {
  for (std::size_t i = 0; i < dropped.size(); ++i) {
    if (!dropped[i].empty()) drop(design.blocks[i], dropped[i]);
  }
  design.count_coefficients();
  return design;
}

}  // namespace tessera::gam
