// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/workers.hpp"

#include <tessera/gam/many.hpp>
#include <tessera/gam/matrix.hpp>
#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The name in messages of responses in memory.
inline constexpr const char* name_in_memory = "the responses in memory";
/// The name of responses in messages: their path, or where they are.
[[nodiscard]] std::string name_of(const Responses& responses);

/// A matrix of responses in a file or in memory, some of which are read at a time. Each rank opens and reads
/// it by itself.
class ResponseSource {
 public:
  ResponseSource() = default;
  virtual ~ResponseSource() = default;
  ResponseSource(const ResponseSource&) = delete;
  ResponseSource& operator=(const ResponseSource&) = delete;

  /// One for each column of a table, or for each row or column of a matrix.
  [[nodiscard]] virtual const std::vector<std::string>& names() const = 0;
  /// The values of responses [begin, end), a column each, by row of the covariates; NaN where there is none.
  /// Throws `Error(input)`.
  [[nodiscard]] virtual Matrix read(Range responses) = 0;
  /// True if each `read` reads the whole file, so that few calls are better.
  [[nodiscard]] virtual bool reads_all() const { return false; }
};

/// Opens the responses of `rows` covariates, which must outlive the source. `workers` has a serial
/// communicator. Throws `Error(input)` for a
/// file that is not such a matrix, or has another number of rows; `Error(usage)` if the matrix is square and
/// the options do not say which dimension the responses are.
[[nodiscard]] std::unique_ptr<ResponseSource> open_responses(const Workers& workers,
                                                             const Responses& responses, std::int64_t rows);

/// As `open_responses`, for "FILE.h5:/PATH": a dataset of two dimensions, or the group of a compressed sparse
/// matrix (data, indices and indptr, with the attribute or dataset `shape`), as in AnnData.
[[nodiscard]] std::unique_ptr<ResponseSource> open_hdf5_responses(const std::string& file,
                                                                  const std::string& path,
                                                                  const Responses& responses,
                                                                  std::int64_t rows);

/// As `open_responses`, for a matrix in memory, which must outlive the source.
[[nodiscard]] std::unique_ptr<ResponseSource> open_memory_responses(HostTeam& team,
                                                                    const ResponseMatrix& matrix,
                                                                    ResponsesIn in, std::int64_t rows);

/// Which dimension of a matrix the responses are: true for its columns. Throws as `open_responses` does.
[[nodiscard]] bool responses_in_columns(const std::string& name, std::int64_t matrix_rows,
                                        std::int64_t matrix_columns, ResponsesIn given,
                                        std::int64_t covariate_rows);

}  // namespace TESSERA_NAMESPACE::gam
