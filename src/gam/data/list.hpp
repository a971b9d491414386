// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/arrow/arrow_format.hpp"
#include "gam/data/csv/csv_format.hpp"
#include "gam/data/csv/gzip_format.hpp"
#include "gam/data/csv/packed_format.hpp"
#include "gam/data/hdf5/hdf5_format.hpp"
#include "gam/data/source/table_format.hpp"

namespace TESSERA_NAMESPACE::gam {

/// The formats of tables. The first that recognises a file opens it; CSV, the last, accepts any file.
using TableFormats = TableFormatList<GzipFormat, PackedFormat, Hdf5Format, ArrowFormat, CsvFormat>;

}  // namespace TESSERA_NAMESPACE::gam
