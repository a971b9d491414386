// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/row_reader.hpp"

#include "base/at.hpp"

#include <algorithm>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;

RowReader::RowReader(const Frame& frame, const Design& design)
    : frame_(frame), design_(design), begins_(design.terms.size()) {
  for (const Variable& variable : frame.variables) {
    numbers_.push_back(variable.numbers.view());
    codes_.push_back(variable.codes.data());
  }
  for (const RawTerm& term : design.terms) terms_.emplace_back(term.components);
}

RowReader::RowReader(const Rows& rows) : RowReader(*rows.frame, *rows.design) {
  offsets_ = {rows.offsets};
  offsets_.insert(offsets_.end(), rows.further_offsets.begin(), rows.further_offsets.end());
  response_factor_ = rows.response_factor;
}

void RowReader::read(std::size_t row) {
  nonzeros_.clear();
  const Points points{numbers_.data(), codes_.data(), &row, 1};
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const RawTerm& term = design_.terms[t];
    begins_[t] = nonzeros_.size();
    if (!term.is_dense()) {
      terms_[t].for_each_nonzero(points, [&](int /*point*/, int column, double value) {
        nonzeros_.push_back({term.raw_begin + column, value});
      });
      continue;
    }
    const Nonzero* from = nonzeros_.data() + begins_[at(term.combined)];
    const auto count = static_cast<int>(begins_[at(term.combined) + 1] - begins_[at(term.combined)]);
    const int from_column = design_.terms[at(term.combined)].raw_begin;
    dense_.resize(at(term.raw_size));
    term.combine(
        count, [&](int k) { return std::pair(from[k].column - from_column, from[k].value); }, dense_.data());
    for (int j = 0; j < term.raw_size; ++j) nonzeros_.push_back({term.raw_begin + j, dense_[at(j)]});
  }
}

double RowReader::linear_predictor(std::size_t row, std::span<const double> raw_coef) {
  double sum = 0;
  linear_predictors(row, raw_coef, {&sum, 1});
  return sum;
}

void RowReader::linear_predictors(std::size_t row, std::span<const double> raw_coef, std::span<double> eta) {
  read(row);
  std::ranges::fill(eta, 0.0);
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const std::size_t end = t + 1 < terms_.size() ? begins_[t + 1] : nonzeros_.size();
    const int formula = design_.terms[t].predictor;
    double of_term = 0;
    double& sum = design_.readers.empty() ? eta[at(formula)] : of_term;
    for (std::size_t i = begins_[t]; i < end; ++i)
      sum += nonzeros_[i].value * raw_coef[at(nonzeros_[i].column)];
    if (!design_.readers.empty()) design_.for_each_reader(formula, [&](int p) { eta[at(p)] += of_term; });
  }
  for (std::size_t p = 0; p < std::min(offsets_.size(), eta.size()); ++p) {
    for (const int offset : offsets_[p])
      eta[p] += response_factor_ * frame_.variables[at(offset)].numbers[row];
  }
}

void RowReader::raw_row(std::size_t row, std::span<double> raw) {
  read(row);
  std::ranges::fill(raw, 0.0);
  for (const Nonzero& nonzero : nonzeros_) raw[at(nonzero.column)] = nonzero.value;
}

void RowReader::coefficient_row(std::size_t row, std::span<double> x) {
  read(row);
  std::fill(x.begin(), x.end(), 0.0);
  for (const CoefBlock& block : design_.blocks) {
    // Nonzeros are sorted: raw columns are ordered by term.
    auto next = std::lower_bound(nonzeros_.begin(), nonzeros_.end(), block.raw_begin,
                                 [](const Nonzero& nonzero, int column) { return nonzero.column < column; });
    for (; next != nonzeros_.end() && next->column < block.raw_begin + block.raw_size; ++next) {
      const int raw = next->column - block.raw_begin;
      const auto [first, last] = block.coefficients_at(raw);
      for (int j = first; j < last; ++j) x[at(block.coef_begin + j)] += next->value * block.map_at(raw, j);
    }
  }
}

}  // namespace TESSERA_NAMESPACE::gam
