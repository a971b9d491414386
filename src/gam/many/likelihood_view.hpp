// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/packed_matrix.hpp"

/// Arguments of the kernels in likelihood_kernels.cuh. Pointers are device addresses.
namespace TESSERA_NAMESPACE::gam {

inline constexpr int likelihood_threads = 128;  ///< threads per CUDA block
/// Maximum rows of a chunk. A CUDA block sums one chunk: the order of summation depends only on the design.
inline constexpr int rows_of_chunk = 8192;
/// Maximum number of columns of a group whose sums fit into registers. Products of more columns are formed in
/// tiles of `tile_columns` by `tile_columns`.
inline constexpr int most_columns_in_registers = 7;
inline constexpr int tile_columns = 6;
/// Maximum number of smoothing parameters of a component, plus tau.
inline constexpr int most_parameters = 64;

/// Kinds of passes over rows, in the order of execution in a batch: longest first, to balance the load.
enum class LikelihoodPass { settle, weight_derivatives, null_model, score_and_gram, expected_gram, loss };
inline constexpr int likelihood_passes = 6;

/// Number of inputs of a pass for a group: coefficients; packed A^-1, or for `settle` the packed penalty;
/// first derivatives of the coefficients by parameter.
constexpr int likelihood_inputs(LikelihoodPass pass, int columns, int parameters) {
  switch (pass) {
    case LikelihoodPass::settle: return columns + packed_size(columns);
    case LikelihoodPass::weight_derivatives: return columns + packed_size(columns) + parameters * columns;
    case LikelihoodPass::null_model: return 0;
    default: return columns;
  }
}

constexpr long long likelihood_sums(LikelihoodPass pass, int columns, int parameters) {
  const long long elements = packed_size(columns);
  switch (pass) {
    // `score_and_gram`, the coefficients, the decrement (NaN: the search failed), `loss`.
    case LikelihoodPass::settle: return elements + 2LL * columns + 1 + 3 + columns;
    case LikelihoodPass::weight_derivatives: return parameters * (elements + parameters) + 2LL * columns;
    case LikelihoodPass::null_model: return 3;
    case LikelihoodPass::score_and_gram: return elements + columns;
    case LikelihoodPass::expected_gram: return elements + 1;
    case LikelihoodPass::loss: return 3 + columns;
  }
  return 0;
}

/// Number of CUDA blocks that share the products of a group's columns: pairs of tiles.
constexpr int likelihood_parts(int columns) {
  return columns <= most_columns_in_registers ? 1 : packed_size((columns + tile_columns - 1) / tile_columns);
}

/// A `RowGroup` in device memory.
struct LikelihoodGroup {
  const double* x;
  long long first_slot;
  int rows;
  int columns;
  int first_input;  ///< index of the group's first input
  int first_chunk;
  int end_chunk;
};

struct LikelihoodChunk {
  int group;
  int begin;
  int end;
};

/// A response by slot: counts below 65535 in 16 bits (65535: missing), other values as doubles (NaN:
/// missing).
struct LikelihoodResponse {
  const double* y;
  const unsigned short* counts;  ///< null: `y` has the values
  const double* weights;
  const double* offset;
};

struct LikelihoodRequest {
  LikelihoodResponse response;
  const double* host_input;  ///< inputs by group in mapped host memory
  double* input;             ///< `host_input`, or a device copy
  int first_input;           ///< inputs [first_input, end_input) are copied to the device
  int end_input;
  double* sums;    ///< partial sums by chunk, for groups with several chunks
  double* output;  ///< sums by group in mapped host memory
  double theta;
  double log_theta;
  double level;      ///< intercept of the null model
  double tolerance;  ///< of `settle`
  LikelihoodPass pass;
  int first_group;  ///< groups [first_group, end_group) are summed
  int end_group;
  int is_poisson;  ///< nb is at its Poisson limit
  int with_tau;
};

/// Work of a CUDA block: one chunk of rows, and one part of the products of the group's columns.
struct LikelihoodBlock {
  int request;
  int chunk;
  int part;
};

struct LikelihoodBatch {
  const LikelihoodGroup* groups;
  const LikelihoodChunk* chunks;
  const long long* partial_begins;
  const long long* output_begins;
  const LikelihoodRequest* requests;
  const LikelihoodBlock* blocks;
};

}  // namespace TESSERA_NAMESPACE::gam
