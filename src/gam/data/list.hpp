// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/arrow/arrow_file_table.hpp"
#include "gam/data/csv/csv_table.hpp"
#include "gam/data/hdf5/hdf5_table.hpp"

namespace TESSERA_NAMESPACE::gam {

/// The formats of tables. The first format that recognises a file opens it; CSV, the last, accepts any file.
using TableFormats = TableFormatList<Hdf5Format, ArrowFormat, CsvFormat>;

}  // namespace TESSERA_NAMESPACE::gam
