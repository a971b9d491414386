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

/// Columns of a table that are read some at a time.
struct ColumnBatches {
  std::vector<std::string> names;
  TableOptions options{};                 ///< how they are read
  std::size_t at_once = 0;                ///< 0: as many as fit into half of the free memory, at least one
  std::optional<MemoryOptions> memory{};  ///< as `FrameRequest::memory`
  /// They are only described: see `ReadPlan::set_strays`.
  bool described = false;
};

/// A batch: every row of this rank, in the order of `names`; the frame may be taken.
using TakeColumns =
    std::function<void(std::span<const std::string> names, Frame& frame, std::span<const StrayTexts> strays)>;

/// *Collective.* Passes each batch to `take`. Throws the same `Error` on every rank, as reading the table
/// does.
void read_in_batches(const Workers& workers, TableReader& table, Range rows, const ColumnBatches& columns,
                     const TakeColumns& take);

/// These columns, once each; if there are none, all that have a name.
[[nodiscard]] std::vector<std::string> chosen_columns(const TableReader& table,
                                                      const std::vector<std::string>& columns);

}  // namespace TESSERA_NAMESPACE::gam
