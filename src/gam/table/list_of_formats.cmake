# SPDX-License-Identifier: Apache-2.0
# The formats of tables, a header each. The first that recognises a file opens it; CSV, the last, takes any.
tessera_type_list(TableFormats TableFormatList
  gzip_format
  hdf5_format
  csv_format)
