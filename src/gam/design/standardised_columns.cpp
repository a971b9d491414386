// SPDX-License-Identifier: Apache-2.0
#include "gam/design/standardised_columns.hpp"

#include "base/at.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// A product of numeric variables, as increasing indices.
using Variables = std::vector<int>;
/// The level of each factor in a product, by variable index.
using LevelCell = std::map<int, int>;
using Sparse = std::map<int, double>;

/// Maximum number of successive rewritings of a product; each removes or adds one factor.
constexpr int rewriting_limit = 8;

using base::at;

/// The columns of one term before standardisation.
struct StandardisedTerm {
  Variables numbers;
  std::vector<const Component*> factors;  ///< in the order of raw columns; the last one varies fastest
  std::map<int, bool> has_first_level;    ///< by variable index
  std::vector<int> column_of_raw;         ///< -1: none
  bool penalised = false;

  [[nodiscard]] Variables factor_variables() const {
    Variables variables;
    for (const Component* factor : factors) variables.push_back(factor->variable);
    std::sort(variables.begin(), variables.end());
    return variables;
  }
  [[nodiscard]] int index_of(const LevelCell& cell) const {
    int index = 0;
    for (const Component* factor : factors) index = index * factor->levels + cell.at(factor->variable);
    return index;
  }
  [[nodiscard]] LevelCell cell_of(int index) const {
    LevelCell cell;
    for (auto factor = factors.rbegin(); factor != factors.rend(); ++factor) {
      cell[(*factor)->variable] = index % (*factor)->levels;
      index /= (*factor)->levels;
    }
    return cell;
  }
};

StandardisedTerm columns_of(const ParametricColumns& term, int first) {
  StandardisedTerm out;
  out.penalised = term.penalty.has_value();
  for (const Component& component : term.components) {
    if (component.kind == Component::Kind::factor) {
      out.factors.push_back(&component);
    } else {
      out.numbers.push_back(component.variable);
    }
  }
  std::sort(out.numbers.begin(), out.numbers.end());
  out.column_of_raw.assign(at(term.map.rows()), -1);
  for (const Component* factor : out.factors) out.has_first_level[factor->variable] = false;
  for (int j = 0; j < term.map.cols(); ++j) {
    const auto column = term.map.column(j);
    const auto index = std::find_if(column.begin(), column.end(), [](double v) { return v != 0; });
    out.column_of_raw[static_cast<std::size_t>(index - column.begin())] = first + j;
    for (const auto& [factor, level] : out.cell_of(static_cast<int>(index - column.begin()))) {
      if (level == 0) out.has_first_level[factor] = true;
    }
  }
  return out;
}

/// The span of the user's columns, as far as the terms determine it.
class Span {
 public:
  explicit Span(const std::vector<ParametricColumns>& terms) {
    int first = 0;
    for (const ParametricColumns& term : terms) {
      terms_.push_back(columns_of(term, first));
      first += term.map.cols();
    }
  }

  [[nodiscard]] const StandardisedTerm& term(std::size_t index) const { return terms_[index]; }

  /// Adds `factor` times (product of numeric variables) times (indicator of a cell) to `out`, as a
  /// combination of the user's columns. False if there is no such combination.
  [[nodiscard]] bool add(const Variables& numbers, const LevelCell& cell, double factor, Sparse& out,
                         int depth = 0) const {
    if (depth > rewriting_limit) return false;
    if (const StandardisedTerm* term = find(numbers, keys(cell))) {
      const int column = term->column_of_raw[at(term->index_of(cell))];
      if (column >= 0) {
        out[column] += factor;
        return true;
      }
      return add_first_level(*term, numbers, cell, factor, out, depth);
    }
    // In a term with one more factor, the columns of all levels of this factor sum to the product.
    const Variables had = keys(cell);
    for (const StandardisedTerm& term : terms_) {
      const Variables all = term.factor_variables();
      if (term.penalised || term.numbers != numbers ||
          !std::includes(all.begin(), all.end(), had.begin(), had.end()))
        continue;
      for (const Component* more : term.factors) {
        if (cell.contains(more->variable) || !term.has_first_level.at(more->variable)) continue;
        Sparse trial = out;
        if (!add_levels(numbers, cell, *more, 0, factor, trial, depth)) continue;
        out = std::move(trial);
        return true;
      }
    }
    return false;
  }

 private:
  static Variables keys(const LevelCell& cell) {
    Variables variables;
    for (const auto& entry : cell) variables.push_back(entry.first);
    return variables;
  }
  [[nodiscard]] const StandardisedTerm* find(const Variables& numbers, const Variables& factors) const {
    for (const StandardisedTerm& term : terms_) {
      if (!term.penalised && term.numbers == numbers && term.factor_variables() == factors) return &term;
    }
    return nullptr;
  }
  [[nodiscard]] bool add_levels(const Variables& numbers, LevelCell cell, const Component& factor, int begin,
                                double times, Sparse& out, int depth) const {
    for (int level = begin; level < factor.levels; ++level) {
      cell[factor.variable] = level;
      if (!add(numbers, cell, times, out, depth + 1)) return false;
    }
    return true;
  }
  /// Rewrites a first level, which contrasts omit, as the sum over all levels minus the other levels.
  [[nodiscard]] bool add_first_level(const StandardisedTerm& term, const Variables& numbers,
                                     const LevelCell& cell, double factor, Sparse& out, int depth) const {
    for (const Component* left_out : term.factors) {
      if (cell.at(left_out->variable) != 0 || term.has_first_level.at(left_out->variable)) continue;
      LevelCell without = cell;
      without.erase(left_out->variable);
      return add(numbers, without, factor, out, depth + 1) &&
             add_levels(numbers, cell, *left_out, 1, -factor, out, depth);
    }
    return false;
  }

  std::vector<StandardisedTerm> terms_;
};

/// Expands a product of sums of parts (x - centre) * factor: the coefficient of each product of variables.
std::map<Variables, double> multiplied_out(const std::vector<std::vector<NumericPart>>& components) {
  std::map<Variables, double> products{{{}, 1.0}};
  for (const std::vector<NumericPart>& parts : components) {
    std::map<Variables, double> next;
    for (const auto& [variables, factor] : products) {
      for (const NumericPart& part : parts) {
        Variables longer = variables;
        longer.insert(std::upper_bound(longer.begin(), longer.end(), part.variable), part.variable);
        next[longer] += factor * part.factor;
        if (part.centre != 0) next[variables] -= factor * part.factor * part.centre;
      }
    }
    products = std::move(next);
  }
  return products;
}

/// The combinations for the columns of term `index` if its numeric components have the given parts; empty if
/// the other columns do not span the change.
std::optional<std::vector<ColumnCombination>> combine(
    const Span& span, std::size_t index, const std::vector<std::vector<NumericPart>>& components) {
  const StandardisedTerm& term = span.term(index);
  const auto products = multiplied_out(components);
  std::vector<ColumnCombination> combinations;
  for (std::size_t raw = 0; raw < term.column_of_raw.size(); ++raw) {
    if (term.column_of_raw[raw] < 0) continue;
    const LevelCell cell = term.cell_of(static_cast<int>(raw));
    Sparse sparse;
    for (const auto& [numbers, factor] : products) {
      if (!span.add(numbers, cell, factor, sparse)) return std::nullopt;
    }
    combinations.emplace_back(sparse.begin(), sparse.end());
  }
  return combinations;
}

}  // namespace

std::vector<ColumnCombination> standardise_columns(std::vector<ParametricColumns>& terms,
                                                   const Standards& standards) {
  const Span span(terms);
  std::vector<ColumnCombination> all;
  for (std::size_t index = 0; index < terms.size(); ++index) {
    if (span.term(index).penalised) {
      for (int j = 0; j < terms[index].map.cols(); ++j) all.push_back({{static_cast<int>(all.size()), 1.0}});
      continue;
    }
    std::vector<Component*> numbers;
    for (Component& component : terms[index].components) {
      if (component.kind == Component::Kind::numeric) numbers.push_back(&component);
    }
    const auto standard_of = [&](const Component* component) {
      return standards.empty() ? Standard{1, {component->variable, 0, 1}, {}}
                               : standards[at(component->variable)];
    };
    std::vector<std::vector<NumericPart>> chosen;
    chosen.reserve(numbers.size());
    for (const Component* component : numbers)
      chosen.push_back({{component->variable, 0, standard_of(component).factor}});
    auto combinations = combine(span, index, chosen);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const Standard standard = standard_of(numbers[i]);
      for (const auto& parts : {standard.orthogonal, std::vector<NumericPart>{standard.centred}}) {
        if (parts.empty()) continue;
        auto trial = chosen;
        trial[i] = parts;
        if (auto found = combine(span, index, trial)) {
          chosen = std::move(trial);
          combinations = std::move(found);
          break;
        }
      }
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const NumericPart& own = chosen[i].front();
      if (chosen[i].size() > 1 || own.centre != 0 || own.factor != 1) numbers[i]->parts = chosen[i];
    }
    all.insert(all.end(), combinations->begin(), combinations->end());
  }
  return all;
}

}  // namespace TESSERA_NAMESPACE::gam
