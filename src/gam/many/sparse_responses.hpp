// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/dense_responses.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A compressed sparse matrix of `responses` responses over `rows` rows: elements are stored in runs, one of
/// each response (`by_response`) or row.
struct StoredElements {
  std::string name;  ///< for messages
  std::int64_t rows = 0;
  std::int64_t responses = 0;
  bool by_response = true;
  std::unique_ptr<StoredMatrix> data;
  std::unique_ptr<StoredMatrix> indices;
  std::vector<std::int64_t> begins;  ///< of each run among the elements, and their number
};

/// Runs by row are sorted by response in `prepare`, in two passes over the elements that the ranks of a node
/// share: in the memory of each up to 64 MiB, or its part of `MemoryOptions::node_bytes`, else in one scratch
/// file of the node. Throws `Error(input)` for a matrix
/// whose parts contradict each other.
[[nodiscard]] std::unique_ptr<ResponseSource> sparse_responses(const Workers& workers, StoredElements matrix,
                                                               MatrixNames names);

}  // namespace TESSERA_NAMESPACE::gam
