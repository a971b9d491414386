// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/csv/csv_format.hpp"
#include "gam/table/csv/gzip_format.hpp"
#include "gam/table/hdf5/hdf5_format.hpp"
#include "gam/table/reader/table_format.hpp"

namespace TESSERA_NAMESPACE::gam {

/// The formats of tables. The first that recognises a file opens it; CSV, the last, accepts any file.
using TableFormats = TableFormatList<GzipFormat, Hdf5Format, CsvFormat>;

}  // namespace TESSERA_NAMESPACE::gam
