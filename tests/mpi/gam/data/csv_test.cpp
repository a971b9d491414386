// SPDX-License-Identifier: Apache-2.0
#include "gam/data/csv/csv_table.hpp"
#include "gam/data/source/table_reader.hpp"
#include "support/bgzip.hpp"
#include "support/errors.hpp"
#include "support/table_support.hpp"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tessera/job/stop_request.hpp>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

// ---- An obviously correct parser: character by character over the whole text. ----

struct Cell {
  std::string text;
  bool quoted = false;
};
using Row = std::vector<Cell>;

std::string without_blanks(std::string text) {
  const std::string blanks = " \t\r";
  text.erase(0, text.find_first_not_of(blanks));
  text.erase(text.find_last_not_of(blanks) + 1);
  return text;
}

/// Removes the carriage return of a line's end.
std::string without_return(std::string text) {
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

std::vector<Row> parse_simply(const std::string& text) {
  std::vector<Row> rows;
  Row row;
  std::string field;
  bool inside = false;
  bool quoted = false;
  bool blank = true;
  bool inside_last = false;  // the last character was the closing quote
  const auto end_field = [&] {
    row.push_back({field, quoted});
    field.clear();
    quoted = false;
  };
  const auto end_row = [&] {
    if (!inside_last) field = without_return(field);
    end_field();
    if (!blank) rows.push_back(row);
    row.clear();
    blank = true;
  };
  for (std::size_t i = text.rfind("\xEF\xBB\xBF", 0) == 0 ? 3 : 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inside) {
      if (c != '"')
        field += c;
      else if (i + 1 < text.size() && text[i + 1] == '"')
        field += text[++i];
      else
        inside = false;
      continue;
    }
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') blank = false;
    if (c == '"') {
      inside = quoted = true;
    } else if (c == ',') {
      end_field();
    } else if (c == '\n') {
      end_row();
    } else {
      field += c;
    }
    inside_last = c == '"';
  }
  end_row();
  return rows;
}

bool is_number(const std::string& text) {
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return !text.empty() && end == text.c_str() + text.size();
}

/// The frame of some columns in the form of `put_together`; nothing if one has a text among numbers.
std::optional<std::string> expected_frame(const std::vector<Row>& rows, const std::vector<int>& columns) {
  const auto cell = [&](std::size_t r, std::size_t c) {
    return rows[r][static_cast<std::size_t>(columns[c])];
  };
  std::vector<bool> factor(columns.size(), false);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    int numbers = 0;
    int quoted = 0;
    int texts = 0;
    for (std::size_t r = 1; r < rows.size(); ++r) {
      const std::string text = without_blanks(cell(r, c).text);
      if (text.empty() || text == "NA") continue;
      ++(!is_number(text) ? texts : cell(r, c).quoted ? quoted : numbers);
    }
    factor[c] = quoted + texts > 0 && quoted + texts >= numbers;
    if (texts > 0 && !factor[c]) return std::nullopt;
  }
  const auto missing = [&](std::size_t r, std::size_t c) {
    const std::string text = factor[c] ? cell(r, c).text : without_blanks(cell(r, c).text);
    return text == "NA" || (text.empty() && !factor[c]);
  };
  const auto complete = [&](std::size_t r) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (missing(r, c)) return false;
    }
    return true;
  };
  std::vector<std::set<std::string>> levels(columns.size());
  for (std::size_t r = 1; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < columns.size() && complete(r); ++c) levels[c].insert(cell(r, c).text);
  }
  std::string all;
  for (std::size_t r = 1; r < rows.size(); ++r) {
    all += complete(r) ? "" : "!";
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::string text = cell(r, c).text;
      char number[40];
      std::snprintf(number, sizeof number, "%.17g", std::strtod(text.c_str(), nullptr));
      if (factor[c])
        all += missing(r, c) || !levels[c].contains(text) ? "<NA>" : text;
      else
        all += missing(r, c) ? "NA" : number;
      all += "|";
    }
    all += "\n";
  }
  return all;
}

// ---- Random files. ----

class RandomCsv {
 public:
  explicit RandomCsv(std::uint64_t seed) : random_(seed) {}

  std::string file(int columns, int rows) {
    std::string text = chance(4) ? "\xEF\xBB\xBF" : "";
    for (int c = 0; c < columns; ++c) {
      const std::string name = "v" + std::to_string(c);
      text += (c > 0 ? "," : "") + (chance(3) ? "\"" + name + "\"" : name);
    }
    // Some columns are numbers, some texts, some a few numbers and then texts, some numbers but one.
    std::vector<int> kind;
    for (int c = 0; c < columns; ++c) kind.push_back(static_cast<int>(random_() % 7) / 2);
    for (int r = 0; r < rows; ++r) {
      end_line(text);
      for (int c = 0; c < columns; ++c) {
        if (c > 0) text += ",";
        const bool as_text =
            kind[c] == 1 || (kind[c] == 2 && r > rows / 4) || (kind[c] == 3 && r == rows - 2);
        text += as_text ? word() : number();
      }
    }
    if (!chance(3)) end_line(text);
    return text;
  }

 private:
  bool chance(int of) { return random_() % static_cast<std::uint64_t>(of) == 0; }

  void end_line(std::string& text) {
    text += chance(3) ? "\r\n" : "\n";
    while (chance(6)) text += chance(2) ? "\n" : " \t\r\n";
  }

  std::string nothing() {
    const char* fields[] = {"NA", "\"NA\"", "", "\"\"", " ", "\" \"", " NA", "\"NA \""};
    return fields[random_() % std::size(fields)];
  }

  std::string number() {
    if (chance(12)) return nothing();
    char text[64];
    const double value = static_cast<double>(static_cast<std::int64_t>(random_() >> 20)) * 1e-9 - 8;
    const char* formats[] = {"%.17g", "%.3f", "%.5e", "%.0f", "%+.2f", " %.4g ", "%.3f\t", "\"%.2f\""};
    std::snprintf(text, sizeof text, formats[random_() % std::size(formats)], value);
    return text;
  }

  std::string word() {
    if (chance(8)) return nothing();
    const char* words[] = {"a",
                           "  b c ",
                           "\"a\"",
                           "\"x,y\"",
                           "\"he said \"\"no\"\"\"",
                           "\"1\n2\"",
                           "\"\r\n\"",
                           "\"\"\"\"",
                           "\"7\"",
                           " \"q\" ",
                           "\"\n\n,\n\"",
                           "\"\xC3\xA4\"",
                           "long words make long rows"};
    return words[random_() % std::size(words)];
  }

  std::mt19937_64 random_;
};

using CsvTable = OverRanks;

TEST_F(CsvTable, ReadsWhatASimpleParserReads) {
  SharedFile file(comm, "table.csv");
  int read = 0;
  // Each number of ranks has files of its own; fewer if its collective calls are slow.
  const auto ranks = static_cast<std::uint64_t>(comm.size());
  const std::uint64_t files = 120 / ranks;
  for (std::uint64_t seed = 1000 * ranks; seed < 1000 * ranks + files; ++seed) {
    const int columns = 1 + static_cast<int>(seed % 5);
    const std::string text = RandomCsv(seed).file(columns, 2 + static_cast<int>(seed * 7 % 60));
    file.write(text);
    const std::vector<Row> rows = parse_simply(text);
    if (rows.size() < 2) continue;  // a file of missing values alone
    CsvOptions options;
    options.buffer_bytes = 1 + seed % 41;
    options.landmark_bytes = 1 + static_cast<std::int64_t>(seed * 13 % 200);
    const auto table = open_csv(crew(comm), file.path(), options);
    ASSERT_EQ(table->rows(), std::ssize(rows) - 1) << "seed " << seed;
    // Some of the columns, not in their order in the file.
    std::vector<int> places;
    FrameRequest wanted;
    for (int c = columns - 1; c >= 0; c -= 1 + static_cast<int>(seed % 2)) {
      places.push_back(c);
      wanted.variables.push_back(column_expression("v" + std::to_string(c)));
    }
    const std::optional<std::string> expected = expected_frame(rows, places);
    read += expected ? 1 : 0;
    for (const Range share : {uneven_share(comm, table->rows(), seed),
                              Plan::over_hosts(table->rows(), comm.size()).range_of(comm.rank())}) {
      if (!expected) {
        const std::string fault =
            common_fault(comm, [&] { static_cast<void>(table->read(crew(comm), wanted, share)); });
        EXPECT_NE(fault.find("but most of its fields are numbers"), std::string::npos) << fault;
        continue;
      }
      const Frame frame = table->read(crew(comm), wanted, share);
      EXPECT_EQ(frame.rows, share);
      const std::string found = put_together(comm, frame);
      EXPECT_EQ(found, *expected) << "seed " << seed << "\n" << text;
      const auto mine = std::count(frame.complete.begin(), frame.complete.end(), std::uint8_t{1});
      EXPECT_EQ(frame.complete_rows, comm.allreduce<std::int64_t>(mine, mpi::Reduction::sum));
      EXPECT_EQ(frame.file_rows, table->rows());
    }
  }
  EXPECT_GT(read, static_cast<int>(files / 3));
}

/// The text with the first of two characters in place of the second, and the reverse.
std::string exchanged(std::string text, char one, char other) {
  for (char& c : text) c = c == one ? other : c == other ? one : c;
  return text;
}

/// The text with comments, whose quotes and separators mean nothing, before some lines that begin outside of
/// quotes.
std::string with_comments(const std::string& text, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string with = "# \"a comment\n";
  bool inside = false;
  for (const char c : text) {
    with += c;
    inside = inside != (c == '"');
    if (c != '\n' || inside) continue;
    while (random() % 3 == 0) with += random() % 2 == 0 ? "#,;\n" : " \t# it's \"one, quote\r\n";
  }
  return with;
}

TEST_F(CsvTable, ReadsOtherDialectsAsItReadsCommas) {
  const SharedFile file(comm, "commas.csv");
  const SharedFile other(comm, "other.txt");
  const auto ranks = static_cast<std::uint64_t>(comm.size());
  int read = 0;
  for (std::uint64_t seed = 1000 * ranks; seed < 1000 * ranks + 60 / ranks; ++seed) {
    const int columns = 2 + static_cast<int>(seed % 4);
    const std::string text = RandomCsv(seed).file(columns, 2 + static_cast<int>(seed * 7 % 60));
    file.write(text);
    CsvOptions options;
    options.buffer_bytes = 1 + seed % 41;
    options.landmark_bytes = 1 + static_cast<std::int64_t>(seed * 13 % 200);
    if (parse_simply(text).size() < 2) continue;
    const auto frame_of = [&](const std::string& path) -> std::string {
      const auto table = open_csv(crew(comm), path, options);
      const Range share = uneven_share(comm, table->rows(), seed);
      std::string frame;
      const auto fault = error_if_any(ErrorCode::input, [&] {
        frame = put_together(comm, table->read(crew(comm), request({"v0", "v1"}), share));
      });
      read += fault ? 0 : 1;
      return fault ? "a text among numbers" : frame;
    };
    const std::string expected = frame_of(file.path());
    for (const char separator : {';', '~'}) {
      other.write(exchanged(text, ',', separator));
      options.open.table = {.sep = std::string(1, separator)};
      EXPECT_EQ(exchanged(frame_of(other.path()), ',', separator), expected) << seed;
    }
    const bool marked = text.starts_with("\xEF");
    other.write((marked ? text.substr(0, 3) : "") + with_comments(text.substr(marked ? 3 : 0), seed));
    options.open.table = {.comment = "#"};
    EXPECT_EQ(frame_of(other.path()), expected) << seed;
    other.write("not; a \"table\n" + text.substr(marked ? 3 : 0));
    options.open.table = {.skip = 1};
    EXPECT_EQ(frame_of(other.path()), expected) << seed;
    options.open.table = {};
  }
  EXPECT_GT(read, static_cast<int>(60 / ranks));
}

TEST_F(CsvTable, FindsTheDialectAndTellsIt) {
  std::string told;
  const auto frame_of = [&](const std::string& text, const std::vector<std::string>& variables,
                            const TableOptions& options = {}) {
    told.clear();
    const SharedFile file(comm, "t.txt", text);
    const auto table = open_table(crew(comm), file.path(),
                                  {.tell = [&](std::string_view line) { told += line; }, .table = options});
    FrameRequest wanted = request(variables);
    wanted.options = options;
    told.erase(0, std::min(told.size(), file.path().size()));
    return put_together(comm, table->read(crew(comm), wanted, uneven_share(comm, table->rows(), 7)));
  };
  // Points are no decimal marks beside decimal commas; levels of numbers have points, as in R.
  EXPECT_EQ(frame_of("x;f\n1,5;\"a;b\"\n-0,25e1; NA\nNA;c\n 2 ;a.b\n", {"x", "f"}),
            "1.5|a;b|\n-2.5| NA|\n!NA|<NA>|\n2|a.b|\n");
  EXPECT_EQ(told,
            comm.rank() == 0 ? ": semicolons separate the fields, and numbers have decimal commas" : "");
  EXPECT_EQ(frame_of("x\tf\n1,5\t1\n1,50\t2\n0,5\t3\n", {"factor(x)", "f"}), "1.5|1|\n1.5|2|\n0.5|3|\n");
  EXPECT_EQ(
      frame_of("x;y\n-99,9;1\n123456789012345678901234,5;2\n3,0;4\n", {"x", "y"}, {.missing = {"-99,9"}}),
      "!NA|1|\n1.2345678901234569e+23|2|\n3|4|\n");
  // Empty fields of a file with tabs are no blanks.
  EXPECT_EQ(frame_of("x\ty\tf\n1\t\ta\n\t\t\n2\t3\tb\n", {"x", "y", "f"}),
            "!1|NA|<NA>|\n!NA|NA|<NA>|\n2|3|b|\n");
  EXPECT_EQ(told, comm.rank() == 0 ? ": tabs separate the fields" : "");
  EXPECT_EQ(frame_of("1|2\n3|4\n", {"V1", "V2"}, {.header = false}), "1|2|\n3|4|\n");
  EXPECT_EQ(frame_of("# a\n1 2\n# \"b\n3 4\n", {"V2"}, {.sep = " ", .comment = "#", .header = false}),
            "2|\n4|\n");
  EXPECT_EQ(told, "");

  const auto fault_of = [&](const std::string& text, const TableOptions& options) {
    const SharedFile file(comm, "t.txt", text);
    const std::string fault = common_fault(comm, [&] {
      const auto table = open_table(crew(comm), file.path(), {.table = options});
      static_cast<void>(table->read(crew(comm), request({"x", "y"}), uneven_share(comm, table->rows(), 3)));
    });
    return fault.substr(std::min(fault.size(), file.path().size()));
  };
  EXPECT_EQ(fault_of("x;y\n1;2\n1,5;2\n2;1.5\n2,5;3\n", {.dec = ","}).substr(0, 50),
            ", line 4: the column 'y' holds the text '1.5', but");
  EXPECT_EQ(fault_of("# 1\nx,y\n1,2\n# \"\n3\n", {.comment = "#"}),
            ", line 5: the row has 1 field, but the header has 2: give both the same number of fields, and "
            "quote fields that contain separators");
  EXPECT_EQ(fault_of("# 1\nx,y\n1,2\n3,\"\n", {.comment = "#"}),
            ", line 4: a quote of this row is never closed: close it");
  EXPECT_EQ(fault_of("x;y\n1;2\n1\n", {}),
            ": unknown column 'x'; it has: x;y (one column, because no separator splits all rows into the "
            "same number of fields: give the separator by the option sep, or the number of lines above the "
            "header by the option skip)");
  EXPECT_EQ(fault_of("a title\nx,y\n1,2\n", {.sep = ","}).substr(0, 71),
            ": unknown column 'x'; it has: a title (one column, because no separator");
  EXPECT_EQ(fault_of("\"x\",\"y\"\n\"1\",1,2\n", {}),
            ", line 2: the row has 3 fields, but the header has 2: give both the same number of fields (R "
            "writes row names without a column name: add the name, or leave the row names out), and quote "
            "fields that contain separators");
}

TEST_F(CsvTable, CountsRowsWhereverThePartsAreCut) {
  // Quotes, blank lines and line ends at every position of a short file: with many ranks, every cut.
  SharedFile file(comm, "cuts.csv");
  const std::string body = "a,b\n\n\"x\n\ny\",1\r\n \r\n2,\"\"\"\n\"\n,\n\"\",3\n\n\n4,5";
  for (std::size_t size = 5; size <= body.size(); ++size) {
    const std::string text = body.substr(0, size) + std::string(size % 3, '\n');
    if (std::count(text.begin(), text.end(), '"') % 2 != 0) continue;
    const auto rows = std::ssize(parse_simply(text)) - 1;
    if (rows < 1) continue;
    file.write(text);
    CsvOptions options;
    options.buffer_bytes = 3;
    options.landmark_bytes = 1;
    EXPECT_EQ(open_csv(crew(comm), file.path(), options)->rows(), rows) << text;
  }
}

TEST_F(CsvTable, FindsTheFirstRowBehindBlankLines) {
  // Enough that, with 2, 3, 5 and 8 ranks, one part has only blank lines and the next begins with the first
  // row.
  SharedFile file(comm, "blanks.csv");
  for (const std::size_t lines : {1, 2, 4, 8, 12, 16, 32}) {
    const std::string text = "a,b\n" + std::string(lines, '\n') + "1,2\n3,4\n";
    file.write(text);
    const auto table = open_csv(crew(comm), file.path(), {});
    const Range share = Plan::over_hosts(table->rows(), comm.size()).range_of(comm.rank());
    const Frame frame = table->read(crew(comm), request({"a", "b"}), share);
    EXPECT_EQ(put_together(comm, frame), expected_frame(parse_simply(text), {0, 1})) << lines;
  }
}

TEST_F(CsvTable, ReadsNumbersAsRDoes) {
  const SharedFile file(comm, "numbers.csv",
                        "x\n1\n+1\n-1\n 2 \n1.\n.5\n-.5e1\n1e5\n1E+2\n0x1A\n-0\n1e-400\nNaN\nnan\nNA\n"
                        "123456789012345678901234567890\n3.141592653589793238\n");
  const auto table = open_table(crew(comm), file.path());
  const Frame frame = table->read(crew(comm), request({"x"}), uneven_share(comm, table->rows(), 3));
  EXPECT_EQ(put_together(comm, frame),
            "1|\n1|\n-1|\n2|\n1|\n0.5|\n-5|\n100000|\n100|\n26|\n-0|\n0|\n!NA|\n!NA|\n!NA|\n"
            "1.2345678901234568e+29|\n3.1415926535897931|\n");
  EXPECT_EQ(frame.complete_rows, 14);
}

TEST_F(CsvTable, NamesTheLineOfATextAmongNumbersWhereverItStands) {
  for (const int before : {0, 10, 3000}) {
    std::string text = "x,f\n";
    const auto add_rows = [&text](int rows) {
      for (int i = 0; i < rows; ++i) text += "1," + std::to_string(i % 3) + "\n";
    };
    add_rows(before);
    text += "2,late\n";
    add_rows(3000 - before);
    text += "2,later\n2,NA\n2,\n";
    const SharedFile file(comm, "late.csv", text);
    const auto table = open_table(crew(comm), file.path());
    const Range share = Plan::over_hosts(table->rows(), comm.size()).range_of(comm.rank());
    FrameRequest wanted = request({"f", "x"});
    const std::string fault =
        common_fault(comm, [&] { static_cast<void>(table->read(crew(comm), wanted, share)); });
    EXPECT_EQ(fault,
              file.path() + ", line " + std::to_string(before + 2) +
                  ": the column 'f' holds the text 'late', but most of its fields are numbers (3000 of "
                  "3002): to read it as missing, give the NA strings 'NA,late'; to read it as a level, name "
                  "'f' among the factors");
    wanted.options.factors = {"f"};
    const Frame factor = table->read(crew(comm), wanted, share);
    EXPECT_EQ(factor.at("f").levels, (std::vector<std::string>{"", "0", "1", "2", "late", "later"}));
    EXPECT_EQ(factor.complete_rows, 3003);
    EXPECT_FALSE(factor.at("x").factor);
    wanted.options = {.missing = {"NA", "late", "later"}};
    const Frame numbers = table->read(crew(comm), wanted, share);
    EXPECT_FALSE(numbers.at("f").factor);
    EXPECT_EQ(numbers.complete_rows, 3000);
    EXPECT_EQ(to_string(numbers.columns[0]), "f: numbers, 4 missing");
  }
}

/// A column v with the given fields.
std::string column(const std::vector<std::string>& fields) {
  std::string text = "v,w\n";
  for (const std::string& field : fields) text += field + ",1\n";
  return text;
}

// Agrees with R 4.2.2, read.csv(stringsAsFactors = TRUE), except for quoted numbers.
TEST_F(CsvTable, ReadsAFieldByOneRuleInNumbersAndInTexts) {
  SharedFile file(comm, "rule.csv");
  const auto read = [&](const std::vector<std::string>& fields, const TableOptions& options = {}) {
    file.write(column(fields));
    const auto table = open_table(crew(comm), file.path());
    FrameRequest wanted = request({"v"});
    wanted.options = options;
    return put_together(comm, table->read(crew(comm), wanted, uneven_share(comm, table->rows(), 4)));
  };
  const std::string na = "!NA|\n";
  const std::string none = "!<NA>|\n";
  EXPECT_EQ(read({"1.5", "NA", "\"NA\"", "", "\"\"", "  ", "\" \"", " 2 ", "\"3\"", "\" 4 \"", "9"}),
            "1.5|\n" + na + na + na + na + na + na + "2|\n3|\n4|\n9|\n");
  EXPECT_EQ(read({"a", "NA", "\"NA\"", "", "\"\"", "  ", " a", "a ", "\" a\"", " \"a\" ", " NA", "\"7\""}),
            "a|\n" + none + none + "|\n|\n  |\n a|\na |\n a|\n a |\n NA|\n7|\n");
  // Quoted: a factor, where read.csv has numbers.
  EXPECT_EQ(read({"\"1\"", "\"2\"", "\" 1\"", "3"}), "1|\n2|\n 1|\n3|\n");
  EXPECT_EQ(read({"\"1\"", "\"2\"", "\" 1\"", "3"}, {.numbers = {"v"}}), "1|\n2|\n1|\n3|\n");
  EXPECT_EQ(read({"1", "2", "1"}, {.factors = {"v"}}), "1|\n2|\n1|\n");
  // The levels of numbers are numbers, as in factor() of read.csv; texts stay unchanged.
  EXPECT_EQ(read({"1.0", "01", " 1 ", "", "NaN", " NA ", "-0", "1e3", "2.50"}, {.factors = {"v"}}),
            "1|\n1|\n1|\n" + none + none + none + "0|\n1000|\n2.5|\n");
  EXPECT_EQ(read({"1.0", "01", "", "a"}, {.factors = {"v"}}), "1.0|\n01|\n|\na|\n");
  EXPECT_EQ(read({"\"1.0\"", "\"01\"", "1"}, {.factors = {"v"}}), "1.0|\n01|\n1|\n");
  EXPECT_EQ(read({"9007199254740993", "9007199254740992"}, {.factors = {"v"}}),
            "9007199254740993|\n9007199254740992|\n");
  // Logical values: R's names.
  EXPECT_EQ(read({"T", "FALSE", "\"F\"", "NA", "TRUE"}), "TRUE|\nFALSE|\nFALSE|\n" + none + "TRUE|\n");
  EXPECT_EQ(read({"T", "F", "true"}), "T|\nF|\ntrue|\n");
  EXPECT_EQ(read({"T", "F", ""}), "T|\nF|\n|\n");
  EXPECT_EQ(read({"T", "FALSE"}, {.factors = {"v"}}), "TRUE|\nFALSE|\n");
  // Words for missing values, including a number, instead of NA.
  EXPECT_EQ(read({"1", "-999", "-999.0", " -999 ", "\"-999\""}, {.missing = {"-999"}}),
            "1|\n" + na + "-999|\n" + na + na);
  EXPECT_EQ(read({"a", "NA", "", "-"}, {.missing = {"", "-"}}), "a|\nNA|\n" + none + none);
  // Texts if half of the fields are texts.
  EXPECT_EQ(read({"1", "a", "2", "b"}), "1|\na|\n2|\nb|\n");
}

// Exports that quote every field, and columns whose names are quoted unlike others.
TEST(Csv, QuotesThatSayNothing) {
  const auto& comm = world();
  const SharedFile file(comm, "quotes.csv");
  const auto read = [&](const std::string& text, const TableOptions& options = {}) {
    file.write(text);
    const auto table = open_table(crew(comm), file.path());
    FrameRequest wanted = request({"x", "g"});
    wanted.every_row = true;
    wanted.options = options;
    const Frame frame = table->read(crew(comm), wanted, uneven_share(comm, table->rows(), 4));
    std::string types;
    for (const ColumnReading& column : frame.columns) types += to_string(column) + "\n";
    return types;
  };
  const std::string said = ", all values in quotes (to read them as levels, name 'x' among the factors)";
  const std::string all =
      "\"x\",\"g\",\"note\"\n\"1.5\",\"a\",\"b\nc\"\n\"\",\"3\",\"\"\n NA,\"b\",\n\"02\",\"b\",\"7\"\n";
  const std::string factor = "g: factor of 3 levels, the first '3'\n";
  EXPECT_EQ(read(all), "x: numbers" + said + ", 2 missing\n" + factor);
  EXPECT_EQ(read("x,g,note" + all.substr(all.find('\n'))), "x: numbers" + said + ", 2 missing\n" + factor);
  EXPECT_EQ(read(all, {.numbers = {"x"}}), "x: numbers, 2 missing\n" + factor);
  EXPECT_EQ(read(all, {.factors = {"x"}}), "x: factor of 2 levels, the first '1.5', 2 missing\n" + factor);
  EXPECT_EQ(read("x,g\n\"1\",\"-\"\n\"2\",\"a\"\n-,\"b\"\n", {.missing = {"-"}}),
            "x: numbers" + said + ", 1 missing\ng: factor of 2 levels, the first 'a', 1 missing\n");
  // One unquoted field, in a column that is not read, after the rows whose types are tried first.
  std::string late = "\"x\",\"g\",\"note\"\n";
  for (int i = 0; i < 3000; ++i) late += "\"" + std::to_string(i % 3) + "\",\"a\",\"b\"\n";
  EXPECT_EQ(read(late), "x: numbers" + said + "\ng: factor of 1 level, the first 'a'\n");
  EXPECT_EQ(read(late + "\"1\",\"a\",b\n"),
            "x: factor of 3 levels, the first '0'\ng: factor of 1 level, the first 'a'\n");
  // NaN among numbers is missing, and reported.
  EXPECT_EQ(read("x,g\n1,2\nNaN,3\nNA,nan\n"), "x: numbers, 2 missing\ng: numbers, 1 missing\n");
  // Numbers as in write.csv of R, and a factor whose levels look like them.
  EXPECT_EQ(read("\"x\",\"g\"\n\"1\",2\n\"3\",4\n"), "x: factor of 2 levels, the first '1'\ng: numbers\n");
  EXPECT_EQ(read("x,\"g\"\n\"1\",2\n\"3\",4\n"), "x: factor of 2 levels, the first '1'\ng: numbers\n");
  EXPECT_EQ(read("\"x\",g\n\"1\",2\n\"3\",4\n"), "x: numbers" + said + "\ng: numbers\n");
  EXPECT_EQ(read("\"x\",g\n\"1\",2\n\"3\",4\n5,6\nb,8\n\"7\",9\n"),
            "x: factor of 5 levels, the first '1'\ng: numbers\n");
  EXPECT_EQ(
      common_fault(comm, [&] { read("x,g\n\"1\",\"a\"\n\"2\",\"b\"\n\".\",\"c\"\n"); }),
      file.path() +
          ", line 4: the column 'x' holds the text '.', but most of its fields are numbers (2 of 3): "
          "to read it as missing, give the NA strings 'NA,.'; to read it as a level, name 'x' among the "
          "factors");
}

TEST_F(CsvTable, RefusesOptionsAboutColumnsThatAreNotUsed) {
  const SharedFile file(comm, "t.csv", "x,f\n1,a\n2,b\n");
  const auto table = open_table(crew(comm), file.path());
  const auto fault = [&](const FrameRequest& wanted) {
    return error_of(ErrorCode::usage,
                    [&] { static_cast<void>(table->read(crew(comm), wanted, uneven_share(comm, 2, 1))); });
  };
  FrameRequest wanted = request({"log(x)"});
  wanted.options.factors = {"f"};
  EXPECT_EQ(
      fault(wanted),
      "factor 'f': the formula does not use a column of this name: leave the name out, or correct the name");
  wanted.options.factors = {"x"};
  EXPECT_EQ(fault(wanted), "factor 'x': log(x) needs numbers in this column: leave it out of the factors");
  wanted.options = {.numbers = {"y"}};
  EXPECT_EQ(fault(wanted),
            "numeric column 'y': the formula does not use a column of this name: leave the name out, or "
            "correct the name");
}

TEST_F(CsvTable, TakesALevelThatReadsAsInfinityWhereverItStands) {
  // A text that is found at once, and one on the last rank beyond the sampled rows.
  for (const int rows : {1, 3000}) {
    std::string numbers;
    for (int i = 0; i < rows; ++i) numbers += "1,3\n";
    for (const std::string& text :
         {"1,INF\n1,12e4567\n" + numbers + "1,foo\n", "1,foo\n" + numbers + "1,12e4567\n1,INF\n"}) {
      const SharedFile file(comm, "infinite.csv", "x,f\n" + text);
      const auto table = open_table(crew(comm), file.path());
      const Range share = Plan::over_hosts(table->rows(), comm.size()).range_of(comm.rank());
      FrameRequest factor = request({"f", "x"});
      factor.options.factors = {"f"};
      const Frame frame = table->read(crew(comm), factor, share);
      EXPECT_EQ(frame.at("f").levels, (std::vector<std::string>{"12e4567", "3", "INF", "foo"}));
      EXPECT_EQ(frame.complete_rows, rows + 3);
      FrameRequest numeric = request({"f"});
      numeric.numeric = {"f"};
      const std::string fault =
          common_fault(comm, [&] { static_cast<void>(table->read(crew(comm), numeric, share)); });
      EXPECT_TRUE(fault.starts_with(file.path() + ", line 2: ")) << fault;
    }
  }
  const SharedFile file(comm, "infinite.csv", "x,f\n1,3\n1,INF\n-Inf,4\n");
  const auto table = open_table(crew(comm), file.path());
  EXPECT_EQ(common_fault(
                comm,
                [&] {
                  static_cast<void>(table->read(crew(comm), request({"f", "x"}), uneven_share(comm, 3, 1)));
                }),
            file.path() + ", line 3: f is infinite: leave the row out or make the value NA");
}

TEST_F(CsvTable, KeepsTheLevelsOfCompleteRowsInByteOrder) {
  const SharedFile file(comm, "levels.csv",
                        "f,x\nb,1\n\"B\",2\nunused,NA\n\"10\",3\n9,4\n\xC3\xA4,5\n\"NA\",6\nNA,7\nb,8\n");
  const auto table = open_table(crew(comm), file.path());
  const Frame frame = table->read(crew(comm), request({"f", "x"}), uneven_share(comm, table->rows(), 1));
  EXPECT_EQ(frame.at("f").levels, (std::vector<std::string>{"10", "9", "B", "b", "\xC3\xA4"}));
  EXPECT_EQ(frame.complete_rows, 6);
  EXPECT_EQ(put_together(comm, frame),
            "b|1|\nB|2|\n!<NA>|NA|\n10|3|\n9|4|\n\xC3\xA4|5|\n!<NA>|6|\n!<NA>|7|\nb|8|\n");
  EXPECT_EQ(to_string(frame.columns[0]), "f: factor of 5 levels, the first '10', 2 missing");
  EXPECT_EQ(to_string(frame.columns[1]), "x: numbers, 1 missing");
}

TEST_F(CsvTable, OrdersLevelsThatAreAllNumbersByValue) {
  SharedFile file(comm, "order.csv");
  using Names = std::vector<std::string>;
  const auto levels = [&](const Names& fields, const TableOptions& options = {}) {
    file.write(column(fields));
    const auto table = open_table(crew(comm), file.path());
    FrameRequest wanted = request({"v"});
    wanted.options = options;
    return table->read(crew(comm), wanted, uneven_share(comm, table->rows(), 4)).at("v").levels;
  };
  const Names order{"-1.5", "9", "10", "100", "1e+20"};
  EXPECT_EQ(levels({"10", "9.0", "100", "-1.5", "9", "1e+20"}, {.factors = {"v"}}), order);
  EXPECT_EQ(levels({"\"10\"", "\"9\"", "\"100\"", "\"-1.5\"", "\"1e+20\""}), order);
  EXPECT_EQ(levels({"\"10\"", "\"1\"", "\"01\"", "\"9\""}), (Names{"01", "1", "9", "10"}));
  EXPECT_EQ(levels({"\"10\"", "\"9\"", "\"x\""}), (Names{"10", "9", "x"}));
  // factor(v) is a variable separate from the numbers v, whatever the rows contain.
  file.write("v,w\n10,p\n9,\"a \"\"b\"\"\"\n 010 ,p\n,r\n");
  const auto table = open_table(crew(comm), file.path());
  const Frame frame = table->read(crew(comm), request({"v", "factor(v)", "as.factor(v)", "w"}),
                                  uneven_share(comm, table->rows(), 4));
  EXPECT_EQ(put_together(comm, frame), "10|10|10|p|\n9|9|9|a \"b\"|\n10|10|10|p|\n!NA|<NA>|<NA>|<NA>|\n");
  EXPECT_EQ(frame.at("factor(v)").levels, (Names{"9", "10"}));
  EXPECT_EQ(to_string(frame.columns[1]), "factor(v): factor of 2 levels, the first '9', 1 missing");
}

TEST_F(CsvTable, EvaluatesExpressionsAndDropsWhatTheyCannotValue) {
  const SharedFile file(comm, "expressions.csv", "e,x,unused\n1,3,Inf\n-1,2,a\nNA,1,b\n4,Inf,c\n,-Inf,d\n");
  const auto table = open_table(crew(comm), file.path());
  const Frame logs = table->read(crew(comm), request({"log(e)", "I(e - 1)"}), uneven_share(comm, 5, 5));
  EXPECT_EQ(put_together(comm, logs), "0|0|\n!NA|-2|\n!NA|NA|\n1.3862943611198906|3|\n!NA|NA|\n");
  EXPECT_EQ(logs.complete_rows, 2);
  // An infinite value matters only in a complete row.
  const bool last = comm.rank() == comm.size() - 1;
  const Frame kept = table->read(crew(comm), request({"x", "e"}), last ? Range{4, 5} : Range{});
  EXPECT_EQ(put_together(comm, kept), "!-inf|NA|\n");
  EXPECT_EQ(common_fault(
                comm,
                [&] {
                  static_cast<void>(table->read(crew(comm), request({"x", "e"}), uneven_share(comm, 5, 2)));
                }),
            file.path() + ", line 5: x is infinite: leave the row out or make the value NA");
}

/// Compresses `text` into a file like gzip, on the root.
void pack(const mpi::Communicator& comm, const std::string& text, const std::string& path) {
  if (comm.rank() != 0) return;
  gzFile out = gzopen(path.c_str(), "wb");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
}

TEST_F(CsvTable, ReadsGzipAsItReadsThePlainFile) {
  std::string text = "x,f\n";
  for (int i = 0; i < 20000; ++i) text += std::to_string(i * 0.37) + ",\"g" + std::to_string(i % 7) + "\"\n";
  const SharedFile plain(comm, "t.csv", text);
  const SharedFile packed(comm, "t.csv.gz");
  pack(comm, text, packed.path());
  comm.barrier();
  const auto a = open_table(crew(comm), plain.path());
  const auto b = open_table(crew(comm), packed.path());
  ASSERT_EQ(a->rows(), b->rows());
  const Range share = uneven_share(comm, a->rows(), 8);
  EXPECT_EQ(put_together(comm, a->read(crew(comm), request({"f", "x"}), share)),
            put_together(comm, b->read(crew(comm), request({"f", "x"}), share)));
  EXPECT_GT(b->bytes_read(), 0);

  const auto size = std::filesystem::file_size(packed.path());
  comm.barrier();
  if (comm.rank() == 0) std::filesystem::resize_file(packed.path(), size / 2);
  comm.barrier();
  const std::string fault =
      common_fault(comm, [&] { static_cast<void>(open_table(crew(comm), packed.path())); });
  EXPECT_NE(fault.find("damaged gzip data"), std::string::npos) << fault;
}

TEST_F(CsvTable, ReadsStreamsInOrderAndBlocksFromAnyOfThem) {
  std::string text = "x,f\n";
  for (int i = 0; i < 30000; ++i)
    text += std::to_string(i * 0.37) + (i % 97 == 0 ? ",\"g\n" : ",\"g") + std::to_string(i % 7) + "\"\n";
  const SharedFile plain(comm, "t.csv", text);
  const SharedFile stream(comm, "s.csv.gz");
  pack(comm, text, stream.path());
  const SharedFile blocks(comm, "b.csv.gz", bgzip(text, 3000));
  const auto plain_table = open_table(crew(comm), plain.path());
  const Range share = uneven_share(comm, plain_table->rows(), 8);
  const std::string expected = put_together(comm, plain_table->read(crew(comm), request({"f", "x"}), share));
  for (const std::string& path : {stream.path(), blocks.path()}) {
    // The memory for the unpacked text is unlimited, or 0.
    for (const std::optional<std::int64_t> node_bytes :
         {std::optional<std::int64_t>(), std::optional<std::int64_t>(0)}) {
      CsvOptions options;
      options.buffer_bytes = 1 << 12;
      options.landmark_bytes = 1 << 12;
      options.open.node_bytes = node_bytes;
      const auto table = open_csv(crew(comm), path, options);
      ASSERT_EQ(table->rows(), plain_table->rows());
      EXPECT_EQ(put_together(comm, table->read(crew(comm), request({"f", "x"}), share)), expected) << path;
    }
  }
}

TEST_F(CsvTable, TheTextOfAPackedFileIsKeptWithinTheMemoryThatIsGiven) {
  std::string text = "x,y\n";
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i * 31 % 10'007) + ",0.125\n";
  const SharedFile stream(comm, "s.csv.gz");
  pack(comm, text, stream.path());
  const SharedFile blocks(comm, "b.csv.gz", bgzip(text, 10'000));
  for (const std::string& path : {stream.path(), blocks.path()}) {
    if (path == stream.path() && comm.size() > 1) continue;
    const auto kept = [&](std::optional<std::int64_t> node_bytes) {
      const auto table = open_table(crew(comm), path, {.node_bytes = node_bytes});
      return comm.allreduce(table->kept_bytes(), mpi::Reduction::sum);
    };
    // A quarter of the memory.
    const std::int64_t bytes = std::ssize(text);
    EXPECT_GE(kept({}), bytes - 100) << path;
    EXPECT_GE(kept(4 * bytes + 100), bytes - 100) << path;
    EXPECT_EQ(kept(3 * bytes), 0) << path;
    EXPECT_EQ(kept(0), 0) << path;
  }
}

TEST_F(CsvTable, UnpacksAFileOnceUnlessItsColumnsLackTheMemory) {
  std::string text = "x,y\n";
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i * 31 % 10'007) + ",0.125\n";
  const SharedFile stream(comm, "s.csv.gz");
  pack(comm, text, stream.path());
  const SharedFile blocks(comm, "b.csv.gz", bgzip(text, 10'000));
  std::string expected;
  for (const std::string& path : {stream.path(), blocks.path()}) {
    // Only a single rank keeps a stream.
    if (path == stream.path() && comm.size() > 1) continue;
    for (const bool is_short : {false, true}) {
      CsvOptions options;
      options.landmark_bytes = 1 << 14;
      const auto table = open_csv(crew(comm), path, options);
      const std::int64_t opened = table->bytes_read();
      const Range mine = Plan::over_hosts(table->rows(), comm.size()).range_of(comm.rank());
      FrameRequest wanted = request({"x", "y"});
      if (is_short) wanted.memory = MemoryOptions{.node_bytes = 0};
      const std::string frame = put_together(comm, table->read(crew(comm), wanted, mine));
      if (expected.empty()) expected = frame;
      EXPECT_EQ(frame, expected) << path;
      // Ranks keep equal parts of the bytes; some of their rows are in neighbouring blocks.
      const auto part = static_cast<std::int64_t>(std::filesystem::file_size(path)) / comm.size();
      if (is_short)
        EXPECT_GT(table->bytes_read() - opened, part / 2) << path;
      else
        EXPECT_LT(table->bytes_read() - opened, part / 2) << path;
    }
  }
}

/// The outcome of reading a table if the last rank is asked to stop at its `turn`-th check: the same on every
/// rank. Empty: it was read to its end.
std::string end_of_reading(const mpi::Communicator& comm, const std::string& path, int turn) {
  StopRequest stop(comm, {.signals = {}});
  const bool asked = comm.rank() == comm.size() - 1;
  int turns = 0;
  std::string end;
  const auto look = [&] {
    if (++turns == turn && asked) stop.request("the test");
    stop.poll();
    if (stop.requested()) throw Error(ErrorCode::interrupted, "asked to stop");
  };
  const auto said = error_if_any(ErrorCode::interrupted, [&] {
    const auto table = open_table(crew(comm), path, {.between = look});
    end = "counted";
    const Range mine = Plan::over_hosts(table->rows(), comm.size()).range_of(comm.rank());
    (void)table->read(crew(comm), request({"x"}), mine);
    end.clear();
  });
  if (said && end.empty()) end = "opened";
  for (const std::string& other : comm.allgather_text(end)) EXPECT_EQ(other, end) << turn;
  (void)stop.agree();
  return end;
}

TEST(Table, IsLeftByAllRanksWhenOneIsAskedToStop) {
  const mpi::Communicator comm = world();
  std::string text = "x,y\n";
  for (int i = 0; i < 40000; ++i) text += std::to_string(i) + ",0.125\n";
  const SharedFile plain(comm, "t.csv", text);
  const SharedFile packed(comm, "t.csv.gz");
  pack(comm, text, packed.path());
  for (const std::string& path : {plain.path(), packed.path()}) {
    EXPECT_EQ(end_of_reading(comm, path, 0), "") << path;
    // A check precedes each piece: while rows are counted (in a packed file by rank 0 only), and while they
    // are read.
    std::set<std::string> ends;
    for (int turn = 1; turn < 20 && !ends.contains(""); ++turn) ends.insert(end_of_reading(comm, path, turn));
    EXPECT_EQ(ends.count("counted"), 1U) << path;
    if (path == plain.path() || comm.size() == 1) {
      EXPECT_EQ(ends.count("opened"), 1U) << path;
    }
    EXPECT_EQ(ends.count(""), 1U) << path;
  }
}

TEST_F(CsvTable, ReadsOnlyItsOwnPart) {
  std::string text = "x,y\n";
  for (int i = 0; i < 40000; ++i) text += std::to_string(i) + ",0.125\n";
  const SharedFile file(comm, "parts.csv", text);
  CsvOptions options;
  options.buffer_bytes = 1 << 12;
  options.landmark_bytes = 1 << 12;
  const auto table = open_csv(crew(comm), file.path(), options);
  static_cast<void>(table->read(crew(comm), request({"x"}),
                                Plan::over_hosts(table->rows(), comm.size()).range_of(comm.rank())));
  // Once to count, once to read; a few buffers for the header, the sample and the ends.
  const auto share = std::ssize(text) / comm.size();
  EXPECT_LT(table->bytes_read(), 2 * share + 64 * 1024);
  EXPECT_GT(table->bytes_read(), 2 * share - 64 * 1024);
}

TEST_F(CsvTable, RefusesUnusableFilesOnEveryRankAlike) {
  const SharedFile file(comm, "bad.csv");
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", ": the file is empty"},
      {"\n \n", ": the file is empty"},
      {"\xEF\xBB\xBF", ": the file is empty"},
      {"x,y\n", ": has a header, but no data row"},
      {"x,y", ": has a header, but no data row"},
      {"x,y,x\n1,2,3\n", ", line 1: two columns have the name 'x'"},
      {"x,gr\xF6\xDFte\n1,2\n", ", line 1: the name of column 2 is not UTF-8: convert the table"},
      {std::string("PK\0\0,b\n1,2\n", 11), ": cannot be read as a table"},
      {"x,y\n1,2\n\n3\n4,5\n", ", line 4: the row has 1 field, but the header has 2"},
      {"x,y\n1,2\n1,2,3\n", ", line 3: the row has 3 fields, but the header has 2"},
      {"x,y\n1,\"a\nb\"\n1,\"a\nb\"\n2\n", ", line 6: the row has 1 field, but"},
      {"x,y\n1,a\"b\"\n", ", line 2: a quote is inside a field"},
      {"x,y\n1,\"a\"b\n", ", line 2: text follows the closing quote"},
      {"x,y\n1,2\n3,\"4\n5,6\n7,8\n", ", line 3: a quote of this row is never closed"},
      {std::string(max_columns, ',') + "\n1\n",
       ", line 1: the header has more than 1000000 columns, the maximum: split the table"}};
  for (const auto& [text, expected] : cases) {
    file.write(text);
    const std::string fault = common_fault(comm, [&] {
      const auto table = open_table(crew(comm), file.path());
      static_cast<void>(table->read(crew(comm), request({"x"}), uneven_share(comm, table->rows(), 4)));
    });
    EXPECT_EQ(fault.rfind(file.path() + expected, 0), 0U) << text.substr(0, 100) << "\n  gave: " << fault;
  }
}

TEST_F(CsvTable, RefusesRequestsThatTheFileCannotAnswer) {
  const SharedFile file(comm, "t.csv", "price,Carat,cut\n1,2,good\n3,4,bad\n");
  const auto table = open_table(crew(comm), file.path());
  const Range share = uneven_share(comm, 2, 4);
  const auto fault = [&](const FrameRequest& wanted) {
    return common_fault(comm, [&] { static_cast<void>(table->read(crew(comm), wanted, share)); });
  };
  EXPECT_EQ(fault(request({"prize"})), file.path() +
                                           ": unknown column 'prize' (did you mean 'price'?); it "
                                           "has: price, Carat, cut");
  EXPECT_NE(fault(request({"carat"})).find("did you mean 'Carat'?"), std::string::npos);
  EXPECT_NE(fault(request({"volume"})).find("unknown column 'volume'; it has"), std::string::npos);
  EXPECT_EQ(fault(request({"price", "log(cut)"})),
            file.path() +
                ", line 2: the column 'cut' holds the text 'good', but log(cut) needs numbers: give a "
                "number or NA, or name the text among the NA strings");
  FrameRequest numeric = request({"price", "cut"});
  numeric.numeric = {"price", "cut"};
  EXPECT_EQ(fault(numeric), file.path() +
                                ", line 2: the column 'cut' holds the text 'good', but the model needs "
                                "numbers: give a number or NA, or name the text among the NA strings");

  const SharedFile latin(comm, "latin.csv", "x,city\n1,Ulm\n2,M\xFCnchen\n");
  const auto cities = open_table(crew(comm), latin.path());
  const auto read_cities = [&](const FrameRequest& wanted) {
    static_cast<void>(cities->read(crew(comm), wanted, share));
  };
  EXPECT_EQ(common_fault(comm,
                         [&] {
                           read_cities(request({"x", "city"}));
                         }),
            latin.path() +
                ", line 3: the column 'city' holds a text that is not UTF-8: convert the table, a "
                "CSV file for instance by: iconv -f ISO-8859-1 -t UTF-8");
  EXPECT_NO_THROW(read_cities(request({"x"})));

  EXPECT_EQ(common_fault(comm, [&] { static_cast<void>(open_table(crew(comm), file.path() + ".none")); }),
            file.path() + ".none: cannot be read: No such file or directory");
}

TEST_F(CsvTable, GivesKnownLevelsTheirCodes) {
  // Numbers become texts, as written, if the model has a factor.
  const SharedFile file(comm, "known.csv", "g\n3\n\"1\"\nNA\n3\n");
  const auto table = open_table(crew(comm), file.path());
  FrameRequest wanted = request({"g"});
  wanted.known_levels = {{"g", {"1", "2", "3"}}};
  const Frame frame = table->read(crew(comm), wanted, uneven_share(comm, 4, 9));
  EXPECT_EQ(frame.at("g").levels, (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(put_together(comm, frame), "3|\n1|\n!<NA>|\n3|\n");
  EXPECT_EQ(frame.columns[0].unseen, 0);
  EXPECT_THROW(static_cast<void>(frame.index_of("h")), Error);
}

TEST_F(CsvTable, CountsRowsOfUnseenLevels) {
  std::string text = "g,x\n";
  for (int i = 0; i < 40; ++i)
    text += (i % 4 == 0 ? "\"new" + std::to_string(i % 7) + "\"" : i % 4 == 1 ? "NA" : "T") + ",1\n";
  const SharedFile file(comm, "unseen.csv", text);
  const auto table = open_table(crew(comm), file.path());
  FrameRequest wanted = request({"g"});
  wanted.known_levels = {{"g", {"FALSE", "TRUE"}}};
  const Range share = uneven_share(comm, 40, 5);
  const Frame frame = table->read(crew(comm), wanted, share);
  EXPECT_EQ(frame.complete_rows, 20);
  const ColumnReading& column = frame.columns[0];
  EXPECT_EQ(column.unseen, 10);
  EXPECT_EQ(column.unseen_levels, (std::vector<std::string>{"new0", "new1", "new2", "new3", "new4"}));
  EXPECT_TRUE(column.more_unseen);
  for (std::size_t i = 0; i < frame.complete.size(); ++i) {
    const std::int64_t row = share.begin + static_cast<std::int64_t>(i);
    EXPECT_EQ(frame.at("g").codes[i], row % 4 == 0 ? Variable::unseen : row % 4 == 1 ? Variable::missing : 1);
  }
  wanted.unseen_is_complete = {"g"};
  EXPECT_EQ(table->read(crew(comm), wanted, share).complete_rows, 30);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
