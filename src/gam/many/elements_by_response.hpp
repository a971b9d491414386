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

/// Transposes a sparse matrix from rows (CSR) to responses (CSC), with ascending rows in each response.
///
/// Source: the counting transposition of Gustavson, ACM TOMS 4 (1978), 250-269.
class ElementsByResponse {
 public:
  /// *Collective.* The ranks of a node share the sort of a large matrix. Throws the same `Error(input)` on
  /// every rank.
  ElementsByResponse(Job& job, const StoredElements& matrix, const MemoryOptions& memory);

  /// Elements of response i: [begins()[i], begins()[i + 1]).
  [[nodiscard]] const std::vector<std::int64_t>& begins() const noexcept { return begins_; }
  [[nodiscard]] std::int32_t row(std::int64_t element) const noexcept { return rows_[element]; }
  [[nodiscard]] double value(std::int64_t element) const noexcept {
    return floats_ != nullptr ? floats_[element] : doubles_[element];
  }

 private:
  void count(Job& job, const StoredElements& matrix, std::int64_t first, std::int64_t last);
  void place(Job& job, const StoredElements& matrix, std::int64_t first, std::int64_t last);

  std::vector<std::int64_t> begins_;
  std::vector<std::int64_t> next_;  ///< element count of each response, then its insertion position
  std::vector<std::byte> memory_;
  files::NodeScratch file_;
  std::int32_t* rows_ = nullptr;
  float* floats_ = nullptr;  ///< values if all are exact as float; otherwise null
  double* doubles_ = nullptr;
};

}  // namespace TESSERA_NAMESPACE::gam
