// SPDX-License-Identifier: Apache-2.0
// Parquet and Feather files by the plugin: what tests/data/arrow/make_files.py writes, files of its own
// writer, and damaged ones.
#include "gam/data/arrow/arrow_file.hpp"

#include "base/cancellation.hpp"
#include "files/input_file.hpp"
#include "gam/data/arrow/arrow_columns.hpp"
#include "gam/data/arrow/arrow_library.hpp"
#include "support/address_limit.hpp"
#include "support/arrow_data.hpp"
#include "support/errors.hpp"
#include "support/file_content.hpp"
#include "temporary_folder.hpp"

#include <tessera/error.hpp>

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

const std::filesystem::path data = std::filesystem::path(TESSERA_TEST_DATA) / "arrow";

class ArrowFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    if (ArrowLibrary::opened().plugin == nullptr) GTEST_SKIP() << ArrowLibrary::opened().why_not;
  }

  TemporaryFolder folder_;
};

std::vector<std::int64_t> all_columns(const ArrowFile& file) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(file.contents().schema->n_children));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<std::int64_t> columns_named(const ArrowFile& file, const std::vector<std::string>& names) {
  std::vector<std::int64_t> columns;
  for (const std::string& name : names) {
    for (std::int64_t i = 0; i < file.contents().schema->n_children; ++i) {
      if (file.contents().schema->children[i]->name == name) columns.push_back(i);
    }
  }
  return columns;
}

using Columns = std::map<std::string, std::string>;

/// The values of each column, as texts; those of an ordered factor after its levels.
Columns values_of(ArrowFile::Stream stream) {
  ArrowBatches batches;
  ArrowOwner<ArrowArray> batch;
  while (stream.next(batch)) batches.batches.push_back(std::move(batch));
  ArrowSchema schema = stream.schema();
  schema.release = [](ArrowSchema*) {};  // the stream's
  batches.schema = ArrowOwner<ArrowSchema>(schema);
  static thread_local HostTeam team(1);
  ArrowColumns columns(std::move(batches), {}, team);
  columns.set_levels(columns.levels(), team);
  Columns out;
  for (const Table::Column& column : columns.columns()) {
    std::string text;
    if (const auto* const numbers = std::get_if<NumberSpans>(&column.values)) {
      for (const auto piece : numbers->pieces) {
        for (const double number : piece) text += std::isnan(number) ? " NA" : fmt::format(" {}", number);
      }
    } else {
      const auto& factor = std::get<FactorSpans>(column.values);
      if (factor.order == LevelOrder::ordered) text = fmt::format("{}:", fmt::join(factor.levels, "<"));
      for (const auto piece : factor.codes) {
        for (const std::int32_t code : piece)
          text += " " + (code < 0 ? "NA" : factor.levels.at(static_cast<std::size_t>(code)));
      }
    }
    out[column.name] = text.starts_with(' ') ? text.substr(1) : text;
  }
  return out;
}

Columns values_of(const std::filesystem::path& path, const std::vector<std::string>& names = {}) {
  const files::InputFile bytes(path.string());
  const ArrowFile file(bytes);
  const std::vector<std::int64_t> columns = names.empty() ? all_columns(file) : columns_named(file, names);
  return values_of(file.stream({0, file.contents().pieces}, columns));
}

/// The message of what reading the whole file throws; empty: nothing.
std::string fault_of(const std::filesystem::path& path) {
  const std::optional<std::string> said = error_if_any(ErrorCode::input, [&] { values_of(path); });
  if (!said) return "";
  EXPECT_EQ(said->find('\n'), std::string::npos) << *said;
  if (said->starts_with("the Arrow table: ")) return *said;  // found as the columns are read
  EXPECT_TRUE(said->starts_with(path.string())) << *said;
  return said->substr(path.string().size());
}

void expect_every_type(const std::filesystem::path& path) {
  SCOPED_TRACE(path.filename());
  const Columns expected = {{"double", "0.1 -1.5 NA 1e+300 2"},
                            {"float", "0.5 -1.5 NA 3.25 2"},
                            {"half", "0.5 -1.5 NA 65504 2"},
                            {"int64", "1 -2 NA 9007199254740992 5"},
                            {"int8", "1 -2 NA 127 5"},
                            {"uint16", "1 2 NA 65535 5"},
                            {"bool", "TRUE FALSE NA TRUE FALSE"},
                            {"date", "1 -1 NA 20785 2932896"},
                            {"date64", "1 -1 NA 20785 0"},
                            {"time", "1.5 -1 NA 1767225600 86400"},
                            {"zoned", "0.001 -0.001 NA 1 0"},
                            {"decimal", "0.1 -1.25 NA 1.2345678901234568e+16 2"},
                            {"long", "0.1 -1.25 NA 1e+30 1.2345678901234568e+29"},
                            {"none", "NA NA NA NA NA"},
                            {"text", "b a NA c ä a"},
                            {"large", "b a NA c "},
                            {"factor", "b a NA c a"},
                            {"ordered", "low<mid<high: mid high NA low mid"}};
  EXPECT_EQ(values_of(path), expected);
}

TEST_F(ArrowFiles, HaveColumnsOfEveryType) {
  expect_every_type(data / "types.parquet");
  expect_every_type(data / "types.feather");
  EXPECT_EQ(values_of(data / "zstd.feather", {"text", "double"}),
            (Columns{{"text", "b a NA"}, {"double", "0.1 -1.5 NA"}}));
  EXPECT_EQ(values_of(data / "views.feather"),
            (Columns{{"view", "a text of more than twelve bytes NA short"}}));
  EXPECT_EQ(values_of(data / "int96.parquet"), (Columns{{"time", "1.5 -1 NA 1767225600 86400"}}));
}

TEST_F(ArrowFiles, ArePacked) {
  for (const char* const codec : {"none", "snappy", "gzip", "brotli", "lz4", "zstd"}) {
    SCOPED_TRACE(codec);
    EXPECT_EQ(values_of(data / (std::string(codec) + ".parquet")), (Columns{{"x", "1 2 3"}, {"g", "a b a"}}));
  }
}

TEST_F(ArrowFiles, AreReadByPieceAndColumn) {
  for (const char* const name : {"types.parquet", "types.feather"}) {
    SCOPED_TRACE(name);
    const files::InputFile bytes((data / name).string());
    const ArrowFile file(bytes);
    const tessera_arrow_contents& in = file.contents();
    EXPECT_EQ(in.format, std::string(name).ends_with("t") ? TESSERA_ARROW_PARQUET : TESSERA_ARROW_FEATHER);
    EXPECT_EQ(file.contents().rows, 5);
    EXPECT_EQ(std::vector(in.piece_rows, in.piece_rows + in.pieces), (std::vector<std::int64_t>{2, 2, 1}));
    const std::vector<std::int64_t> columns = columns_named(file, {"ordered", "int8", "text"});
    ArrowFile::Stream stream = file.stream({1, 3}, columns);
    ASSERT_EQ(stream.schema().n_children, 3);
    EXPECT_STREQ(stream.schema().children[0]->name, "ordered");
    EXPECT_STREQ(stream.schema().children[2]->name, "text");
    EXPECT_EQ(values_of(std::move(stream)),
              (Columns{{"ordered", "low<mid<high: NA low mid"}, {"int8", "NA 127 5"}, {"text", "NA c ä a"}}));
    EXPECT_EQ(values_of(file.stream({1, 1}, columns)),
              (Columns{{"ordered", ":"}, {"int8", ""}, {"text", ""}}));
    ArrowFile::Stream none = file.stream({0, 3}, {});
    std::int64_t rows = 0;
    for (ArrowOwner<ArrowArray> batch; none.next(batch);) rows += batch->length;
    EXPECT_EQ(rows, 5);
    EXPECT_GT(file.bytes_read(), 0);
  }
}

TEST_F(ArrowFiles, TellOfDecimalsThatLoseDigits) {
  for (const char* const name : {"types.parquet", "types.feather"}) {
    const files::InputFile bytes((data / name).string());
    const ArrowFile file(bytes);
    const std::vector<std::int64_t> columns = columns_named(file, {"decimal", "long", "double"});
    EXPECT_EQ(file.inexact_decimals(columns[0]), 0);
    static_cast<void>(values_of(file.stream({0, 3}, columns)));
    EXPECT_EQ(file.inexact_decimals(columns[0]), 1);
    EXPECT_EQ(file.inexact_decimals(columns[1]), 1);  // 1e30 has one digit
    EXPECT_EQ(file.inexact_decimals(columns[2]), 0);
  }
}

TEST_F(ArrowFiles, MayHaveNoRows) {
  for (const char* const name : {"empty.parquet", "empty.feather"}) {
    const files::InputFile bytes((data / name).string());
    const ArrowFile file(bytes);
    EXPECT_EQ(file.contents().rows, 0);
    EXPECT_EQ(values_of(data / name).at("double"), "");
  }
}

TEST_F(ArrowFiles, MayHaveNestedColumnsThatAreNotRead) {
  for (const char* const name : {"nested.parquet", "nested.feather"}) {
    EXPECT_EQ(values_of(data / name, {"y", "x"}), (Columns{{"x", "1 2"}, {"y", "u v"}}));
    for (const char* const column : {"list", "struct"})
      expect_error(ErrorCode::input, fmt::format("{}: column '{}' is nested ({}", name, column, column), [&] {
        values_of(data / name, {"x", column});
      });
  }
}

TEST_F(ArrowFiles, AreThoseOfOtherPrograms) {
  EXPECT_EQ(
      values_of(data / "pandas.parquet", {"y", "g", "n", "when"}),
      (Columns{{"y", "1.5 NA 3.5"}, {"g", "b NA a"}, {"n", "1 2 3"}, {"when", "1767225600 NA 1767398400"}}));
  EXPECT_EQ(values_of(data / "pandas.feather").at("g"), "b NA a");
  for (const char* const name : {"polars.parquet", "polars.arrow"})
    EXPECT_EQ(values_of(data / name),
              (Columns{{"y", "1.5 NA 3.5"}, {"g", "b NA a"}, {"t", "u v NA"}, {"n", "1 2 3"}}));
  EXPECT_EQ(values_of(data / "duckdb.parquet"), (Columns{{"y", "1.5 NA 3.5"},
                                                         {"g", "b NA a"},
                                                         {"n", "1 2 3"},
                                                         {"price", "12.25 NA -0.5"},
                                                         {"day", "20454 NA -3653"}}));
}

TEST_F(ArrowFiles, HaveTheIndexOfAFrameAsAColumn) {
  EXPECT_EQ(values_of(data / "pandas.parquet").at("__index_level_0__"), "7 8 9");
  EXPECT_EQ(values_of(data / "pandas_index.parquet", {"site", "y"}),
            (Columns{{"site", "u v w"}, {"y", "1.5 NA 3.5"}}));
}

TEST_F(ArrowFiles, MayHaveTextsWithoutAMark) {
  for (const char* const name : {"unmarked.parquet", "unmarked.feather"}) {
    EXPECT_EQ(values_of(data / name, {"text"}), (Columns{{"text", "b c ä NA b"}}));
    const std::string fault = fault_of(data / name);
    EXPECT_TRUE(contains(fault, " 1: column 'bytes': it has bytes that are not UTF-8: leave the column out"))
        << fault;
  }
}

TEST_F(ArrowFiles, AreRefusedIfEncrypted) {
  EXPECT_EQ(fault_of(data / "encrypted.parquet"),
            ": cannot be read as Parquet: it is encrypted: write it again without encryption");
  EXPECT_EQ(values_of(data / "encrypted_columns.parquet", {"x"}), (Columns{{"x", "1 2"}}));
  EXPECT_TRUE(contains(fault_of(data / "encrypted_columns.parquet"), ": row group 1, column 'y': "));
}

TEST_F(ArrowFiles, AreRefusedIfTruncated) {
  for (const char* const name : {"types.parquet", "types.feather", "zstd.feather"}) {
    SCOPED_TRACE(name);
    const std::string whole = tessera::testing::content_of(data / name);
    const std::filesystem::path path = folder_ / name;
    for (std::size_t size = 0; size < whole.size(); size += size < 20 ? 1 : 97) {
      std::ofstream(path, std::ios::binary) << whole.substr(0, size);
      EXPECT_NE(fault_of(path), "") << size;
    }
  }
}

TEST_F(ArrowFiles, AreRefusedOrReadIfDamaged) {
  int refused = 0;
  for (const char* const name :
       {"types.parquet", "types.feather", "zstd.feather", "polars.parquet", "none.parquet"}) {
    SCOPED_TRACE(name);
    const std::string whole = tessera::testing::content_of(data / name);
    const std::filesystem::path path = folder_ / name;
    for (std::size_t at = 8; at < whole.size(); at += 29) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(~damaged[at]);
      std::ofstream(path, std::ios::binary) << damaged;
      refused += fault_of(path).empty() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 300);
}

TEST_F(ArrowFiles, AreReadByThreadsAtOnce) {
  const files::InputFile bytes((data / "types.parquet").string());
  const ArrowFile file(bytes);
  const std::vector<std::int64_t> columns = all_columns(file);
  const Columns expected = values_of(file.stream({0, 3}, columns));
  std::vector<std::thread> threads;
  std::vector<int> same(4);
  for (int& result : same) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) result += values_of(file.stream({0, 3}, columns)) == expected ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, (std::vector<int>(4, 20)));
}

TEST_F(ArrowFiles, StopWhereTheCallerDoes) {
  struct Stop : std::exception {};
  const files::InputFile bytes((data / "types.parquet").string());
  EXPECT_THROW(ArrowFile(bytes, [] { throw Stop(); }), Stop);
  const ArrowFile file(bytes);
  ArrowFile::Stream stream = file.stream({0, 3}, all_columns(file));
  const auto stop = [] { throw Stop(); };
  ArrowOwner<ArrowArray> batch;
  const base::CancellationScope stopped{FunctionRef<void()>(stop)};
  EXPECT_THROW(static_cast<void>(stream.next(batch)), Stop);
}

ArrowData numbers(const std::string& name, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(double));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return {
      .format = "g", .name = name, .length = std::ssize(values), .buffers = {std::nullopt, std::move(bytes)}};
}

/// Texts of one byte each.
ArrowData letters(const std::string& texts) {
  std::vector<std::int32_t> offsets(texts.size() + 1);
  std::iota(offsets.begin(), offsets.end(), 0);
  std::vector<std::byte> bytes(offsets.size() * sizeof(std::int32_t));
  std::memcpy(bytes.data(), offsets.data(), bytes.size());
  std::vector<std::byte> characters(texts.size());
  std::memcpy(characters.data(), texts.data(), texts.size());
  return {.format = "u",
          .length = std::ssize(texts),
          .buffers = {std::nullopt, std::move(bytes), std::move(characters)}};
}

ArrowData ordered_factor(const std::string& name, const std::string& levels,
                         const std::vector<std::int32_t>& codes) {
  std::vector<std::byte> bytes(codes.size() * sizeof(std::int32_t));
  std::memcpy(bytes.data(), codes.data(), bytes.size());
  return {.format = "i",
          .name = name,
          .length = std::ssize(codes),
          .buffers = {std::nullopt, std::move(bytes)},
          .dictionary = std::make_shared<ArrowData>(letters(levels)),
          .flags = ARROW_FLAG_DICTIONARY_ORDERED};
}

ArrowData rows_of(std::vector<ArrowData> columns) {
  return {.format = "+s",
          .length = columns.empty() ? 0 : columns.front().length,
          .buffers = {std::nullopt},
          .children = std::move(columns)};
}

/// The batches written to a file; each structure must have been released once.
std::filesystem::path written(const std::filesystem::path& path, const std::vector<ArrowData>& batches) {
  ArrowCounts counts;
  {
    std::ofstream out(path, std::ios::binary);
    ArrowOwner<ArrowSchema> schema;
    *schema.out() = schema_of(batches.front(), counts);
    ArrowFileWriter writer(path.extension() == ".parquet" ? TESSERA_ARROW_PARQUET : TESSERA_ARROW_FEATHER,
                           path.string(), *schema, [&](std::string_view bytes) { out << bytes; });
    for (const ArrowData& batch : batches) {
      ArrowArray array = array_of(batch, counts);
      writer.append(array);
      EXPECT_EQ(array.release, nullptr);
    }
    writer.finish();
  }
  EXPECT_EQ(counts.made, counts.released);
  return path;
}

TEST_F(ArrowFiles, AreWritten) {
  const std::vector<ArrowData> batches = {
      rows_of({numbers("x", {0.1, std::nan(""), -0.0}), ordered_factor("f", "cab", {1, 0, 2})}),
      rows_of({numbers("x", {1e-320}), ordered_factor("f", "cab", {1})})};
  for (const char* const name : {"t.parquet", "t.feather"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(values_of(written(folder_ / name, batches)),
              (Columns{{"x", "0.1 NA -0 1e-320"}, {"f", "c<a<b: a c b a"}}));
  }
}

TEST_F(ArrowFiles, HaveTenThousandColumns) {
  std::vector<ArrowData> columns;
  for (int i = 0; i < 10'000; ++i) columns.push_back(numbers(fmt::format("x{}", i), {1.0 * i, 0.5}));
  for (const char* const name : {"t.parquet", "t.feather"}) {
    SCOPED_TRACE(name);
    const std::filesystem::path path = written(folder_ / name, {rows_of(columns)});
    EXPECT_EQ(values_of(path).size(), 10'000U);
    EXPECT_EQ(values_of(path, {"x9999", "x17"}), (Columns{{"x9999", "9999 0.5"}, {"x17", "17 0.5"}}));
  }
}

TEST_F(ArrowFiles, HaveBatchesOfBoundedLength) {
  std::vector<double> values(200'000);
  std::iota(values.begin(), values.end(), 0);
  for (const char* const name : {"t.parquet", "t.feather"}) {
    SCOPED_TRACE(name);
    const files::InputFile bytes(written(folder_ / name, {rows_of({numbers("x", values)})}).string());
    const ArrowFile file(bytes);
    ArrowFile::Stream stream = file.stream({0, 1}, all_columns(file));
    std::vector<double> read;
    for (ArrowOwner<ArrowArray> batch; stream.next(batch);) {
      EXPECT_LE(batch->length, 65'536);
      const ArrowArray& column = *batch->children[0];
      const auto* const first = static_cast<const double*>(column.buffers[1]) + column.offset + batch->offset;
      read.insert(read.end(), first, first + batch->length);
    }
    EXPECT_EQ(read, values);
  }
}

/// The peak of this process' memory, and its present size, in bytes.
std::int64_t memory_now(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    std::int64_t kib = 0;
    if (word == key && status >> kib) return kib * 1024;
  }
  return 0;
}

TEST_F(ArrowFiles, NeedNoMemoryForAWholeRowGroup) {
  if (!tessera::testing::can_limit_address_space) GTEST_SKIP() << "sanitizers keep memory that was released";
  // One row group of 200 MB, as it is unpacked.
  constexpr int batches = 15;
  constexpr std::size_t rows = 65'536;
  constexpr std::size_t text_bytes = 200;
  const std::filesystem::path path = folder_ / "t.parquet";
  {
    std::vector<std::int32_t> offsets(rows + 1);
    for (std::size_t i = 0; i <= rows; ++i) offsets[i] = static_cast<std::int32_t>(i * text_bytes);
    std::vector<ArrowData> parts;
    for (int batch = 0; batch < batches; ++batch) {
      std::string texts;
      for (std::size_t i = 0; i < rows; ++i)
        texts += fmt::format("{:0{}}", i + rows * static_cast<std::size_t>(batch), text_bytes);
      const auto bytes_of = [](const auto& values) {
        const auto bytes = std::as_bytes(std::span(values));
        return std::vector(bytes.begin(), bytes.end());
      };
      parts.push_back(rows_of({{.format = "u",
                                .name = "t",
                                .length = rows,
                                .buffers = {std::nullopt, bytes_of(offsets), bytes_of(texts)}}}));
    }
    static_cast<void>(written(path, parts));
  }
  const files::InputFile bytes(path.string());
  const ArrowFile file(bytes);
  ASSERT_EQ(file.contents().pieces, 1);
  if (!(std::ofstream("/proc/self/clear_refs") << "5" << std::flush))
    GTEST_SKIP() << "this system does not forget the peak of a process' memory";
  const std::int64_t before = memory_now("VmRSS:");
  ArrowFile::Stream stream = file.stream({0, 1}, all_columns(file));
  std::int64_t read = 0;
  for (ArrowOwner<ArrowArray> batch; stream.next(batch);) read += batch->length;
  EXPECT_EQ(read, static_cast<std::int64_t>(batches * rows));
  EXPECT_LT(memory_now("VmHWM:") - before, std::int64_t{100} << 20);
}

TEST_F(ArrowFiles, ThatCannotBeWrittenThrowWhatTheirOutputDoes) {
  for (const auto format : {TESSERA_ARROW_PARQUET, TESSERA_ARROW_FEATHER}) {
    ArrowCounts counts;
    std::int64_t written_bytes = 0;
    {
      ArrowOwner<ArrowSchema> schema;
      const ArrowData batch = rows_of({numbers("x", std::vector<double>(1000, 0.25))});
      *schema.out() = schema_of(batch, counts);
      ArrowFileWriter writer(format, "out", *schema, [&](std::string_view bytes) {
        if (bytes.size() > 20) throw std::length_error("the disk is full");
        written_bytes += std::ssize(bytes);
      });
      ArrowArray array = array_of(batch, counts);
      EXPECT_THROW(
          {
            writer.append(array);
            writer.finish();
          },
          std::length_error);
      EXPECT_EQ(array.release, nullptr);
      written_bytes = 0;
    }
    EXPECT_EQ(written_bytes, 0) << "it was completed";
    EXPECT_EQ(counts.made, counts.released);
  }
}

TEST(ArrowLibraries, AreMissingInOneLine) {
  const TemporaryFolder folder;
  const std::string text = folder / "libtessera_arrow.so";
  const ArrowLibrary none = ArrowLibrary::first_of({text, "/nowhere/libtessera_arrow.so"});
  EXPECT_EQ(none.plugin, nullptr);
  EXPECT_EQ(none.why_not, "no plugin exists at " + text + ", /nowhere/libtessera_arrow.so");
  EXPECT_TRUE(contains(none.advice(), "build the plugin by 'cmake "));
  std::ofstream(text) << "no plugin";
  EXPECT_EQ(ArrowLibrary::first_of({text}).why_not, text + " is not a plugin of this version of Tessera");
}

/// The plugin's refusal in a process that has loaded a library of libarrow's name from another folder.
void open_beside_another(const std::string& plugin, const std::string& other) {
  // Any library will do: its name in the list of loaded ones is that of its file.
  Dl_info info{};
  static_cast<void>(dladdr(reinterpret_cast<void*>(&fmodl), &info));
  std::filesystem::copy_file(info.dli_fname, other);
  if (dlopen(other.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) std::exit(2);
  const ArrowLibrary library = ArrowLibrary::first_of({plugin});
  std::fputs(library.why_not.c_str(), stderr);
  std::exit(library.plugin == nullptr ? 3 : 1);
}

TEST(ArrowLibraries, AreRefusedBesideAnotherLibarrow) {
  const char* const plugin = std::getenv("TEST_ARROW_PLUGIN");
  const char* const name = std::getenv("TEST_ARROW_LIBRARY");
  if (plugin == nullptr || name == nullptr) GTEST_SKIP() << "this build has no plugin";
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const TemporaryFolder folder;
  EXPECT_EXIT(open_beside_another(plugin, folder / name), ::testing::ExitedWithCode(3),
              std::string("needs .*/") + name + ", but this process has loaded .*/" + name);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
