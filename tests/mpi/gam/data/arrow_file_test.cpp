// SPDX-License-Identifier: Apache-2.0
// Tables in Parquet and Feather files beside the same tables in CSV.
#include "gam/data/arrow/arrow_file.hpp"
#include "gam/data/arrow/arrow_library.hpp"
#include "gam/data/source/table_reader.hpp"
#include "support/arrow_data.hpp"
#include "support/table_support.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> sizes{"small", "medium", "large"};
const std::vector<std::string> sites{"bay", "cape", "delta"};

/// Rows [begin, end) of a table of numbers, texts and truth values, with missing values.
ArrowData batch_of_rows(int begin, int end) {
  std::vector<std::optional<double>> x;
  std::vector<std::optional<std::int64_t>> k;
  std::vector<std::optional<std::int32_t>> day;
  std::vector<std::optional<std::int8_t>> site;
  std::vector<std::optional<std::int32_t>> size;
  std::vector<std::optional<std::string>> text;
  std::vector<std::optional<bool>> wet;
  for (int row = begin; row < end; ++row) {
    x.push_back(row % 17 == 3 ? std::nullopt : std::optional(row * 0.37 - 20));
    k.push_back(row % 19 == 4 ? std::nullopt : std::optional<std::int64_t>(row - 100));
    day.emplace_back(18000 + row);
    site.push_back(row % 13 == 5 ? std::nullopt : std::optional(static_cast<std::int8_t>(row / 3 % 3)));
    size.emplace_back(row / 7 % 3);
    text.push_back(row % 11 == 6 ? std::nullopt : std::optional("t" + std::to_string(row / 40)));
    wet.push_back(row % 23 == 7 ? std::nullopt : std::optional(row % 2 == 0));
  }
  ArrowData ordered =
      coded_of("size", "i", size, texts_of<std::int32_t>("", "u", {sizes.begin(), sizes.end()}));
  ordered.flags = ARROW_FLAG_DICTIONARY_ORDERED | ARROW_FLAG_NULLABLE;
  std::vector<ArrowData> columns{
      numbers_of("x", "g", x),
      numbers_of("k", "l", k),
      numbers_of("day", "tdD", day),
      coded_of("site", "c", site, texts_of<std::int32_t>("", "u", {sites.begin(), sites.end()})),
      ordered,
      texts_of<std::int32_t>("text", "u", text),
      truths_of("wet", wet)};
  for (ArrowData& column : columns) column.flags |= ARROW_FLAG_NULLABLE;
  return batch_of(std::move(columns));
}

std::string csv_of_rows(int begin, int end) {
  std::string text = "x,k,day,site,size,text,wet\n";
  for (int row = begin; row < end; ++row) {
    char number[40];
    std::snprintf(number, sizeof number, "%.17g", row * 0.37 - 20);
    text += row % 17 == 3 ? "NA" : number;
    text +=
        "," + (row % 19 == 4 ? "NA" : std::to_string(row - 100)) + "," + std::to_string(18000 + row) + ",";
    text += row % 13 == 5 ? "NA" : sites[static_cast<std::size_t>(row / 3 % 3)];
    text += "," + sizes[static_cast<std::size_t>(row / 7 % 3)] + ",";
    text += row % 11 == 6 ? "NA" : "t" + std::to_string(row / 40);
    text += std::string(",") + (row % 23 == 7 ? "NA" : row % 2 == 0 ? "TRUE" : "FALSE") + "\n";
  }
  return text;
}

/// The text of a factor in a row of a file; nothing: missing. Levels come in another order in each file and
/// block of rows.
std::optional<std::string> level_of(int file, int row) {
  if (row % 9 == 4) return std::nullopt;
  return std::string(1, static_cast<char>('a' + (row * (file + 2) + row / 30 * 5) % 11));
}

/// Rows of such a factor, as codes of a dictionary and as texts, beside numbers.
ArrowData batch_of_levels(tessera_arrow_format format, int file, int begin, int end) {
  // Backwards from another letter in each file, with a null, which Parquet's dictionaries cannot have, an
  // unused level, and one level twice.
  std::vector<std::optional<std::string>> levels{"unused"};
  if (format == TESSERA_ARROW_FEATHER) levels.emplace_back();
  for (int k = 11; k-- > 0;)
    levels.emplace_back(std::string(1, static_cast<char>('a' + (k + 4 * file) % 11)));
  levels.emplace_back("a");
  std::vector<std::optional<double>> x;
  std::vector<std::optional<std::int32_t>> codes;
  std::vector<std::optional<std::string>> texts;
  for (int row = begin; row < end; ++row) {
    const std::optional<std::string> level = level_of(file, row);
    const auto first = std::ranges::find(levels, level);
    // A missing level is a null index, or the index of the null.
    const bool is_null = first == levels.end() || (!level && row % 2 == 0);
    const bool is_second = level == "a" && row % 2 == 0;
    codes.push_back(is_null ? std::nullopt
                            : std::optional(static_cast<std::int32_t>(is_second ? std::ssize(levels) - 1
                                                                                : first - levels.begin())));
    texts.push_back(level);
    // Level k is in complete rows of file 1 only.
    x.push_back(level == "k" && file != 1 ? std::nullopt : std::optional(row * 0.5));
  }
  std::vector<ArrowData> columns{numbers_of("x", "g", x),
                                 coded_of("code", "i", codes, texts_of<std::int32_t>("", "u", levels)),
                                 texts_of<std::int32_t>("text", "u", texts)};
  for (ArrowData& column : columns) column.flags |= ARROW_FLAG_NULLABLE;
  return batch_of(std::move(columns));
}

class ArrowFileTables : public OverRanks {
 protected:
  void SetUp() override {
    OverRanks::SetUp();
    if (ArrowLibrary::opened().plugin == nullptr) GTEST_SKIP() << ArrowLibrary::opened().advice();
  }

  /// Writes rows as batches of some sizes, on rank 0. *Collective.*
  void write(const std::string& path, tessera_arrow_format format, int begin, int end, int rows_of_batch,
             const std::function<ArrowData(int begin, int end)>& rows_of = batch_of_rows) const {
    if (comm.rank() == 0) {
      fs::create_directories(fs::path(path).parent_path());
      std::ofstream file(path, std::ios::binary);
      ArrowCounts counts;
      ArrowOwner<ArrowSchema> schema;
      *schema.out() = schema_of(rows_of(0, 1), counts);
      ArrowFileWriter writer(format, path, *schema,
                             [&](std::string_view bytes) { file.write(bytes.data(), std::ssize(bytes)); });
      for (int row = begin; row < end; row += rows_of_batch) {
        ArrowArray batch = array_of(rows_of(row, std::min(end, row + rows_of_batch)), counts);
        writer.append(batch);
      }
      writer.finish();
    }
    comm.barrier();
  }
  [[nodiscard]] std::string read_all(const std::string& path, const std::vector<std::string>& columns) const {
    const auto table = open_table(crew(comm), path);
    return put_together(comm,
                        table->read(crew(comm), request(columns), uneven_share(comm, table->rows(), 5)));
  }
};

constexpr tessera_arrow_format formats[] = {TESSERA_ARROW_PARQUET, TESSERA_ARROW_FEATHER};

TEST_F(ArrowFileTables, AreThoseOfTheSameRowsInCsv) {
  constexpr int rows = 400;
  const SharedFile csv(comm, "table.csv", csv_of_rows(0, rows));
  // Factors of numbers, expressions of truth values and dates as numbers too.
  const std::vector<std::string> columns{"x",    "k",   "day",       "site",    "size",
                                         "text", "wet", "factor(k)", "log(day)"};
  const std::string expected = read_all(csv.path(), columns);
  for (const tessera_arrow_format format : formats) {
    for (const int rows_of_batch : {7, 150, rows}) {
      const SharedFile file(comm, "table");
      write(file.path(), format, 0, rows, rows_of_batch);
      EXPECT_EQ(read_all(file.path(), columns), expected) << format << " " << rows_of_batch;
      const auto table = open_table(crew(comm), file.path());
      EXPECT_EQ(table->ordered_columns(), std::vector<std::string>{"size"});
      const Frame frame = table->read(crew(comm), request({"size"}), uneven_share(comm, rows, 2));
      EXPECT_EQ(frame.at("size").levels, sizes);
    }
  }
}

TEST_F(ArrowFileTables, HaveFactorsOfDifferentDictionaries) {
  constexpr int rows = 130;
  std::string all = "x,code,text\n";
  for (int file = 0; file < 3; ++file) {
    for (int row = 0; row < rows; ++row) {
      const std::optional<std::string> level = level_of(file, row);
      const std::string text = level.value_or("NA");
      all += (level == "k" && file != 1 ? "NA" : std::to_string(row / 2) + (row % 2 == 0 ? "" : ".5")) + "," +
             text + "," + text + "\n";
    }
  }
  const SharedFile csv(comm, "whole.csv", all);
  const std::vector<std::string> columns{"x", "code", "text"};
  for (const tessera_arrow_format format : formats) {
    for (const int rows_of_batch : {7, 64, rows}) {
      const SharedFile place(comm, "table");
      for (int file = 0; file < 3; ++file)
        write(place.path() + "/" + std::to_string(file) +
                  (format == TESSERA_ARROW_PARQUET ? ".parquet" : ".feather"),
              format, 0, rows, rows_of_batch,
              [&](int begin, int end) { return batch_of_levels(format, file, begin, end); });
      for (const std::vector<std::string>& of :
           {columns, std::vector<std::string>{"code", "text"}, std::vector<std::string>{"text"}}) {
        EXPECT_EQ(read_all(place.path(), of), read_all(csv.path(), of)) << format << " " << rows_of_batch;
        const auto levels = [&](const std::string& path) {
          const auto table = open_table(crew(comm), path);
          return table->read(crew(comm), request(of), uneven_share(comm, table->rows(), 5)).at("text").levels;
        };
        EXPECT_EQ(levels(place.path()), levels(csv.path()));
      }
    }
  }
}

TEST_F(ArrowFileTables, AreReadBesideTextWithDecimalCommas) {
  const SharedFile text(comm, "1.csv", "site;x\nbay;0,5\ncape;-1,25\n");
  const std::string own = "0.5|bay|\n-1.25|cape|\n";
  const SharedFile csv(comm, "2.csv", csv_of_rows(100, 103));
  const std::string other = read_all(csv.path(), {"x", "site"});
  for (const tessera_arrow_format format : formats) {
    const SharedFile file(comm, "table");
    write(file.path(), format, 100, 103, 2);
    for (const std::string& path : {file.path(), csv.path()}) {
      const auto refused = [&](const std::vector<std::string>& paths) {
        return common_fault(comm, [&] { static_cast<void>(open_table(crew(comm), paths)); });
      };
      EXPECT_NE(refused({text.path(), path}).find("has the column"), std::string::npos);
      EXPECT_NE(refused({path, text.path()}).find("has no column"), std::string::npos);
    }
    const SharedFile same(comm, "3.csv",
                          "x;k;day;site;size;text;wet\n0,5;1;2;bay;low;t;TRUE\n-1,25;1;2;cape;low;t;TRUE\n");
    const auto read = [&](const std::vector<std::string>& paths) {
      const auto table = open_table(crew(comm), paths);
      return put_together(
          comm, table->read(crew(comm), request({"x", "site"}), uneven_share(comm, table->rows(), 5)));
    };
    EXPECT_EQ(read({same.path(), file.path()}), own + other);
    EXPECT_EQ(read({file.path(), same.path()}), other + own);
  }
}

TEST_F(ArrowFileTables, AreReadInFoldersOfSpark) {
  const std::string folder = std::string(TESSERA_TEST_DATA) + "/arrow/spark";
  EXPECT_EQ(read_all(folder, {"x", "region", "when"}),
            "!4.5|<NA>|1767225600|\n!5|<NA>|1767225600|\n1.5|north/west|1767225600|\n!NA|north/west|"
            "1767225600|\n3|south|1767225600|\n");
  EXPECT_EQ(open_table(crew(comm), folder)->columns(), (std::vector<std::string>{"x", "when", "region"}));
}

TEST_F(ArrowFileTables, AreReadInFoldersWithColumnsNamedByThese) {
  const SharedFile place(comm, "table");
  const std::string folder = place.path();
  std::string whole = "x,site,year\n";
  for (const auto& [year, begin] : {std::pair{2019, 0}, std::pair{2020, 90}, std::pair{2021, 180}}) {
    for (int part = 0; part < 3; ++part)
      write(folder + "/year=" + std::to_string(year) + "/part" + std::to_string(part) + ".parquet",
            TESSERA_ARROW_PARQUET, begin + 30 * part, begin + 30 * part + 30, 11);
    for (int row = begin; row < begin + 90; ++row) {
      char number[40];
      std::snprintf(number, sizeof number, "%.17g", row * 0.37 - 20);
      whole += std::string(row % 17 == 3 ? "NA" : number) + "," +
               (row % 13 == 5 ? "NA" : sites[static_cast<std::size_t>(row / 3 % 3)]) + "," +
               std::to_string(year) + "\n";
    }
  }
  const SharedFile csv(comm, "whole.csv", whole);
  EXPECT_EQ(read_all(folder, {"x", "site", "year"}), read_all(csv.path(), {"x", "site", "year"}));
}

TEST_F(ArrowFileTables, RefuseAColumnOfAnotherKindByFile) {
  const SharedFile place(comm, "table");
  const std::string folder = place.path();
  write(folder + "/1.parquet", TESSERA_ARROW_PARQUET, 0, 10, 10);
  if (comm.rank() == 0) {
    ArrowCounts counts;
    std::vector<ArrowData> columns = batch_of_rows(0, 10).children;
    columns[0] = texts_of<std::int32_t>("x", "u", std::vector<std::optional<std::string>>(10, "1"));
    const ArrowData other = batch_of(std::move(columns));
    std::ofstream file(folder + "/2.parquet", std::ios::binary);
    ArrowOwner<ArrowSchema> schema;
    *schema.out() = schema_of(other, counts);
    ArrowFileWriter writer(TESSERA_ARROW_PARQUET, "2.parquet", *schema,
                           [&](std::string_view bytes) { file.write(bytes.data(), std::ssize(bytes)); });
    ArrowArray batch = array_of(other, counts);
    writer.append(batch);
    writer.finish();
  }
  comm.barrier();
  EXPECT_EQ(common_fault(comm, [&] { static_cast<void>(open_table(crew(comm), folder)); }),
            folder + "/2.parquet: the column 'x' holds texts, but numbers in " + folder +
                "/1.parquet: write it with one type in all files");
}

TEST_F(ArrowFileTables, AreRefusedIfTheyAreWrittenToWhileTheyAreRead) {
  for (const tessera_arrow_format format : formats) {
    const SharedFile file(comm, "table");
    write(file.path(), format, 0, 400, 50);
    const auto table = open_table(crew(comm), file.path());
    write(file.path(), format, 100, 300, 30);
    const std::string fault = common_fault(comm, [&] {
      static_cast<void>(
          table->read(crew(comm), request({"x", "k", "text"}), uneven_share(comm, table->rows(), 5)));
    });
    EXPECT_TRUE(fault.starts_with(file.path() + ": another program wrote to the file while rank 0 on "))
        << fault;
  }
}

TEST_F(ArrowFileTables, NameTheRowOfAFault) {
  const SharedFile file(comm, "table.parquet");
  write(file.path(), TESSERA_ARROW_PARQUET, 0, 100, 30);
  // An expression that is infinite in one row: 1 / (k + 60) at k = -60, row 41.
  const std::string fault = common_fault(comm, [&] { read_all(file.path(), {"I(1/(k + 60))"}); });
  EXPECT_TRUE(fault.starts_with(file.path() + ", row 41: I(1/(k + 60)) is infinite")) << fault;
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
