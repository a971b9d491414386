// SPDX-License-Identifier: Apache-2.0
#include "gam/many/spectra_by_missing_rows.hpp"

#include "base/at.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

constexpr std::size_t bits_of_word = 64;

/// Capacity of the cache: spectra of 16 MiB, at least one.
std::size_t most_spectra(const SharedDesign& design) {
  constexpr std::size_t bytes = std::size_t{16} << 20;
  const std::size_t each = design.slots() * sizeof(double) * (at(design.columns) + 1);
  return std::max<std::size_t>(bytes / each, 1);
}

}  // namespace

SpectraByMissingRows::SpectraByMissingRows(const SharedDesign& design)
    : design_(design), most_entries_(most_spectra(design)) {}

const GaussianSpectrum* SpectraByMissingRows::of(std::span<const double> values) {
  missing_.assign((values.size() + bits_of_word - 1) / bits_of_word, 0);
  bool any = false;
  for (std::size_t row = 0; row < values.size(); ++row) {
    const bool is_missing = std::isnan(values[row]) && design_.slot_of_row[row] >= 0;
    missing_[row / bits_of_word] |= std::uint64_t{is_missing} << (row % bits_of_word);
    any = any || is_missing;
  }
  if (!any) return nullptr;
  if (last_ < entries_.size() && entries_[last_].missing == missing_) return entries_[last_].spectrum.get();
  const auto found = std::ranges::find(entries_, missing_, &Entry::missing);
  last_ = static_cast<std::size_t>(found - entries_.begin());
  if (found != entries_.end()) return found->spectrum.get();

  std::vector<double> weight = design_.weight;
  for (std::size_t row = 0; row < values.size(); ++row) {
    if (const int slot = design_.slot_of_row[row]; slot >= 0 && std::isnan(values[row])) weight[at(slot)] = 0;
  }
  Entry entry{missing_, GaussianSpectrum::of(design_, std::move(weight))};
  if (entries_.size() < most_entries_) {
    entries_.push_back(std::move(entry));
  } else {
    last_ = std::exchange(next_, (next_ + 1) % most_entries_);
    entries_[last_] = std::move(entry);
  }
  return entries_[last_].spectrum.get();
}

}  // namespace TESSERA_NAMESPACE::gam
