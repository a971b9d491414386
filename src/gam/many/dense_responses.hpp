// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/matrix/stored_matrix.hpp"
#include "gam/many/responses.hpp"

#include <memory>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The names that a file has for a matrix; empty: none.
struct MatrixNames {
  std::vector<std::string> responses{};
  std::vector<std::string> rows{};
};

/// The rows of a stored matrix as responses, or its columns (`in_columns`).
[[nodiscard]] std::unique_ptr<ResponseSource> dense_responses(const Workers& workers,
                                                              std::unique_ptr<StoredMatrix> stored,
                                                              bool in_columns, MatrixNames names);

/// As `open_responses`, for an array of NumPy.
[[nodiscard]] std::unique_ptr<ResponseSource> open_npy_responses(const Workers& workers,
                                                                 const std::string& path, ResponsesIn in,
                                                                 std::int64_t rows);

}  // namespace TESSERA_NAMESPACE::gam
