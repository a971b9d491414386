// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/matrix/stored_matrix.hpp"
#include "gam/many/responses.hpp"

#include <memory>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Names of the responses and rows of a matrix, as its file gives them; empty: the file gives none.
struct MatrixNames {
  std::vector<std::string> responses{};
  std::vector<std::string> rows{};
};

/// The rows of a stored matrix as responses, or its columns if `in_columns`.
[[nodiscard]] std::unique_ptr<ResponseSource> dense_responses(const Workers& workers,
                                                              std::unique_ptr<StoredMatrix> stored,
                                                              bool in_columns, MatrixNames names);

/// Like `open_responses`, for a file with a NumPy array.
[[nodiscard]] std::unique_ptr<ResponseSource> open_npy_responses(const Workers& workers,
                                                                 const std::string& path, ResponsesIn in,
                                                                 std::int64_t rows);

}  // namespace TESSERA_NAMESPACE::gam
