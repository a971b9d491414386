// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/table_options.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "files/node_scratch.hpp"

namespace TESSERA_NAMESPACE {
class Job;
}

namespace TESSERA_NAMESPACE::gam {

struct StoredElements;

/// The elements of a sparse matrix stored by rows (CSR), sorted by response and then by row (CSC).
///
/// Source: the transposition by counting of Gustavson, ACM TOMS 4 (1978), 250-269.
class ElementsByResponse {
 public:
  /// *Collective.* If there are many elements, each rank of a node sorts a share of them. Throws the same
  /// `Error(input)` on every rank.
  ElementsByResponse(Job& job, const StoredElements& matrix, const MemoryOptions& memory);

  /// The elements of a response are [begins[response], begins[response + 1]).
  [[nodiscard]] const std::vector<std::int64_t>& begins() const noexcept { return begins_; }
  [[nodiscard]] std::int32_t row(std::int64_t element) const noexcept { return rows_[element]; }
  [[nodiscard]] double value(std::int64_t element) const noexcept {
    return floats_ != nullptr ? floats_[element] : doubles_[element];
  }

 private:
  void count(Job& job, const StoredElements& matrix, std::int64_t first, std::int64_t last);
  void place(Job& job, const StoredElements& matrix, std::int64_t first, std::int64_t last);

  std::vector<std::int64_t> begins_;
  std::vector<std::int64_t> next_;  ///< number of elements of each response; later, the place of its next
                                    ///< element
  std::vector<std::byte> memory_;
  files::NodeScratch file_;
  std::int32_t* rows_ = nullptr;
  float* floats_ = nullptr;  ///< values, if all of them are exact as floats; else null
  double* doubles_ = nullptr;
};

}  // namespace TESSERA_NAMESPACE::gam
