// SPDX-License-Identifier: Apache-2.0
// Which characters a text file is divided by, and what other files are said to be.
#include "gam/data/csv/csv_columns.hpp"
#include "gam/data/csv/csv_dialect.hpp"
#include "gam/data/source/known_files.hpp"
#include "support/errors.hpp"
#include "temporary_folder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

class Dialect : public ::testing::Test {
 protected:
  CsvHeader header_of(const std::string& text, const TableOptions& options = {}) {
    const std::string path = (folder_ / "t.csv").string();
    std::ofstream(path, std::ios::binary) << text;
    const auto source = open_plain(path);
    return read_csv_header(*source, path, 64, options);
  }
  /// The separator and the decimal mark of a text.
  std::string marks_of(const std::string& text, const TableOptions& options = {}) {
    const CsvDialect dialect = header_of(text, options).dialect;
    return {dialect.separator, dialect.decimal};
  }
  std::string fault_of(const std::string& text, const TableOptions& options = {},
                       ErrorCode code = ErrorCode::input) {
    return error_if_any(code, [&] { static_cast<void>(header_of(text, options)); }).value_or("none");
  }

  TemporaryFolder folder_;
};

TEST_F(Dialect, IsTheFirstThatGivesAllRowsAsManyFields) {
  EXPECT_EQ(marks_of("x,y\n1,2\n3,4\n"), ",.");
  EXPECT_EQ(marks_of("x\ty\n1\t2\n"), "\t.");
  EXPECT_EQ(marks_of("x;y\n1;2\n"), ";.");
  EXPECT_EQ(marks_of("x|y\n1|2\n"), "|.");
  EXPECT_EQ(marks_of("x y\n1 2\n"), ",.");
  EXPECT_EQ(marks_of("x\n1\n2\n"), ",.");
  // What commas can read is read with commas.
  EXPECT_EQ(marks_of("a;b,c;d\n1;2,3;4\n"), ",.");
  EXPECT_EQ(marks_of("a;b\n1;2,x\n1;3\n"), ";.");
  // Separators in quotes do not count.
  EXPECT_EQ(marks_of("\"a;b\";c\n\"1,a\";2\n3;\"x;y;z\"\n"), ";.");
  EXPECT_EQ(marks_of("x;y\n1;\"a\nb;c\"\n"), ";.");
  // Neither blank lines nor what is behind the first rows count.
  EXPECT_EQ(marks_of("\xEF\xBB\xBF\n \nx;y\n\n1;2\n\n"), ";.");
  std::string many = "x;y\n";
  for (int row = 0; row < 100; ++row) many += "1;2\n";
  EXPECT_EQ(marks_of(many + "3\n"), ";.");
  many.erase(0, many.find('\n') + 1);
  EXPECT_EQ(marks_of("x;y\n3\n" + many), ",.");
  // A quote that is never closed is left to the reading of the rows.
  EXPECT_EQ(marks_of("x;y\n1;\"2\n"), ";.");
}

TEST_F(Dialect, HasDecimalCommasWhereEachIsBetweenDigits) {
  EXPECT_EQ(marks_of("x;y\n1,5;2\n"), ";,");
  EXPECT_EQ(marks_of("x;y\n-1,5e3;Smith, John\n"), ";,");
  EXPECT_EQ(marks_of("x\ty\n 1,25 \ta\n"), "\t,");
  EXPECT_EQ(marks_of("x;y\n\"1,5\";\"2\"\n"), ";,");
  EXPECT_EQ(marks_of("x;y\n1,5;31.12.2020\n"), ";,");
  EXPECT_EQ(marks_of("x|y\n1,5|2\n"), "|.");
  EXPECT_EQ(marks_of("x;y\n1,5;2.5\n"), ";.");
  EXPECT_EQ(marks_of("x;y\n1,5;2\na,b;3\n"), ";.");
  EXPECT_EQ(marks_of("x;y\n1,2,3;2\n"), ";.");
  EXPECT_EQ(marks_of("x;y\n,5;2\n5,;2\n"), ";.");
  // Thousands in a file with tabs, more likely than with semicolons.
  EXPECT_EQ(marks_of("x\ty\n1,234\t2\n"), "\t.");
  EXPECT_EQ(marks_of("x\ty\n1,234\t2\n0,5\t1\n"), "\t,");
  EXPECT_EQ(marks_of("x;y\n1,234;2\n"), ";,");
  // The header has no numbers.
  EXPECT_EQ(marks_of("1,5;2,5\n1;2\n"), ";.");
  EXPECT_EQ(marks_of("1,5;2,5\n1;2\n", {.header = false}), ";,");
}

TEST_F(Dialect, IsToldWhereItIsUnusual) {
  EXPECT_EQ(header_of("x,y\n1,2\n").dialect_words, "");
  EXPECT_EQ(header_of("x\ty\n1\t2\n").dialect_words, "tabs separate the fields");
  EXPECT_EQ(header_of("x;y\n1,5;2\n").dialect_words,
            "semicolons separate the fields, and numbers have decimal commas");
  EXPECT_EQ(header_of("x;y\n1,5;2\n", {.sep = ";"}).dialect_words, "numbers have decimal commas");
  EXPECT_EQ(header_of("x;y\n1,5;2\n", {.sep = ";", .dec = ","}).dialect_words, "");
}

TEST_F(Dialect, MayBeGiven) {
  EXPECT_EQ(marks_of("x;y\n1;2\n", {.sep = ","}), ",.");
  EXPECT_EQ(marks_of("x y\n1 2\n", {.sep = " "}), " .");
  EXPECT_EQ(marks_of("x\ty\n1\t2\n", {.sep = "tab"}), "\t.");
  EXPECT_EQ(marks_of("x;y\n1,5;2\n", {.dec = "."}), ";.");
  // With decimal commas, commas do not separate.
  EXPECT_EQ(marks_of("x,y;z\n1,5;2,0\n", {.dec = ","}), ";,");
  EXPECT_EQ(header_of("x y\n1 2\n", {.sep = " "}).columns, (std::vector<std::string>{"x", "y"}));

  const auto refused = [&](const TableOptions& options) {
    return fault_of("x,y\n1,2\n", options, ErrorCode::usage);
  };
  EXPECT_EQ(refused({.sep = "ab"}),
            "sep 'ab': give one character, or the word tab; quotes, digits and letters are not allowed");
  EXPECT_EQ(refused({.sep = "\""}),
            "sep '\"': give one character, or the word tab; quotes, digits and letters are not allowed");
  EXPECT_EQ(refused({.sep = "."}), "sep '.': this character occurs in numbers: give another character");
  EXPECT_EQ(refused({.dec = ";"}), "dec ';': give '.' or ','");
  EXPECT_EQ(refused({.sep = ",", .dec = ","}), "sep and dec are both ',': give different characters");
  EXPECT_EQ(refused({.sep = ";", .comment = ";"}), "sep and comment are both ';': give different characters");
  EXPECT_EQ(refused({.comment = " "}), "comment ' ': give a character other than a blank");
  EXPECT_EQ(refused({.skip = -1}), "skip is -1: give a number of lines of at least 0");
}

TEST_F(Dialect, HasLinesBeforeTheTable) {
  const CsvHeader skipped = header_of("about; \"this\nx;y\n1;2\n", {.skip = 1});
  EXPECT_EQ(skipped.columns, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(skipped.data_line, 3);
  const CsvHeader commented = header_of("# it's \"open\n\n  # again\nx;y\n#1\n1;2\n", {.comment = "#"});
  EXPECT_EQ(commented.columns, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(commented.data_line, 5);
  EXPECT_EQ(fault_of("x\n1\n", {.skip = 3}).substr(folder_.path().string().size() + 1),
            "t.csv: has no line after the 3 skipped lines: reduce skip");
  EXPECT_NE(fault_of("#x\n#1\n", {.comment = "#"}).find(": the file is empty"), std::string::npos);
}

TEST_F(Dialect, MayHaveNoHeader) {
  const CsvHeader header = header_of("\n1;2;a\n3;4;b\n", {.header = false});
  EXPECT_EQ(header.columns, (std::vector<std::string>{"V1", "V2", "V3"}));
  EXPECT_EQ(header.quotes, "   ");
  EXPECT_EQ(header.data_line, 2);
  EXPECT_EQ(header.data_offset, 1);
}

TEST_F(Dialect, OtherFilesAreNamedWithAWayOut) {
  const auto bytes = [](const char* text, std::size_t size) { return std::string(text, size); };
  const std::string zip = bytes("PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0", 30);
  const std::vector<std::pair<std::string, std::string>> files{
      {bytes("FEA1\0\0\0\0", 8),
       "a Feather file of version 1: python3 -c \"import pandas; pandas.read_feather('{0}')"},
      {zip + "a.csv", "a ZIP archive: unzip -p '{0}' > '{1}.csv'"},
      {zip + "[Content_Types].xml",
       "an Excel workbook: Rscript -e 'write.csv(readxl::read_excel(\"{0}\"), \"{1}.csv\""},
      {zip + "xl/workbook.xml", "an Excel workbook"},
      {bytes("X\n\0\0\0\x03\0\x04", 8),
       "an object of R (rds): Rscript -e 'write.csv(readRDS(\"{0}\"), \"{1}.csv\""},
      {bytes("RDX3\nX\n\0\0\0\x03", 11), "a workspace of R (RData)"},
      {bytes("SQLite format 3\0\x10", 17),
       "an SQLite database: sqlite3 -header -csv '{0}' 'SELECT * FROM TABLE'"},
      {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "an old Excel workbook"},
      {"\x04\"M\x18", "packed by lz4: lz4 -dc '{0}' > '{1}'"},
      {"%PDF-1.7\n", "a PDF document"},
      {"<!DOCTYPE html>\n<p>1,2", "an HTML page"},
      {"[{\"x\": 1}]\n", "JSON: python3 -c \"import pandas; pandas.read_json('{0}').to_csv('{1}.csv'"},
      {"{\"x\": 1}\n", "JSON: python3 -c \"import pandas; pandas.read_json('{0}', lines=True)"},
      {bytes("\xFF\xFEx\0,\0y\0\n\0", 10), "text in UTF-16: iconv -f UTF-16 -t UTF-8 '{0}' > '{1}.utf8.csv'"},
      {bytes("\xFE\xFF\0x\0,\0y\0\n", 10), "text in UTF-16: iconv -f UTF-16 -t"},
      {bytes("x\0,\0y\0\n\0", 8), "text in UTF-16: iconv -f UTF-16LE -t UTF-8"},
      {bytes("\0x\0,\0y\0\n", 8), "text in UTF-16: iconv -f UTF-16BE -t UTF-8"}};
  const std::string path = (folder_ / "t.csv").string();
  for (const auto& [text, expected] : files) {
    const std::string fault = fault_of(text);
    EXPECT_EQ(
        fault.rfind(fmt::format("{}: is {}", path,
                                fmt::format(fmt::runtime(expected), path, (folder_ / "t.new").string())),
                    0),
        0U)
        << fault << "\n  not: " << expected;
  }
  // Names of columns.
  for (const char* text : {"PAR1,y\n1,2\n", "ORC,y\n1,2\n", "FEA1,y\n1,2\n", "RDX3\nX\n",
                           "BZh91AY&SY,y\n1,2\n", "species,DUCK\n1,2\n", "Obj,MATLAB\n1,2\n", "A\n3\n"})
    EXPECT_EQ(fault_of(text), "none") << text;
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
