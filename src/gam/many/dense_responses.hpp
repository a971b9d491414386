// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/matrix/stored_matrix.hpp"
#include "gam/many/responses.hpp"

#include <memory>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Names of a matrix's responses and rows; empty if the file has none.
struct MatrixNames {
  std::vector<std::string> responses{};
  std::vector<std::string> rows{};
};

/// Responses are the columns of the matrix if `in_columns`, otherwise its rows.
[[nodiscard]] std::unique_ptr<ResponseSource> dense_responses(const Workers& workers,
                                                              std::unique_ptr<StoredMatrix> stored,
                                                              bool in_columns, MatrixNames names);

[[nodiscard]] std::unique_ptr<ResponseSource> open_npy_responses(const Workers& workers,
                                                                 const std::string& path, ResponsesIn in,
                                                                 std::int64_t rows);

}  // namespace TESSERA_NAMESPACE::gam
