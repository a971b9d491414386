// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/bytes/byte_source.hpp"
#include "gam/table/frame/workers.hpp"
#include "gam/table/reader/table_reader.hpp"

#include <tessera/gam/table.hpp>

#include <cstdint>
#include <memory>

namespace tessera::gam {

/// What messages call a table in memory.
inline constexpr const char* memory_name = "the table in memory";

/// *Collective.* A table in memory, which must stay, as readers of files have theirs: numbers are fields
/// without quotes, NaN missing, and levels are fields of a factor. Throws the same `Error` on every rank for
/// one that is not as `Table` says.
[[nodiscard]] std::unique_ptr<TableReader> open_memory(const Workers& workers, const Table& table,
                                                       const BetweenReads& between = {});

/// *Collective.* A number that differs, most probably, for other columns and values; the same however the
/// rows are dealt out to ranks. Throws as `open_memory` does. Cost: one look at each value.
[[nodiscard]] std::uint64_t hash_of(const Workers& workers, const Table& table);

}  // namespace tessera::gam
