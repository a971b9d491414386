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

using OpenOne = std::function<std::unique_ptr<TableReader>(const Workers& workers, const std::string& path,
                                                           const OpenOptions& options)>;

/// *Collective.* Opens several files as one table, with their rows in the order of the files. `files` must be
/// the same on every rank.
///
/// All files must have the columns of the first file, in any order, of the same types; names of folders add
/// columns. If there are fewer files than ranks, all ranks together open each file like a table of one file.
/// Otherwise each rank counts the rows of a share of the files, and opens the files that contain its rows;
/// all ranks open only the first file.
///
/// Throws the same `Error(input)` on every rank, like opening a file, and with the name of a file that has
/// other columns.
[[nodiscard]] std::unique_ptr<TableReader> open_list(const Workers& workers, std::vector<ListedFile> files,
                                                     const OpenOptions& options, const OpenOne& open);

}  // namespace TESSERA_NAMESPACE::gam
