// SPDX-License-Identifier: Apache-2.0
#include "gam/design/design.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/math/elementary.hpp"
#include "gam/data/frame/frame.hpp"
#include "gam/formula/from_syntax.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

std::vector<DesignVariable> used_variables(const Design& design) {
  std::vector<bool> used(design.variables.size());
  for (const RawTerm& term : design.terms) {
    for (const Component& component : term.components) {
      Component::for_each_variable(component, [&](int variable) { used[at(variable)] = true; });
    }
  }
  std::vector<DesignVariable> variables;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) variables.push_back(design.variables[i]);
  }
  return variables;
}

/// Rank of some columns of a matrix whose elements are 0, 1 and -1.
int column_rank(const Matrix& a, std::span<const int> columns) {
  constexpr double rounding = 1e-9;
  if (columns.empty()) return 0;
  Matrix part(a.rows(), static_cast<int>(columns.size()));
  for (int j = 0; j < part.cols(); ++j) std::ranges::copy(a.column(columns[at(j)]), part.column(j).begin());
  const Matrix r = pivoted_qr(part).r;
  int rank = 0;
  while (rank < r.rows() && std::abs(r(rank, rank)) > rounding * std::abs(r(0, 0))) ++rank;
  return rank;
}

/// Maximum number of nonzeros of a term in a row: 4^9, as for the product of nine splines.
constexpr int max_nonzeros = 1 << 18;

}  // namespace

std::vector<double> Penalty::times(std::size_t j, std::span<const double> b) const {
  if (!is_diagonal()) return multiply(matrices[j], b);
  std::vector<double> out(b.begin(), b.end());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] *= diagonal_of(j, static_cast<int>(i));
  return out;
}

Matrix Penalty::matrix(std::size_t j) const {
  if (!is_diagonal()) return matrices[j];
  Matrix whole(eigenvalues.rows(), eigenvalues.rows());
  for (int i = 0; i < whole.rows(); ++i) whole(i, i) = diagonal_of(j, i);
  return whole;
}

int Penalty::rank() const {
  return commutes() ? eigenvalues.rows() : rank_of(std::vector<bool>(count(), true));
}

int Penalty::rank_of(const std::vector<bool>& marked) const {
  if (!levels.empty()) {
    std::vector<int> own;
    int free = 0;
    for (std::size_t j = 0; j < marked.size(); ++j) {
      if (!marked[j]) continue;
      if (static_cast<int>(j) < levels.cols())
        own.push_back(static_cast<int>(j));
      else
        free = matrices.front().rows() - rank_of_level * levels.rows();
    }
    return rank_of_level * column_rank(levels, own) + free;
  }
  if (!commutes()) {
    std::size_t set = 0;
    for (std::size_t j = 0; j < marked.size(); ++j) set |= std::size_t{marked[j]} << j;
    return set_ranks[set];
  }
  // Counts the common eigenvectors that are outside the null space of at least one of the marked penalties.
  int rank = 0;
  for (int i = 0; i < eigenvalues.rows(); ++i) {
    bool touched = false;
    for (std::size_t j = 0; j < marked.size(); ++j)
      touched = touched || (marked[j] && eigenvalues(i, static_cast<int>(j)) > 0);
    rank += touched ? 1 : 0;
  }
  return rank;
}

int Penalty::rank_of(std::size_t j) const {
  std::vector<bool> marked(count());
  marked[j] = true;
  return rank_of(marked);
}

std::vector<int> Penalty::ranks_of_sets() const {
  if (!commutes()) return set_ranks;
  std::map<std::size_t, int> alike;  // number of eigenvectors that exactly these penalties penalise
  for (int i = 0; i < eigenvalues.rows(); ++i) {
    std::size_t seen_by = 0;
    for (std::size_t j = 0; j < count(); ++j)
      seen_by |= std::size_t{eigenvalues(i, static_cast<int>(j)) > 0} << j;
    ++alike[seen_by];
  }
  std::vector<int> ranks(std::size_t{1} << count());
  for (std::size_t set = 0; set < ranks.size(); ++set) {
    for (const auto& [seen_by, vectors] : alike) ranks[set] += (set & seen_by) != 0 ? vectors : 0;
  }
  return ranks;
}

std::vector<Matrix> penalties_of_levels(const Matrix& levels, const Matrix& of_level) {
  std::vector<Matrix> penalties;
  for (int j = 0; j < levels.cols(); ++j) {
    const Matrix own = submatrix(levels, 0, levels.rows(), j, 1);
    penalties.push_back(kronecker(multiply_nt(own, own), of_level));
  }
  return penalties;
}

double CoefBlock::map_at(int raw, int coef) const {
  if (has_identity_map()) return raw == coef ? 1 : 0;
  if (raw / map.rows() != coef / map.cols()) return 0;
  return map(raw % map.rows(), coef % map.cols());
}

std::pair<int, int> CoefBlock::coefficients_at(int raw) const {
  if (has_identity_map()) return {raw, raw + 1};
  const int first = raw / map.rows() * map.cols();
  return {first, first + map.cols()};
}

std::vector<double> CoefBlock::to_raw(std::span<const double> coef) const {
  if (has_identity_map()) return {coef.begin(), coef.end()};
  std::vector<double> raw;
  raw.reserve(at(raw_size));
  for (int copy = 0; copy < copies; ++copy) {
    const std::vector<double> part = multiply(map, coef.subspan(at(copy * map.cols()), at(map.cols())));
    raw.insert(raw.end(), part.begin(), part.end());
  }
  return raw;
}

std::vector<double> CoefBlock::to_coefficients(std::span<const double> raw) const {
  if (has_identity_map()) return {raw.begin(), raw.end()};
  std::vector<double> coef;
  coef.reserve(at(coef_size));
  for (int copy = 0; copy < copies; ++copy) {
    const std::vector<double> part = multiply_t(map, raw.subspan(at(copy * map.rows()), at(map.rows())));
    coef.insert(coef.end(), part.begin(), part.end());
  }
  return coef;
}

Matrix CoefBlock::map_times(Matrix a) const {
  if (has_identity_map()) return a;
  if (copies == 1) return multiply(map, a);
  Matrix out(raw_size, a.cols());
  for (int copy = 0; copy < copies; ++copy)
    assign(out, copy * map.rows(), 0,
           multiply(map, submatrix(a, copy * map.cols(), map.cols(), 0, a.cols())));
  return out;
}

Matrix CoefBlock::times_transposed_map(Matrix a) const {
  if (has_identity_map()) return a;
  if (copies == 1) return multiply_nt(a, map);
  Matrix out(a.rows(), raw_size);
  for (int copy = 0; copy < copies; ++copy)
    assign(out, 0, copy * map.rows(),
           multiply_nt(submatrix(a, 0, a.rows(), copy * map.cols(), map.cols()), map));
  return out;
}

int Design::null_space() const {
  int size = coef_size;
  for (const CoefBlock& block : blocks) {
    if (block.penalty) size -= block.penalty->rank();
  }
  return size;
}

const RawTerm& Design::term_of(const CoefBlock& block) const {
  return *std::ranges::find_if(terms, [&](const RawTerm& term) {
    return block.raw_begin >= term.raw_begin && block.raw_begin < term.raw_begin + term.raw_size;
  });
}

int Design::predictors() const {
  int last = 0;
  for (const RawTerm& term : terms) last = std::max(last, term.predictor);
  return last + 1;
}

int Design::common_readers(int one, int other) const {
  int count = 0;
  for_each_reader(one,
                  [&](int mine) { for_each_reader(other, [&](int its) { count += mine == its ? 1 : 0; }); });
  return count;
}

const CoefBlock* Design::intercept(int predictor) const {
  const auto found = std::ranges::find_if(blocks, [&](const CoefBlock& block) {
    return block.is_intercept() && predictor_of(block) == predictor;
  });
  return found == blocks.end() ? nullptr : &*found;
}

Part Design::parted_coefficients() const {
  Part part;
  for (const CoefBlock& block : blocks) {
    if (parted_columns.has(block.raw_begin)) part.add(block.coef_begin, block.coef_size);
  }
  return part;
}

bool Design::parts_curves() const {
  return std::ranges::any_of(
      terms, [&](const RawTerm& term) { return term.nonzeros > 1 && parted_columns.has(term.raw_begin); });
}

std::vector<PartLevel> Design::levels_of_part() const {
  std::vector<PartLevel> levels;
  PartLevel next{};
  for (const CoefBlock& block : blocks) {
    if (!parted_columns.has(block.raw_begin)) continue;
    const bool identity = block.has_identity_map();
    next.map = identity ? nullptr : &block.map;
    next.raw_size = identity ? 1 : block.map.rows();
    next.size = identity ? 1 : block.map.cols();
    for (int begin = 0; begin < block.coef_size; begin += next.size) {
      levels.push_back(next);
      next.raw_begin += next.raw_size;
      next.begin += next.size;
    }
  }
  return levels;
}

std::vector<std::string> Design::coef_names() const {
  std::vector<std::string> names;
  names.reserve(at(coef_size));
  for (const CoefBlock& block : blocks) names.insert(names.end(), block.names.begin(), block.names.end());
  return names;
}

std::vector<ColumnCombination> Design::combinations() const {
  if (raw_combinations.empty()) return {};
  std::map<int, int> coefficient_of;  // coefficient of the parametric column that selects each raw column
  for (const CoefBlock& block : blocks) {
    if (block.penalty) continue;
    for (int j = 0; j < block.coef_size; ++j) {
      const auto column = block.map.column(j);
      const auto selected = std::find_if(column.begin(), column.end(), [](double v) { return v != 0; });
      coefficient_of[block.raw_begin + static_cast<int>(selected - column.begin())] = block.coef_begin + j;
    }
  }
  int last = -1;
  for (const auto& [raw, coefficient] : coefficient_of) last = std::max(last, coefficient);
  std::vector<ColumnCombination> out(at(last + 1));
  for (const auto& [raw, combination] : raw_combinations) {
    const auto own = coefficient_of.find(raw);
    if (own == coefficient_of.end()) continue;
    for (const auto& [column, factor] : combination) {
      const auto found = coefficient_of.find(column);
      if (found != coefficient_of.end()) out[at(own->second)].emplace_back(found->second, factor);
    }
  }
  for (std::size_t j = 0; j < out.size(); ++j) {
    if (out[j].empty()) out[j].emplace_back(static_cast<int>(j), 1.0);
  }
  return out;
}

Matrix Design::map() const {
  Matrix whole(raw_size, coef_size);
  for (const CoefBlock& block : blocks) {
    for (int j = 0; j < block.coef_size; ++j) {
      for (int i = 0; i < block.raw_size; ++i)
        whole(block.raw_begin + i, block.coef_begin + j) = block.map_at(i, j);
    }
  }
  return whole;
}

std::vector<double> Design::raw_coefficients(std::span<const double> coef) const {
  std::vector<double> raw(at(raw_size));
  for (const CoefBlock& block : blocks) {
    const auto part = block.to_raw(coef.subspan(at(block.coef_begin), at(block.coef_size)));
    for (int i = 0; i < block.raw_size; ++i) raw[at(block.raw_begin + i)] += part[at(i)];
  }
  return raw;
}

std::size_t Design::penalty_count() const {
  std::size_t count = 0;
  for (const CoefBlock& block : blocks) {
    if (block.penalty) count += block.penalty->count();
  }
  return count;
}

double PenaltyParameter::log_lambda(double log_sp) const {
  const double own = offset + (index < 0 ? 0 : log_sp);
  return least > 0 ? base::log(least + base::exp(own)) : own;
}

double PenaltyParameter::log_sp(double log_lambda) const {
  // Limited, because lambda near its lower bound hardly depends on the parameter.
  return (least > 0 ? base::log(std::max(base::exp(log_lambda) - least, 1e-3 * least)) : log_lambda) - offset;
}

double PenaltyParameter::slope(double log_lambda) const {
  return least > 0 ? std::max(0.0, 1 - least * base::exp(-log_lambda)) : 1;
}

std::vector<PenaltyParameter> Design::parameters() const {
  struct First {
    int index;
    double factor;
    double log_sp;
  };
  std::vector<PenaltyParameter> parameters;
  std::map<std::string, First> first;
  int count = 0;
  for (const CoefBlock& block : blocks) {
    for (std::size_t j = 0; block.penalty && j < block.penalty->count(); ++j) {
      First own{count, block.by_scale, block.log_sp.empty() ? NAN : block.log_sp[j]};
      if (!block.ids.empty()) own = first.emplace(block.ids[j], own).first->second;
      const double least = block.least_sp.empty() ? 0 : block.least_sp[j] * block.by_scale * block.by_scale;
      if (!std::isnan(own.log_sp)) {
        parameters.push_back({-1, own.log_sp + 2 * base::log(block.by_scale), least});
        continue;
      }
      parameters.push_back({own.index, 2 * base::log(block.by_scale / own.factor), least});
      if (own.index == count) ++count;
    }
  }
  return parameters;
}

int Design::add_term(std::vector<Component> components) {
  if (components.size() > max_components)
    throw base::input_error("a term of the formula has {} variables, more than the maximum of {}: split it",
                            components.size(), max_components);
  RawTerm term;
  term.raw_begin = raw_size;
  std::int64_t size = 1;
  for (const Component& component : components) {
    size *= component.raw_size();
    // This also limits the coefficients, because a spline has at least three.
    if (term.nonzeros > max_nonzeros / component.nonzeros())
      throw base::input_error(
          "a term of the formula has more than {} nonzero columns per row: split the term, or reduce k",
          max_nonzeros);
    term.nonzeros *= component.nonzeros();
    if (raw_size + size > std::numeric_limits<int>::max()) {
      throw base::input_error("the model has more than 2^31 - 1 columns: reduce k, or a factor's levels");
    }
  }
  term.raw_size = static_cast<int>(size);
  term.components = std::move(components);
  raw_size += term.raw_size;
  terms.push_back(std::move(term));
  return terms.back().raw_begin;
}

int Design::add_dense_term(int combined, const Matrix& combinations) {
  RawTerm term;
  term.raw_begin = raw_size;
  term.raw_size = term.nonzeros = std::max(8, (combinations.cols() + 3) / 4 * 4);
  term.combined = combined;
  term.combinations = Matrix(term.raw_size, combinations.rows());
  assign(term.combinations, 0, 0, transpose(combinations));
  raw_size += term.raw_size;
  terms.push_back(std::move(term));
  return terms.back().raw_begin;
}

void Design::count_coefficients() {
  std::erase_if(blocks, [](const CoefBlock& block) { return block.coef_size == 0; });
  coef_size = 0;
  for (CoefBlock& block : blocks) {
    block.coef_begin = coef_size;
    coef_size += block.coef_size;
  }
}

namespace {

void rename(CoefBlock& block, int predictor) {
  const bool smooth = block.is_smooth();
  const auto renamed = [&](std::string& name) { name = name_in_predictor(name, smooth, predictor); };
  renamed(block.label);
  std::ranges::for_each(block.names, renamed);
  if (block.penalty) std::ranges::for_each(block.penalty->labels, renamed);
}

}  // namespace

std::string name_in_predictor(const std::string& name, bool smooth, int predictor) {
  if (predictor == 0) return name;
  const std::size_t place = smooth ? name.find('(') : name.size();
  return fmt::format("{}.{}{}", name.substr(0, place), predictor, name.substr(place));
}

Design joined(std::vector<Design> designs) {
  Design whole = std::move(designs.front());
  for (std::size_t p = 1; p < designs.size(); ++p) {
    Design& own = designs[p];
    const int terms = static_cast<int>(whole.terms.size());
    for (RawTerm& term : own.terms) {
      term.raw_begin += whole.raw_size;
      term.predictor = static_cast<int>(p);
      if (term.is_dense()) term.combined += terms;
      whole.terms.push_back(std::move(term));
    }
    for (CoefBlock& block : own.blocks) {
      block.raw_begin += whole.raw_size;
      for (std::string& id : block.ids) id += fmt::format(" {}", p);
      rename(block, static_cast<int>(p));
      whole.blocks.push_back(std::move(block));
    }
    for (auto& [raw, combination] : own.raw_combinations) {
      for (auto& [column, factor] : combination) column += whole.raw_size;
      whole.raw_combinations.emplace_back(raw + whole.raw_size, std::move(combination));
    }
    for (const std::string& label : own.left_out) {
      const std::size_t place = label.find('(');
      const bool smooth = place != std::string::npos && is_smooth(std::string_view(label).substr(0, place));
      whole.left_out.push_back(name_in_predictor(label, smooth, static_cast<int>(p)));
    }
    whole.raw_size += own.raw_size;
  }
  whole.count_coefficients();
  return whole;
}

void name_smooth(CoefBlock& block) {
  if (block.is_smooth()) {
    block.names.clear();
    for (int i = 1; i <= block.coef_size; ++i) block.names.push_back(fmt::format("{}.{}", block.label, i));
  }
  Penalty& penalty = *block.penalty;
  penalty.labels.clear();
  const std::size_t count = penalty.count();
  for (std::size_t j = 0; j < count; ++j) {
    penalty.labels.push_back(count == 1                    ? block.label
                             : block.penalty_names.empty() ? fmt::format("{}{}", block.label, j + 1)
                                                           : block.label + block.penalty_names[j]);
  }
}

Design reindexed(Design design, const Frame& frame) {
  std::vector<DesignVariable> variables;
  for (const Variable& variable : frame.variables) {
    variables.push_back({variable.name, variable.factor, variable.levels, variable.ordered});
  }
  const auto index_of = [&](const DesignVariable& wanted) {
    const int index = frame.index_of(wanted.name);
    if (variables[at(index)].factor != wanted.factor || variables[at(index)].levels != wanted.levels) {
      throw base::input_error(
          "'{}' is {} in the model, but has another type or other levels in the data: use the types and "
          "levels of the table of the fit",
          wanted.name,
          wanted.factor ? fmt::format("a factor with {} levels", wanted.levels.size()) : "a number");
    }
    return index;
  };
  for (RawTerm& term : design.terms) {
    for (Component& component : term.components) {
      Component::for_each_variable(
          component, [&](int& variable) { variable = index_of(design.variables[at(variable)]); });
    }
  }
  design.variables = std::move(variables);
  return design;
}

std::vector<std::pair<std::string, std::vector<std::string>>> Design::known_levels() const {
  std::vector<std::pair<std::string, std::vector<std::string>>> factors;
  for (const DesignVariable& variable : used_variables(*this)) {
    if (variable.factor) factors.emplace_back(variable.name, variable.levels);
  }
  return factors;
}

std::vector<std::string> Design::known_numbers() const {
  std::vector<std::string> numbers;
  for (const DesignVariable& variable : used_variables(*this)) {
    if (!variable.factor) numbers.push_back(variable.name);
  }
  return numbers;
}

}  // namespace TESSERA_NAMESPACE::gam
