// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

/// Arguments of the kernels in likelihood_kernels.cuh. Pointers are to device memory.
namespace TESSERA_NAMESPACE::gam {

inline constexpr int likelihood_threads = 128;  ///< threads per CUDA block
/// Maximum rows of a chunk. A CUDA block sums the rows of one chunk of a group, so that the order of
/// summation depends only on the design.
inline constexpr int rows_of_chunk = 2048;
/// Maximum number of columns of a group whose sums fit into registers together; products of more columns are
/// formed in tiles of `tile_columns` by `tile_columns`.
inline constexpr int most_columns_in_registers = 7;
inline constexpr int tile_columns = 6;
/// Maximum number of smoothing parameters of a component, plus tau.
inline constexpr int most_parameters = 64;

/// The kinds of passes over the rows of a response.
enum class LikelihoodPass { score_and_gram, expected_gram, loss, weight_derivatives, null_model };
inline constexpr int likelihood_passes = 5;

/// Numbers that a pass sums in a group of `columns` columns.
constexpr long long likelihood_sums(LikelihoodPass pass, int columns, int parameters) {
  const long long elements = columns * (columns + 1LL) / 2;
  switch (pass) {
    case LikelihoodPass::score_and_gram: return elements + columns;
    case LikelihoodPass::expected_gram: return elements + 1;
    case LikelihoodPass::loss: return 3 + columns;
    case LikelihoodPass::weight_derivatives: return parameters * (elements + parameters) + 2LL * columns;
    case LikelihoodPass::null_model: return 3;
  }
  return 0;
}

/// A `RowGroup`.
struct LikelihoodGroup {
  const double* x;
  long long first_slot;
  int rows;
  int columns;
  int first_coefficient;    ///< number of columns in all previous groups
  long long first_element;  ///< number of elements in the packed matrices of all previous groups
  int first_chunk;
  int end_chunk;
};

/// Rows [begin, end) of a group.
struct LikelihoodChunk {
  int group;
  int begin;
  int end;
};

/// The values of a response by slot: counts up to 65534 in 16 bits (65535: missing), other values as doubles
/// (NaN: missing).
struct LikelihoodResponse {
  const double* y;
  const unsigned short* counts;  ///< null: `y` has the values
  const double* weights;
  const double* offset;
};

/// A pass over the rows of one response.
struct LikelihoodRequest {
  LikelihoodResponse response;
  /// Coefficients by group; for derivatives: A^-1 by group, then the first derivatives. In the memory of the
  /// host, and of the device.
  const double* host_input;
  double* input;
  int inputs;      ///< numbers to be copied to the device
  double* sums;    ///< partial sums by chunk
  double* output;  ///< sums by group, in the memory of the host
  double theta;
  double log_theta;
  double level;  ///< of a null model
  LikelihoodPass pass;
  int first_group;  ///< the rows of groups [first, end) are summed
  int end_group;
  int is_poisson;  ///< nb at its limit
  int with_tau;
};

struct LikelihoodBatch {
  const LikelihoodGroup* groups;
  const LikelihoodChunk* chunks;
  const long long* partial_begins;
  const long long* output_begins;
  const LikelihoodRequest* requests;
};

}  // namespace TESSERA_NAMESPACE::gam
