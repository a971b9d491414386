// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/dense_responses.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A compressed sparse matrix (CSR or CSC) with a run of elements for each response (`by_response`) or row.
struct StoredElements {
  std::string name;  ///< for messages
  std::int64_t rows = 0;
  std::int64_t responses = 0;
  bool by_response = true;
  std::unique_ptr<StoredMatrix> data;
  std::unique_ptr<StoredMatrix> indices;
  std::vector<std::int64_t> begins;  ///< first element of each run, then the number of elements
};

/// Responses in a sparse matrix. If the matrix is stored by rows, `prepare` sorts its elements by response,
/// in two passes over the elements. Each rank sorts a matrix of up to 64 MiB, or of `node_bytes` divided by
/// the number of ranks, in its own memory. Otherwise the ranks of a node share the sort in a scratch file.
/// Throws `Error(input)` for a matrix whose parts contradict each other.
[[nodiscard]] std::unique_ptr<ResponseSource> sparse_responses(const Workers& workers, StoredElements matrix,
                                                               MatrixNames names);

}  // namespace TESSERA_NAMESPACE::gam
