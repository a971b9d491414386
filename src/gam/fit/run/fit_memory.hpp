// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/design/design.hpp"
#include "gam/fit/run/fit_context.hpp"
#include "gam/formula/formula.hpp"
#include "gam/linalg/elimination.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Estimates the memory of a fit, without its rows, before allocation.
namespace TESSERA_NAMESPACE::gam {

/// Maximum number of coefficients for which a model keeps the triangle of X'WX.
inline constexpr int largest_triangle = 2000;

/// Sizes of a model. Numbers of coefficients are upper bounds: constraints and the removal of dependent
/// columns reduce them.
struct ModelSize {
  /// Blocks of the same size, such as the levels of s(x, by = f).
  struct Blocks {
    std::int64_t count = 1;
    std::int64_t raw = 1;   ///< raw columns of each block
    std::int64_t coef = 1;  ///< coefficients of each block
    std::int64_t penalties = 0;
    bool sparse = false;  ///< map and penalties are sparse
    bool ridge = false;   ///< random effect or factor smooth: map and penalties take no memory
    bool parted = false;  ///< in the design's part (sparse blocks of random effects)
  };
  std::vector<Blocks> blocks;
  std::int64_t raw = 0;    ///< columns of R
  std::int64_t coef = 0;   ///< p
  std::int64_t width = 0;  ///< numbers summed by a pass over the rows
  /// Columns and coefficients of the random effects, or of the factor smooth, with sparse blocks
  /// (`Design::parted_columns`), and an upper bound of the number of pairs of levels in rows.
  std::int64_t parted_raw = 0;
  std::int64_t parted = 0;
  std::int64_t pairs = 0;
  /// Columns of R, and coefficients, of the smooths that share a variable with another smooth: see
  /// side_conditions.hpp.
  std::int64_t nested_raw = 0;
  std::int64_t nested_coef = 0;
};

/// The sizes of the formula's model. Throws `Error(input)` for a term with too many coefficients or columns.
/// `largest_whole_effect`: as for the design. `series`: of the rows, with the fit's correlation. Pure.
[[nodiscard]] ModelSize size_of_model(const FormulaTerms& formula, const Frame& frame,
                                      std::int64_t largest_whole_effect, const Series* series = nullptr);

/// Peak memory of a rank in each stage of a fit, in bytes.
struct FitMemory {
  std::int64_t design = 0;   ///< maps, penalties and their drafts
  std::int64_t sums = 0;     ///< sums of a pass, for each thread and over all
  std::int64_t nesting = 0;  ///< the sketch of nested smooths, for each thread and over all
  std::int64_t mapping = 0;  ///< transformation of the crossproduct from raw columns to coefficients
  std::int64_t search = 0;   ///< search for smoothing parameters, on the rank that solves
  std::int64_t results = 0;  ///< covariance and tests, on rank 0
  std::int64_t writing = 0;  ///< writing of the model, on rank 0

  [[nodiscard]] std::int64_t most() const;
  [[nodiscard]] std::string_view largest() const;
};

/// `sums_at_once`: threads or devices of the rank, each with its own sums (threads of a fit `on_hosts` share
/// wide sums). `threads`: host threads of the search. `solves`: the rank stores the crossproduct in
/// coefficients and the model; other ranks store the design and the sums. Pure.
[[nodiscard]] FitMemory memory_of_fit(const ModelSize& size, int sums_at_once, int threads, bool solves,
                                      bool on_hosts = false);

[[nodiscard]] std::string to_string(const FitMemory& memory, const ModelSize& size);

/// *Collective.* Throws the same `Error(input)` on every rank if a rank lacks the memory for the model of
/// `rows`, before the system kills a rank that allocates it. Always reports the memory needed, and returns
/// this rank's need in bytes.
std::int64_t require_memory(const FitContext& fit, const Rows& rows);

/// *Collective.* Checks the memory for several large random effects, which depends on the pairs of levels in
/// `pairs`. Throws the same `Error(input)` on every rank if a rank lacks it.
void require_memory(const FitContext& fit, const Design& design, const LevelPairs& pairs);

/// Memory of a REML search with elimination, in bytes. `core`: number of coefficients in the core. Pure.
[[nodiscard]] std::int64_t memory_of_elimination(const EliminationOrder& order, int core);

}  // namespace TESSERA_NAMESPACE::gam
