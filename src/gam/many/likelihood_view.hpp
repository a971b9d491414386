// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

/// Arguments of the kernels of likelihood_kernels.cuh. Pointers are to device memory.
namespace TESSERA_NAMESPACE::gam {

inline constexpr int likelihood_threads = 128;  ///< of a CUDA block
/// A CUDA block adds up the rows of one chunk of a group, so that the order of sums depends on the design
/// only.
inline constexpr int rows_of_chunk = 2048;
/// Up to this many columns, the sums of a group fit in registers together; the products of more are formed in
/// tiles of `tile_columns` by `tile_columns`.
inline constexpr int most_columns_in_registers = 7;
inline constexpr int tile_columns = 6;
/// Smoothing parameters of a component of the design, and tau.
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
  int first_coefficient;    ///< columns of all groups before
  long long first_element;  ///< elements of the packed matrices of all groups before
  int first_chunk;
  int end_chunk;
};

/// Rows [begin, end) of a group.
struct LikelihoodChunk {
  int group;
  int begin;
  int end;
};

/// The values of a response by slot. Counts up to 65534 have 16 bits, and a missing one is 65535; other
/// values are doubles, and a missing one is NaN.
struct LikelihoodResponse {
  const double* y;
  const unsigned short* counts;  ///< null: the values are `y`
  const double* weights;
  const double* offset;
};

/// A pass over the rows of one response.
struct LikelihoodRequest {
  LikelihoodResponse response;
  /// Coefficients by group; for derivatives, A^-1 by group and the first derivatives after them. In the
  /// memory of the host, and of the device.
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
  int is_poisson;  ///< the limit of nb
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
