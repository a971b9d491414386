// SPDX-License-Identifier: Apache-2.0
#include "gam/check/basis_check.hpp"

#include "base/at.hpp"
#include "base/cancellation.hpp"
#include "base/philox.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/rows/row_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

constexpr double not_examined = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t neighbour_count = 3;

const RawTerm& raw_term_of(const Design& design, const CoefBlock& block) {
  return *std::ranges::find_if(design.terms, [&](const RawTerm& term) {
    return block.raw_begin >= term.raw_begin && block.raw_begin < term.raw_begin + term.raw_size;
  });
}

/// The numeric variables of a smooth. Empty for a smooth with factors, unless it is a factor smooth.
std::optional<std::vector<int>> covariates_of(const Design& design, const CoefBlock& block) {
  const std::vector<Component>& components = raw_term_of(design, block).components;
  // A block with more variables than lists of knots has a by variable, which is the first component.
  const std::size_t first = block.variables.size() > block.knots.size() ? 1 : 0;
  std::vector<int> out;
  for (std::size_t c = first; c < components.size(); ++c) {
    if (components[c].kind == Component::Kind::factor) {
      if (block.kind != "fs") return std::nullopt;
      continue;
    }
    Component::for_each_variable(components[c], [&](int variable) { out.push_back(variable); });
  }
  return out;
}

/// Fisher-Yates shuffle of `values`.
void shuffle(std::span<double> values, base::RandomPlace random) {
  for (std::size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1], values[static_cast<std::size_t>(static_cast<double>(i) * random.uniform())]);
}

/// The nearest rows of each row, by Euclidean distance over `columns`.
std::vector<std::array<std::size_t, neighbour_count>> nearest(
    const std::vector<std::vector<double>>& columns) {
  const std::size_t n = columns.front().size();
  std::vector<std::array<std::size_t, neighbour_count>> out(n);
  std::vector<double> squares(n);
  for (std::size_t i = 0; i < n; ++i) {
    base::check_cancelled();
    std::fill(squares.begin(), squares.end(), 0.0);
    for (const std::vector<double>& column : columns) {
      for (std::size_t j = 0; j < n; ++j) squares[j] += (column[j] - column[i]) * (column[j] - column[i]);
    }
    std::array<double, neighbour_count> least{};
    least.fill(std::numeric_limits<double>::infinity());
    for (std::size_t j = 0; j < n; ++j) {
      if (j == i || !(squares[j] < least.back())) continue;
      std::size_t place = neighbour_count - 1;
      for (; place > 0 && squares[j] < least[place - 1]; --place) {
        least[place] = least[place - 1];
        out[i][place] = out[i][place - 1];
      }
      least[place] = squares[j];
      out[i][place] = j;
    }
  }
  return out;
}

class BasisChecks {
 public:
  BasisChecks(const FittedModel& model, const Design& design, Frame rows, std::span<const double> residuals,
              const CheckOptions& options)
      : model_(model), design_(design), rows_(std::move(rows)), residuals_(residuals), options_(options) {}

  /// `smooth`: index among the smooths, which selects the random stream.
  [[nodiscard]] BasisCheck check(const CoefBlock& block, std::size_t smooth) {
    BasisCheck out{block.label, block.coef_size, model_.block_edf(block), not_examined, not_examined};
    const auto covariates = covariates_of(design_, block);
    if (!covariates || covariates->empty() || residuals_.size() <= neighbour_count) return out;
    const double square = dot(residuals_, residuals_) / static_cast<double>(residuals_.size());
    const auto examine = [&](const auto& roughness) {
      std::vector<double> values(residuals_.begin(), residuals_.end());
      const double own = roughness(values);
      int less = 0;
      for (int i = 0; i < options_.permutations; ++i) {
        base::check_cancelled();
        shuffle(values, base::RandomPlace(options_.seed, smooth, static_cast<std::uint64_t>(i)));
        less += roughness(values) < own ? 1 : 0;
      }
      out.k_index = own / square;
      out.p_value = static_cast<double>(less) / options_.permutations;
    };
    if (covariates->size() == 1) {
      const std::vector<std::size_t> order = order_by(covariates->front());
      bool drawn = false;
      // Only the unshuffled residuals, of the first call, are sorted by the variable: the order of shuffled
      // ones is random anyway.
      examine([&](const std::vector<double>& values) {
        double sum = 0;
        for (std::size_t i = 1; i < values.size(); ++i) {
          const double step = drawn ? values[i] - values[i - 1] : values[order[i]] - values[order[i - 1]];
          sum += step * step;
        }
        drawn = true;
        return sum / static_cast<double>(values.size() - 1) / 2;
      });
      return out;
    }
    const auto neighbours = nearest(places(block, *covariates));
    examine([&](const std::vector<double>& values) {
      double sum = 0;
      for (std::size_t k = 0; k < neighbour_count; ++k) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          const double step = values[i] - values[neighbours[i][k]];
          sum += step * step;
        }
      }
      return sum / static_cast<double>(neighbour_count * values.size()) / 2;
    });
    return out;
  }

 private:
  [[nodiscard]] std::span<double> numbers(int variable) {
    return rows_.variables[at(variable)].numbers.own();
  }

  [[nodiscard]] std::vector<std::size_t> order_by(int variable) {
    const std::span<const double> values = numbers(variable);
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t row) { return values[row]; });
    return order;
  }

  /// Coordinates for `nearest`. For a tensor product, each is scaled to [0, 1] times the mean absolute slope
  /// of the estimate along it.
  [[nodiscard]] std::vector<std::vector<double>> places(const CoefBlock& block,
                                                        const std::vector<int>& covariates) {
    std::vector<std::vector<double>> columns;
    for (const int variable : covariates) {
      const std::span<const double> values = numbers(variable);
      columns.emplace_back(values.begin(), values.end());
    }
    if (block.kind != "te" && block.kind != "ti" && block.kind != "t2") return columns;
    const Frame kept = rows_;
    leave_out_by(block);
    const std::vector<double> here = estimate(block);
    std::vector<double> slopes;
    std::vector<double> ranges;
    for (const int variable : covariates) {
      const std::span<double> values = numbers(variable);
      const auto [least, most] = std::ranges::minmax(values);
      const double step = (most - least) / 1000;
      const std::vector<double> before(values.begin(), values.end());
      for (double& value : values) value += step;
      const std::vector<double> there = estimate(block);
      std::ranges::copy(before, values.begin());
      double sum = 0;
      for (std::size_t i = 0; i < here.size(); ++i) sum += std::abs(there[i] - here[i]);
      slopes.push_back(sum / static_cast<double>(here.size()) / step);
      ranges.push_back(most - least);
    }
    rows_ = kept;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const double least = *std::ranges::min_element(columns[c]);
      for (double& value : columns[c]) value = slopes[c] * (value - least) / ranges[c];
    }
    return columns;
  }

  /// Sets the by variable to 1, or to the block's level, in all rows.
  void leave_out_by(const CoefBlock& block) {
    if (block.variables.size() <= block.knots.size()) return;
    Variable& by = rows_.variables[at(rows_.index_of(block.variables.back()))];
    if (!by.factor) {
      std::ranges::fill(by.numbers.own(), 1.0);
      return;
    }
    const auto level = std::ranges::find(by.levels, block.by_level) - by.levels.begin();
    std::ranges::fill(by.codes.own(), static_cast<std::int32_t>(level));
  }

  [[nodiscard]] std::vector<double> estimate(const CoefBlock& block) {
    std::vector<double> coef(model_.coef.size());
    std::copy_n(model_.coef.begin() + block.coef_begin, block.coef_size, coef.begin() + block.coef_begin);
    const std::vector<double> raw_coef = design_.raw_coefficients(coef);
    RowReader reader(rows_, design_);
    std::vector<double> out(residuals_.size());
    std::vector<double> eta(at(design_.predictors()));
    int own = 0;
    design_.for_each_reader(design_.predictor_of(block), [&](int predictor) { own = predictor; });
    for (std::size_t row = 0; row < out.size(); ++row) {
      reader.linear_predictors(row, raw_coef, eta);
      out[row] = eta[at(own)];
    }
    return out;
  }

  const FittedModel& model_;
  const Design& design_;
  Frame rows_;
  std::span<const double> residuals_;
  const CheckOptions& options_;
};

}  // namespace

std::vector<BasisCheck> check_bases(const FittedModel& model, const Design& design, Frame rows,
                                    std::span<const double> residuals, const CheckOptions& options) {
  BasisChecks checks(model, design, std::move(rows), residuals, options);
  std::vector<BasisCheck> out;
  for (const CoefBlock& block : model.design.blocks) {
    if (block.is_smooth()) out.push_back(checks.check(block, out.size()));
  }
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
