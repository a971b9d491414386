// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/gaussian_spectrum.hpp"
#include "gam/many/shared_design.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// FIFO cache of spectra of a design, each without the rows that a response lacks. Responses that lack the
/// same rows share a spectrum. Not thread-safe.
class SpectraByMissingRows {
 public:
  /// `design` must outlive this object.
  explicit SpectraByMissingRows(const SharedDesign& design);

  /// The spectrum for a response, valid until the next call. `values` is by row of the table. Null if no
  /// value is missing, or if the other rows have no spectrum.
  [[nodiscard]] const GaussianSpectrum* of(std::span<const double> values);

 private:
  using Missing = std::vector<std::uint64_t>;  ///< a bit for each row of the table
  struct Entry {
    Missing missing;
    std::shared_ptr<const GaussianSpectrum> spectrum;
  };
  const SharedDesign& design_;
  std::size_t most_entries_;
  Missing missing_;
  std::vector<Entry> entries_;
  std::size_t last_ = 0;  ///< entry of the last response
  std::size_t next_ = 0;  ///< next entry to evict
};

}  // namespace TESSERA_NAMESPACE::gam
