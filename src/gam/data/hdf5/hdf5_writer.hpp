// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/hdf5/written_encoding.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "files/output_file.hpp"

/// Writes tables that hdf5_table.hpp can read: the library writes the descriptions of columns; any rank
/// writes the bytes of values, in any order, at the returned offsets.
namespace TESSERA_NAMESPACE::gam {

struct NewColumn {
  std::string name;
  ColumnEncoding encoding;
  std::int64_t width = 0;  ///< values in each row of a matrix; 0: a column
};

/// A text that belongs to the whole file.
struct NewText {
  enum class As : std::uint8_t { attribute, dataset };  ///< an attribute has at most some kilobytes
  std::string name;
  std::string text;
  As as = As::attribute;
};

/// False in a build without HDF5.
[[nodiscard]] bool has_hdf5() noexcept;

/// Creates a file without columns, which will store the order in which columns are added. Throws
/// `Error(input)`, like `add_hdf5_columns`, if the file cannot be written, or in a build without HDF5.
void begin_hdf5(files::OutputFile& file);

/// Adds a dataset of `rows` values for each column. Returns the file offsets of their contiguous values.
[[nodiscard]] std::vector<std::int64_t> add_hdf5_columns(files::OutputFile& file,
                                                         std::span<const NewColumn> columns,
                                                         std::int64_t rows);

/// Adds attributes of the root, and datasets without dimensions. Empty texts are left out.
void add_hdf5_texts(files::OutputFile& file, std::span<const NewText> texts);

/// Why a column cannot have this name in the file, in words that follow the name; empty: it can.
[[nodiscard]] std::string problem_of_hdf5_name(const std::string& name);

}  // namespace TESSERA_NAMESPACE::gam
