// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/source/table_reader.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

struct ColumnBatches {
  std::vector<std::string> names;
  TableOptions options{};
  std::size_t at_once = 0;                ///< columns per batch; 0: as many as fit into half of free memory
  std::optional<MemoryOptions> memory{};  ///< see `FrameRequest::memory`
  /// Whether columns are only described: see `ReadPlan::set_strays`.
  bool described = false;
};

/// Receives all rows of this rank; columns in the order of `names`. May move from the frame.
using TakeColumns =
    std::function<void(std::span<const std::string> names, Frame& frame, std::span<const StrayTexts> strays)>;

/// *Collective.* Passes each batch to `take`. Throws the same `Error` on every rank, like reading the table.
void read_in_batches(const Workers& workers, TableReader& table, Range rows, const ColumnBatches& columns,
                     const TakeColumns& take);

/// The given columns without repetition; if none are given, all columns that have a name.
[[nodiscard]] std::vector<std::string> chosen_columns(const TableReader& table,
                                                      const std::vector<std::string>& columns);

}  // namespace TESSERA_NAMESPACE::gam
