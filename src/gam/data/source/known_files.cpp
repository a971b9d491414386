// SPDX-License-Identifier: Apache-2.0
#include "gam/data/source/known_files.hpp"

#include "base/errors.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// The bytes of a literal, including NUL bytes.
struct Mark {
  template <std::size_t Size>
  constexpr Mark(const char (&literal)[Size]) : bytes(literal, Size - 1) {}  // NOLINT(*-explicit-*)
  std::string_view bytes;
};

struct KnownFile {
  std::size_t offset;
  Mark mark;
  std::string_view name;
  std::string_view advice;  ///< what to do; {0}: path of the file, {1}: path without ending
  bool is_text = false;     ///< the file begins with text
};

constexpr std::string_view by_readxl =
    R"~(Rscript -e 'write.csv(readxl::read_excel("{0}"), "{1}.csv", row.names = FALSE)')~";
constexpr std::string_view by_read_rds =
    R"~(Rscript -e 'write.csv(readRDS("{0}"), "{1}.csv", row.names = FALSE)')~";
constexpr std::string_view by_load =
    R"~(Rscript -e 'load("{0}"); write.csv(TABLE, "{1}.csv", row.names = FALSE)', for the table in it)~";
constexpr std::string_view by_read_dta =
    R"~(Rscript -e 'write.csv(haven::read_dta("{0}"), "{1}.csv", row.names = FALSE)')~";
constexpr std::string_view by_read_sav =
    R"~(Rscript -e 'write.csv(haven::read_sav("{0}"), "{1}.csv", row.names = FALSE)')~";
constexpr std::string_view by_feather =
    R"~(python3 -c "import pandas; pandas.read_feather('{0}').to_csv('{1}.csv', index=False)")~";
constexpr std::string_view by_pickle =
    R"~(python3 -c "import pandas; pandas.read_pickle('{0}').to_csv('{1}.csv', index=False)")~";
constexpr std::string_view by_iconv = "iconv -f UTF-16 -t UTF-8 '{0}' > '{1}.utf8.csv'";
constexpr std::string_view the_table_itself = "give the table itself";

constexpr KnownFile known_files[] = {
    {0, "FEA1\0\0\0\0", "a Feather file of version 1", by_feather},
    {0, "ORC", "an ORC file",
     R"~(python3 -c "import pandas; pandas.read_orc('{0}').to_csv('{1}.csv', index=False)")~"},
    {0, "Obj\x01", "an Avro file", "write it as CSV"},
    {30, "[Content_Types].xml", "an Excel workbook", by_readxl},
    {30, "_rels/", "an Excel workbook", by_readxl},
    {30, "docProps/", "an Excel workbook", by_readxl},
    {30, "xl/", "an Excel workbook", by_readxl},
    {30, "mimetypeapplication/vnd.oasis.opendocument", "an OpenDocument file",
     "libreoffice --convert-to csv '{0}'"},
    {0, "PK\x03\x04", "a ZIP archive", "unzip -p '{0}' > '{1}.csv'"},
    {0, "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "an old Excel workbook", by_readxl},
    {0, "X\n\0\0\0\x02", "an object of R (rds)", by_read_rds},
    {0, "X\n\0\0\0\x03", "an object of R (rds)", by_read_rds},
    {0, "RDX2\nX\n", "a workspace of R (RData)", by_load},
    {0, "RDX3\nX\n", "a workspace of R (RData)", by_load},
    {0, "SQLite format 3\0", "an SQLite database",
     "sqlite3 -header -csv '{0}' 'SELECT * FROM TABLE' > '{1}.csv', with the name of the table in it"},
    {8, "DUCK", "a DuckDB database",
     "duckdb -csv '{0}' 'FROM TABLE' > '{1}.csv', with the name of the table in it"},
    {0, "<stata_dta>", "a Stata file", by_read_dta, true},
    {0, "\x73\x01\x01\0", "a Stata file", by_read_dta},
    {0, "\x73\x02\x01\0", "a Stata file", by_read_dta},
    {0, "\x72\x01\x01\0", "a Stata file", by_read_dta},
    {0, "\x72\x02\x01\0", "a Stata file", by_read_dta},
    {0, "$FL2@(#)", "an SPSS file", by_read_sav},
    {0, "$FL3@(#)", "an SPSS file", by_read_sav},
    {12, "\xC2\xEA\x81\x60\xB3\x14\x11\xCF\xBD\x92\x08\0\x09\xC7\x31\x8C", "a SAS file",
     R"~(Rscript -e 'write.csv(haven::read_sas("{0}"), "{1}.csv", row.names = FALSE)')~"},
    {0, "HEADER RECORD*******LIB", "a SAS transport file",
     R"~(Rscript -e 'write.csv(haven::read_xpt("{0}"), "{1}.csv", row.names = FALSE)')~", true},
    {0, "\x93NUMPY", "an array of NumPy",
     R"~(python3 -c "import numpy; numpy.savetxt('{1}.csv', numpy.load('{0}'), delimiter=',')", without a header)~"},
    {0, "\x80\x02", "a pickled object of Python", by_pickle},
    {0, "\x80\x03", "a pickled object of Python", by_pickle},
    {0, "\x80\x04\x95", "a pickled object of Python", by_pickle},
    {0, "\x80\x05\x95", "a pickled object of Python", by_pickle},
    {0, "MATLAB 5.0 MAT-file", "a MAT-file of MATLAB", "in MATLAB, writetable(TABLE, '{1}.csv')", true},
    {0, "CDF\x01", "a netCDF file", "write its variables as columns of CSV"},
    {0, "CDF\x02", "a netCDF file", "write its variables as columns of CSV"},
    {0, "CDF\x05", "a netCDF file", "write its variables as columns of CSV"},
    {0, "\x89HDF\r\n\x1a\n", "HDF5 that is packed once more", "unpack it"},
    {0, "\x1f\x8b", "packed by gzip twice", "gzip -dc '{0}' > '{1}.csv.gz'"},
    {0, "\x28\xB5\x2F\xFD", "packed by zstd, which this build does not unpack", "zstd -dc '{0}' > '{1}'"},
    {0, "\xFD\x37zXZ\0", "packed by xz, which this build does not unpack", "xz -dc '{0}' > '{1}'"},
    {4, "1AY&SY", "packed by bzip2, which this build does not unpack", "bzip2 -dc '{0}' > '{1}'"},
    {0, "\x1f\x9d", "packed by compress", "gzip -dc '{0}' > '{1}'"},
    {0, "\x04\x22\x4D\x18", "packed by lz4", "lz4 -dc '{0}' > '{1}'"},
    {0, "LZIP\x01", "packed by lzip", "lzip -dc '{0}' > '{1}'"},
    {0, "7z\xBC\xAF\x27\x1C", "a 7z archive", "7z e -so '{0}' > '{1}.csv'"},
    {0, "Rar!\x1A\x07", "a RAR archive", "unrar p -inul '{0}' > '{1}.csv'"},
    {257, "ustar", "a tar archive", "tar -xOf '{0}' > '{1}.csv'"},
    {0, "[{", "JSON",
     R"~(python3 -c "import pandas; pandas.read_json('{0}').to_csv('{1}.csv', index=False)")~", true},
    {0, "{\"", "JSON",
     R"~(python3 -c "import pandas; pandas.read_json('{0}', lines=True).to_csv('{1}.csv', index=False)")~",
     true},
    {0, "%PDF-", "a PDF document", the_table_itself, true},
    {0, "<!DOCTYPE html", "an HTML page", the_table_itself, true},
    {0, "<!doctype html", "an HTML page", the_table_itself, true},
    {0, "<html", "an HTML page", the_table_itself, true},
    {0, "<?xml", "an XML document", the_table_itself, true},
    {0, "\xFF\xFE\0\0", "text in UTF-32", "iconv -f UTF-32 -t UTF-8 '{0}' > '{1}.utf8.csv'"},
    {0, "\xFF\xFE", "text in UTF-16", by_iconv},
    {0, "\xFE\xFF", "text in UTF-16", by_iconv}};

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 &&
         std::string_view("\t\n\v\f\r").find(c) == std::string_view::npos;
}

/// Whether every second byte from `begin` on is NUL: ASCII text in UTF-16 without a byte order mark.
bool has_nul_every_other(std::string_view first, std::size_t begin) {
  constexpr std::size_t least_characters = 4;
  const std::size_t size = std::min<std::size_t>(first.size(), 64) / 2 * 2;
  if (size < 2 * least_characters) return false;
  for (std::size_t i = 0; i < size; i += 2) {
    if (first[i + begin] != '\0' || first[i + 1 - begin] == '\0') return false;
  }
  return true;
}

[[noreturn]] void refuse_as(std::string_view name, std::string_view advice, const std::string& path) {
  const std::size_t folder = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  const std::size_t ending = path.rfind('.');
  std::string bare = ending == std::string::npos || ending <= folder ? path : path.substr(0, ending);
  if (bare + ".csv" == path) bare += ".new";  // the advice must not overwrite the file
  throw base::input_error("{}: is {}: {}", path, name, fmt::format(fmt::runtime(advice), path, bare));
}

}  // namespace

void refuse_other_files(std::string_view first, const std::string& path) {
  const bool is_text = std::ranges::none_of(first, is_control);
  for (const KnownFile& file : known_files) {
    if (is_text && !file.is_text) continue;
    if (first.size() > file.offset && first.substr(file.offset).starts_with(file.mark.bytes))
      refuse_as(file.name, file.advice, path);
  }
  if (has_nul_every_other(first, 1))
    refuse_as("text in UTF-16", "iconv -f UTF-16LE -t UTF-8 '{0}' > '{1}.utf8.csv'", path);
  if (has_nul_every_other(first, 0))
    refuse_as("text in UTF-16", "iconv -f UTF-16BE -t UTF-8 '{0}' > '{1}.utf8.csv'", path);
}

}  // namespace TESSERA_NAMESPACE::gam
