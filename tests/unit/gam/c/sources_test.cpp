// SPDX-License-Identifier: Apache-2.0
// A model's file is the same for any source of its rows: a file in tessera-fit, spans and Arrow's structures
// in C++, columns and Arrow's structures in C.
#include "info/run_program.hpp"
#include "support/arrow_data.hpp"
#include "support/file_content.hpp"
#include "support/on_cpu.hpp"
#include "temporary_folder.hpp"

#include <tessera/tessera_gam.h>
#include <tessera/gam/gam.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::size_t source_rows = 3000;
constexpr std::int64_t source_block = 1024;
/// The ends of pieces (batches and spans): a piece of one row, and ends near, but not at, the end of a block.
constexpr std::size_t piece_ends[] = {1, 700, 2047, 2049, source_rows};

/// The columns of the models below, in a program's memory.
struct Source {
  std::vector<double> y, count, x, z;
  std::vector<std::int32_t> f;
  const std::vector<std::string> levels{"bay", "cape", "dune"};

  Source() {
    constexpr double missing = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 0; i < source_rows; ++i) {
      const auto part = [&](double step) { return std::fmod(static_cast<double>(i) * step, 1.0); };
      const double u = part(0.6180339887498949);
      x.push_back(i % 101 == 7 ? missing : u);
      z.push_back(i % 199 == 11 ? missing : part(0.7548776662466927));
      f.push_back(i % 301 == 5 ? -1 : static_cast<std::int32_t>(i % 3));
      y.push_back(std::sin(6 * u) * (1 + static_cast<double>(i % 3)) + part(0.5698402909980532));
      count.push_back(std::floor(std::exp(1 + y.back() / 2) * -std::log(1 - part(0.8191725133961645))));
    }
  }

  void write(const std::string& path) const {
    std::ofstream file(path, std::ios::binary);
    const auto number = [](double value) { return std::isnan(value) ? "NA" : fmt::format("{:.17g}", value); };
    file << "y,count,x,z,f\n";
    for (std::size_t i = 0; i < source_rows; ++i)
      file << number(y[i]) << ',' << number(count[i]) << ',' << number(x[i]) << ',' << number(z[i]) << ','
           << (f[i] < 0 ? "NA" : levels[static_cast<std::size_t>(f[i])]) << '\n';
  }
};

/// The parts that differ between models.
struct SourceCase {
  const char* formula;
  const char* family;
};
constexpr SourceCase source_cases[] = {
    {"y ~ f + s(x, k=9) + s(z, bs='cr', k=7)", "gaussian"},
    {"y ~ f + s(x, by=f, k=6)", "gaussian"},
    {"count ~ f + s(x, k=7) + z", "nb"},
};

template <class Use>
void for_each_piece(const Use& use) {
  std::size_t begin = 0;
  for (const std::size_t end : piece_ends) {
    use(begin, end);
    begin = end;
  }
}

Table in_pieces(const Job& job, const Source& source) {
  const auto pieces = []<class T>(const std::vector<T>& values) {
    std::vector<std::span<const T>> out;
    for_each_piece([&](std::size_t begin, std::size_t end) {
      out.push_back(std::span(values).subspan(begin, end - begin));
    });
    return out;
  };
  return {job.plan(source_rows, source_block),
          {{"y", NumberSpans{pieces(source.y)}},
           {"count", NumberSpans{pieces(source.count)}},
           {"x", NumberSpans{pieces(source.x)}},
           {"z", NumberSpans{pieces(source.z)}},
           {"f", FactorSpans{pieces(source.f), source.levels}}}};
}

/// The columns of rows [begin, end): numbers with nulls, numbers used in place with NaN, integers, and a
/// factor as texts.
std::vector<testing::ArrowData> arrow_columns(const Source& source, std::size_t begin, std::size_t end) {
  const auto part = [&]<class T>(const std::vector<T>& values) {
    return std::vector<T>(values.begin() + static_cast<std::ptrdiff_t>(begin),
                          values.begin() + static_cast<std::ptrdiff_t>(end));
  };
  const auto all = [&](const std::vector<double>& values) {
    const std::vector<double> some = part(values);
    return std::vector<std::optional<double>>(some.begin(), some.end());
  };
  std::vector<std::optional<double>> x = all(source.x);
  for (auto& one : x) {
    if (std::isnan(*one)) one = std::nullopt;
  }
  std::vector<std::optional<std::int32_t>> count;
  for (const double one : part(source.count)) count.emplace_back(static_cast<std::int32_t>(one));
  std::vector<std::optional<std::string>> f;
  for (const std::int32_t code : part(source.f))
    f.push_back(code < 0 ? std::nullopt : std::optional(source.levels[static_cast<std::size_t>(code)]));
  return {testing::numbers_of<double>("y", "g", all(source.y)),
          testing::numbers_of<std::int32_t>("count", "i", count, begin % 5),
          testing::numbers_of<double>("x", "g", x, begin % 3),
          testing::numbers_of<double>("z", "g", all(source.z), begin % 2),
          testing::texts_of<std::int32_t>("f", "u", f, begin % 7)};
}

ArrowArrayStream stream_of(const Source& source, testing::ArrowCounts& counts) {
  testing::ArrowStreamData stream{.batches = {}, .counts = &counts};
  for_each_piece([&](std::size_t begin, std::size_t end) {
    stream.batches.push_back(testing::batch_of(arrow_columns(source, begin, end)));
  });
  return testing::stream_of(std::move(stream));
}

/// The file of a model, written by `save`.
class Sources : public ::testing::Test {
 protected:
  void SetUp() override { source_.write(path("data.csv")); }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  [[nodiscard]] std::string from_program(const SourceCase& of, int threads) const {
    successful(run(fmt::format(
        "{} fit {} --formula \"{}\" --family {} --threads {} --block-rows {} --device cpu --out {}",
        TESSERA_FIT, path("data.csv"), of.formula, of.family, threads, source_block, path("model.json"))));
    return tessera::testing::content_of(path("model.json"));
  }

  /// `make` gets a job that outlives the table.
  template <class Make>
  [[nodiscard]] std::string from_library(const SourceCase& of, int threads, const Make& make) const {
    Job job(mpi::Communicator::serial(), on_cpu(threads));
    FitOptions of_fit{.family = family(of.family)};
    (void)save_model(fit(job, parse_formula(of.formula), make(job), of_fit).model, path("model.json"));
    return tessera::testing::content_of(path("model.json"));
  }

  /// `add` adds the columns to a table of the C interface, or makes one.
  template <class Add>
  [[nodiscard]] std::string from_c(const SourceCase& of, int threads, const Add& add) const {
    const std::string block = std::to_string(source_block);
    const std::string thread_count = std::to_string(threads);
    const tessera_gam_option options[] = {{"block-rows", block.c_str()},
                                          {"threads", thread_count.c_str()},
                                          {"device", "cpu"},
                                          {"family", of.family}};
    tessera_gam_call of_table = TESSERA_GAM_CALL;
    of_table.options = options;
    of_table.option_count = 1;
    tessera_gam_table table = 0;
    add(of_table, table);
    tessera_gam_call of_fit = TESSERA_GAM_CALL;
    of_fit.options = options + 1;
    of_fit.option_count = 3;
    tessera_gam_model model = 0;
    EXPECT_EQ(tessera_gam_fit(of.formula, table, &of_fit, &model), TESSERA_GAM_OK) << tessera_gam_error();
    EXPECT_EQ(tessera_gam_model_save(model, path("model.json").c_str()), TESSERA_GAM_OK)
        << tessera_gam_error();
    EXPECT_EQ(tessera_gam_model_close(model), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_table_close(table), TESSERA_GAM_OK);
    return tessera::testing::content_of(path("model.json"));
  }

  void add_arrow(tessera_gam_table table, testing::ArrowCounts& counts) const {
    std::vector<std::vector<testing::ArrowData>> pieces;
    for_each_piece(
        [&](std::size_t begin, std::size_t end) { pieces.push_back(arrow_columns(source_, begin, end)); });
    for (std::size_t column = 0; column < pieces[0].size(); ++column) {
      const testing::ArrowData& first = pieces[0][column];
      ArrowSchema schema = testing::schema_of(first, counts);
      std::vector<ArrowArray> chunks;
      for (const auto& piece : pieces) chunks.push_back(testing::array_of(piece[column], counts));
      EXPECT_EQ(tessera_gam_table_add_arrow(table, first.name.c_str(), &schema, chunks.data(), chunks.size()),
                TESSERA_GAM_OK)
          << tessera_gam_error();
    }
  }
  void add_columns(tessera_gam_table table) const {
    const std::pair<const char*, const std::vector<double>&> numbers[] = {
        {"y", source_.y}, {"count", source_.count}, {"x", source_.x}, {"z", source_.z}};
    for (const auto& [name, values] : numbers)
      EXPECT_EQ(tessera_gam_table_add_numbers(table, name, values.data(), values.size()), TESSERA_GAM_OK);
    std::vector<const char*> levels;
    for (const std::string& level : source_.levels) levels.push_back(level.c_str());
    EXPECT_EQ(tessera_gam_table_add_factor(table, "f", source_.f.data(), source_.f.size(), levels.data(),
                                           levels.size(), TESSERA_GAM_LEVELS_SORTED),
              TESSERA_GAM_OK);
  }

  const Source source_;
  TemporaryFolder folder_;
};

TEST_F(Sources, OfAModelDoNotChangeABit) {
  for (const SourceCase& of : source_cases) {
    const std::string expected = from_program(of, 1);
    ASSERT_NE(expected.find("\"rows_dropped\""), std::string::npos);
    EXPECT_EQ(expected.find("\"rows_dropped\": 0,"), std::string::npos) << "rows are dropped";
    EXPECT_TRUE(from_program(of, 3) == expected) << of.formula;
    for (const int threads : {1, 3}) {
      const std::string what = fmt::format("{} by {} threads from ", of.formula, threads);
      testing::ArrowCounts counts;
      EXPECT_TRUE(from_library(of, threads, [&](Job& job) { return in_pieces(job, source_); }) == expected)
          << what << "spans";
      EXPECT_TRUE(from_library(of, threads,
                               [&](Job& job) {
                                 ArrowArrayStream stream = stream_of(source_, counts);
                                 return arrow_table(job, &stream, {.block_rows = source_block});
                               }) == expected)
          << what << "Arrow";
      EXPECT_TRUE(from_c(of, threads,
                         [&](const tessera_gam_call& call, tessera_gam_table& table) {
                           ArrowArrayStream stream = stream_of(source_, counts);
                           EXPECT_EQ(tessera_gam_table_of_arrow(&stream, &call, &table), TESSERA_GAM_OK);
                         }) == expected)
          << what << "a stream of Arrow's in C";
      EXPECT_TRUE(from_c(of, threads,
                         [&](const tessera_gam_call& call, tessera_gam_table& table) {
                           EXPECT_EQ(tessera_gam_table_open(source_rows, &call, &table), TESSERA_GAM_OK);
                           add_arrow(table, counts);
                         }) == expected)
          << what << "columns of Arrow's in C";
      EXPECT_TRUE(from_c(of, threads,
                         [&](const tessera_gam_call& call, tessera_gam_table& table) {
                           EXPECT_EQ(tessera_gam_table_open(source_rows, &call, &table), TESSERA_GAM_OK);
                           add_columns(table);
                         }) == expected)
          << what << "columns in C";
      EXPECT_EQ(counts.released, counts.made);
    }
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
