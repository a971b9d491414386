// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/folder/file_listing.hpp"
#include "gam/data/source/table_reader.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Opens one file of a list: `open_table`.
using OpenOne = std::function<std::unique_ptr<TableReader>(const Workers& workers, const std::string& path,
                                                           const OpenOptions& options)>;

/// *Collective.* A table of several files, whose rows follow one another in the files' order. `files` must be
/// the same on every rank.
///
/// All files have the columns of the first, in any order, and of the same kinds; the names of folders add
/// columns. Fewer files than ranks are opened by all ranks together, each as a table of one file is.
/// Otherwise each rank counts the rows of a share of the files, and opens those with its rows; only the first
/// is opened by all.
///
/// Throws the same `Error(input)` on every rank: what opening a file throws, and a file with other columns,
/// which is named.
[[nodiscard]] std::unique_ptr<TableReader> open_list(const Workers& workers, std::vector<ListedFile> files,
                                                     const OpenOptions& options, const OpenOne& open);

}  // namespace TESSERA_NAMESPACE::gam
