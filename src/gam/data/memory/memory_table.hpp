// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/frame/workers.hpp"
#include "gam/data/source/table_reader.hpp"

#include <tessera/gam/table.hpp>

#include <cstdint>
#include <memory>

namespace TESSERA_NAMESPACE::gam {

inline constexpr const char* memory_name = "the table in memory";

/// The number represented by an element of `IntegerSpans`; NaN for a missing value.
[[nodiscard]] double number_of(std::int32_t value);

/// *Collective.* Opens a table in memory, which must outlive the reader; numbers are not copied. Numbers are
/// treated as unquoted fields of a file, NaN as missing, and levels as fields of a factor. Throws the same
/// `Error` on every rank for a table that violates the rules of `Table`.
[[nodiscard]] std::unique_ptr<TableReader> open_memory(const Workers& workers, const Table& table,
                                                       const BetweenReads& between = {});

/// *Collective.* A hash of columns and values, independent of the distribution of rows over ranks. Throws
/// like `open_memory`. Cost: one scan of the values.
[[nodiscard]] std::uint64_t hash_of(const Workers& workers, const Table& table);

}  // namespace TESSERA_NAMESPACE::gam
