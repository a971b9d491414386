// SPDX-License-Identifier: Apache-2.0
// Columns from Arrow's structures in the C interface equal those of other tables, and each structure is
// released once, whatever happens.
#include "support/arrow_data.hpp"

#include <tessera/tessera_gam.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

class ArrowOfC : public ::testing::Test {
 protected:
  static constexpr std::size_t rows = 300;

  ArrowOfC() {
    for (std::size_t i = 0; i < rows; ++i) {
      x_.push_back(std::fmod(0.618034 * static_cast<double>(i), 1));
      side_.push_back(static_cast<std::int32_t>(i % 3) - (i % 50 == 7 ? 3 : 0));
      y_.push_back(std::round(4 + 3 * std::sin(6 * x_.back()) + std::cos(97. * static_cast<double>(i))));
    }
  }
  void TearDown() override { expect_all_released("at the end"); }

  void expect_all_released(const std::string& when) const {
    EXPECT_EQ(counts_.released, counts_.made) << when;
  }

  /// The rows [begin, end) of the columns, the first of them after this many others.
  [[nodiscard]] ArrowData x(std::size_t begin, std::size_t end, std::size_t offset = 0) const {
    return numbers_of<double>("x", "g", {x_.begin() + at(begin), x_.begin() + at(end)}, offset);
  }
  [[nodiscard]] ArrowData y(std::size_t begin, std::size_t end, std::size_t offset = 0) const {
    std::vector<std::optional<std::int16_t>> values;
    for (std::size_t i = begin; i < end; ++i) values.emplace_back(static_cast<std::int16_t>(y_[i]));
    return numbers_of<std::int16_t>("y", "s", values, offset);
  }
  [[nodiscard]] ArrowData side(std::size_t begin, std::size_t end, std::size_t offset = 0) const {
    std::vector<std::optional<std::int32_t>> values;
    for (std::size_t i = begin; i < end; ++i)
      values.push_back(side_[i] < 0 ? std::nullopt : std::optional(side_[i]));
    return coded_of<std::int32_t>("side", "i", values,
                                  texts_of<std::int32_t>("", "u", {"east", "north", "south"}), offset);
  }
  [[nodiscard]] ArrowData batch(std::size_t begin, std::size_t end, std::size_t offset = 0) const {
    return batch_of({x(begin, end, offset), y(begin, end, offset), side(begin, end, offset)});
  }
  /// A stream of three batches.
  [[nodiscard]] ArrowArrayStream stream() {
    return stream_of({.batches = {batch(0, 7, 3), batch(7, 200), batch(200, rows, 1)}, .counts = &counts_});
  }

  /// Adds a column of chunks, as `add_arrow` takes it.
  int add(tessera_gam_table table, const char* name, const std::vector<ArrowData>& chunks) {
    ArrowSchema schema = schema_of(chunks.front(), counts_);
    std::vector<ArrowArray> arrays;
    for (const ArrowData& chunk : chunks) arrays.push_back(array_of(chunk, counts_));
    const int status = tessera_gam_table_add_arrow(table, name, &schema, arrays.data(), arrays.size());
    EXPECT_EQ(schema.release, nullptr);
    for (const ArrowArray& array : arrays) EXPECT_EQ(array.release, nullptr);
    return status;
  }
  [[nodiscard]] static tessera_gam_table opened(std::size_t its_rows = rows) {
    tessera_gam_table table = 0;
    EXPECT_EQ(tessera_gam_table_open(static_cast<std::int64_t>(its_rows), nullptr, &table), TESSERA_GAM_OK);
    return table;
  }
  [[nodiscard]] tessera_gam_table of_columns() const {
    const tessera_gam_table table = opened();
    const char* const levels[] = {"east", "north", "south"};
    EXPECT_EQ(tessera_gam_table_add_numbers(table, "x", x_.data(), rows), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_table_add_numbers(table, "y", y_.data(), rows), TESSERA_GAM_OK);
    EXPECT_EQ(
        tessera_gam_table_add_factor(table, "side", side_.data(), rows, levels, 3, TESSERA_GAM_LEVELS_SORTED),
        TESSERA_GAM_OK);
    return table;
  }
  [[nodiscard]] tessera_gam_table of_stream(const std::vector<tessera_gam_option>& options = {}) {
    tessera_gam_call call = TESSERA_GAM_CALL;
    call.options = options.data();
    call.option_count = options.size();
    ArrowArrayStream from = stream();
    tessera_gam_table table = 0;
    EXPECT_EQ(tessera_gam_table_of_arrow(&from, &call, &table), TESSERA_GAM_OK) << tessera_gam_error();
    EXPECT_EQ(from.release, nullptr);
    return table;
  }

  static constexpr const char* formula = "y ~ side + s(x, k=6)";

  /// The whole model of a table, as text; closes the table.
  [[nodiscard]] static std::string model_of(tessera_gam_table table) {
    const tessera_gam_option options[] = {{"threads", "1"}, {"device", "cpu"}};
    tessera_gam_call call = TESSERA_GAM_CALL;
    call.options = options;
    call.option_count = 2;
    tessera_gam_model model = 0;
    const char* text = "no model";
    EXPECT_EQ(tessera_gam_fit(formula, table, &call, &model), TESSERA_GAM_OK) << tessera_gam_error();
    EXPECT_EQ(tessera_gam_model_to_json(model, &text, nullptr), TESSERA_GAM_OK) << tessera_gam_error();
    std::string own = text;
    EXPECT_EQ(tessera_gam_model_close(model), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_table_close(table), TESSERA_GAM_OK);
    return own;
  }

  ArrowCounts counts_;
  std::vector<double> x_, y_;
  std::vector<std::int32_t> side_;

 private:
  static std::ptrdiff_t at(std::size_t row) { return static_cast<std::ptrdiff_t>(row); }
};

TEST_F(ArrowOfC, GivesTheBitsOfColumns) {
  const std::string expected = model_of(of_columns());
  EXPECT_TRUE(model_of(of_stream()) == expected) << "from a stream";
  expect_all_released("after the table of a stream");
  for (const std::size_t cut : {std::size_t{1}, std::size_t{64}, std::size_t{299}}) {
    const tessera_gam_table table = opened();
    ASSERT_EQ(add(table, "x", {x(0, cut, 2), x(cut, rows)}), TESSERA_GAM_OK) << tessera_gam_error();
    ASSERT_EQ(add(table, "y", {y(0, 100), y(100, 100), y(100, rows, 5)}), TESSERA_GAM_OK)
        << tessera_gam_error();
    ASSERT_EQ(add(table, "side", {side(0, cut), side(cut, rows, 9)}), TESSERA_GAM_OK) << tessera_gam_error();
    EXPECT_LT(counts_.released, counts_.made) << "x lies in Arrow's buffers";
    EXPECT_TRUE(model_of(table) == expected) << "from chunks that end at " << cut;
    expect_all_released("after the table of columns");
  }
  // Columns of a stream, of an array and of Arrow in one table.
  const tessera_gam_table table = of_stream({{"column", "x"}});
  ASSERT_EQ(tessera_gam_table_add_numbers(table, "y", y_.data(), rows), TESSERA_GAM_OK)
      << tessera_gam_error();
  ASSERT_EQ(add(table, "side", {side(0, rows)}), TESSERA_GAM_OK) << tessera_gam_error();
  EXPECT_TRUE(model_of(table) == expected);
}

TEST_F(ArrowOfC, ReadsOptionsByName) {
  // Levels in a given order, whose first is the reference level.
  const std::string ordered = model_of(of_stream({{"levels", "side=south,east,north"}}));
  EXPECT_NE(ordered.find("\"sidenorth\""), std::string::npos);
  EXPECT_EQ(ordered.find("\"sidesouth\""), std::string::npos);
  // Another block size gives another order of sums.
  const std::string blocks = model_of(of_stream({{"block-rows", "64"}}));
  EXPECT_NE(blocks, model_of(of_stream()));
  const tessera_gam_option block{"block-rows", "64"};
  tessera_gam_call call = TESSERA_GAM_CALL;
  call.options = &block;
  call.option_count = 1;
  tessera_gam_table table = 0;
  ASSERT_EQ(tessera_gam_table_open(rows, &call, &table), TESSERA_GAM_OK);
  ASSERT_EQ(add(table, "x", {x(0, rows)}), TESSERA_GAM_OK);
  ASSERT_EQ(add(table, "y", {y(0, rows)}), TESSERA_GAM_OK);
  ASSERT_EQ(add(table, "side", {side(0, rows)}), TESSERA_GAM_OK);
  EXPECT_TRUE(model_of(table) == blocks);
}

TEST_F(ArrowOfC, OrderedDictionariesAreOrderedFactors) {
  const auto coded = [&](std::size_t begin, std::size_t end,
                         const std::vector<std::optional<std::string>>& levels) {
    ArrowData data = side(begin, end);
    *data.dictionary = texts_of<std::int32_t>("", "u", levels);
    data.flags = ARROW_FLAG_DICTIONARY_ORDERED | ARROW_FLAG_NULLABLE;
    return data;
  };
  const auto with = [&](const std::vector<ArrowData>& chunks) {
    const tessera_gam_table table = opened();
    EXPECT_EQ(tessera_gam_table_add_numbers(table, "x", x_.data(), rows), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_table_add_numbers(table, "y", y_.data(), rows), TESSERA_GAM_OK);
    EXPECT_EQ(add(table, "side", chunks), TESSERA_GAM_OK) << tessera_gam_error();
    return model_of(table);
  };
  const tessera_gam_table of_levels = opened();
  const char* const levels[] = {"south", "east", "north"};
  ASSERT_EQ(tessera_gam_table_add_numbers(of_levels, "x", x_.data(), rows), TESSERA_GAM_OK);
  ASSERT_EQ(tessera_gam_table_add_numbers(of_levels, "y", y_.data(), rows), TESSERA_GAM_OK);
  ASSERT_EQ(tessera_gam_table_add_factor(of_levels, "side", side_.data(), rows, levels, 3,
                                         TESSERA_GAM_LEVELS_ORDERED),
            TESSERA_GAM_OK);
  const std::string expected = model_of(of_levels);
  EXPECT_NE(expected.find("\"side.L\""), std::string::npos);
  EXPECT_TRUE(with({coded(0, rows, {"south", "east", "north"})}) == expected);
  // A dictionary that grows between batches.
  EXPECT_TRUE(with({coded(0, 2, {"south", "east"}), coded(2, rows, {"south", "east", "north"})}) == expected);
  const tessera_gam_table table = opened();
  EXPECT_EQ(add(table, "side",
                {coded(0, 9, {"south", "east", "north"}), coded(9, rows, {"east", "south", "north"})}),
            TESSERA_GAM_INPUT);
  EXPECT_STREQ(tessera_gam_error(),
               "the Arrow table: the column 'side', batch 2: its ordered dictionary has another order of "
               "levels than earlier dictionaries: use one dictionary for all batches");
  EXPECT_EQ(tessera_gam_table_close(table), TESSERA_GAM_OK);
}

TEST_F(ArrowOfC, ReleasesWhatItRefuses) {
  const tessera_gam_table table = opened();
  const auto refuses = [&](int status, const std::string& text, int expected = TESSERA_GAM_USAGE) {
    EXPECT_EQ(status, expected) << tessera_gam_error();
    EXPECT_NE(std::string(tessera_gam_error()).find(text), std::string::npos) << tessera_gam_error();
    expect_all_released(text);
  };
  refuses(add(0, "x", {x(0, rows)}), "the handle of the table is 0");
  refuses(add(table + 1, "x", {x(0, rows)}), "is not an open table");
  refuses(add(table, nullptr, {x(0, rows)}), "name is null");
  refuses(add(table, "\xc3", {x(0, rows)}), "not valid UTF-8");
  refuses(add(table, "x", {x(0, 9), x(9, 20)}), "'x' has 20 rows, but the table has 300");
  ArrowData other = x(0, rows);
  other.format = "+l";
  refuses(add(table, "z", {other}), "the column 'z' has values of the format '+l'", TESSERA_GAM_INPUT);
  other = x(0, rows);
  other.length = -1;
  refuses(add(table, "z", {x(0, 4), other}), "batch 2 has the length -1", TESSERA_GAM_INPUT);
  refuses(tessera_gam_table_add_arrow(table, "x", nullptr, nullptr, 0), "its schema is a null pointer");
  ArrowArray chunks[] = {array_of(x(0, rows), counts_), {}};
  refuses(tessera_gam_table_add_arrow(table, "x", nullptr, chunks, 1), "its schema is a null pointer");
  ArrowSchema schema = schema_of(x(0, rows), counts_);
  chunks[0] = array_of(x(0, rows), counts_);
  refuses(tessera_gam_table_add_arrow(table, "x", &schema, chunks, 2), "batch 2 was released");
  refuses(tessera_gam_table_add_arrow(table, "x", &schema, nullptr, 0), "its schema was released");
  schema = schema_of(x(0, rows), counts_);
  refuses(tessera_gam_table_add_arrow(table, "x", &schema, nullptr, 2), "chunks is null");
  schema = schema_of(x(0, rows), counts_);
  refuses(tessera_gam_table_add_arrow(table, "x", &schema, nullptr, 0), "'x' has 0 rows");
  // Impossible counts, which are not followed.
  schema = schema_of(x(0, rows), counts_);
  chunks[0] = array_of(x(0, rows), counts_);
  EXPECT_EQ(tessera_gam_table_add_arrow(table, "x", &schema, chunks, SIZE_MAX), TESSERA_GAM_USAGE);
  EXPECT_STREQ(tessera_gam_error(),
               "chunks has 18446744073709551615 elements, which is more than memory can hold: correct the "
               "number of elements");
  chunks[0].release(&chunks[0]);
  ASSERT_EQ(add(table, "y", {y(0, rows)}), TESSERA_GAM_OK);
  const std::int64_t held = counts_.made - counts_.released;
  EXPECT_EQ(add(table, "y", {y(0, rows)}), TESSERA_GAM_USAGE);
  EXPECT_STREQ(tessera_gam_error(), "the table already has a column 'y': give another name");
  EXPECT_EQ(counts_.made - counts_.released, held);
  EXPECT_EQ(tessera_gam_table_close(table), TESSERA_GAM_OK);
  refuses(add(table, "x", {x(0, rows)}), "was closed");
  tessera_gam_table file = 0;
  ASSERT_EQ(tessera_gam_table_of_file("none.csv", nullptr, &file), TESSERA_GAM_OK);
  refuses(add(file, "x", {x(0, rows)}), "to a table that is read from a file");
  EXPECT_EQ(tessera_gam_table_close(file), TESSERA_GAM_OK);
}

TEST_F(ArrowOfC, ReleasesStreamsThatItRefuses) {
  tessera_gam_table table = 0;
  const auto refuses = [&](const std::string& text, ArrowArrayStream from, tessera_gam_option option = {},
                           int expected = TESSERA_GAM_USAGE, std::size_t size = sizeof(tessera_gam_call)) {
    tessera_gam_call call = TESSERA_GAM_CALL;
    call.size = size;
    call.options = &option;
    call.option_count = option.name != nullptr ? 1 : 0;
    EXPECT_EQ(tessera_gam_table_of_arrow(&from, &call, &table), expected) << text;
    EXPECT_NE(std::string(tessera_gam_error()).find(text), std::string::npos) << tessera_gam_error();
    EXPECT_EQ(from.release, nullptr);
    expect_all_released(text);
    EXPECT_EQ(table, 0U);
  };
  refuses("has no option 'gamma'", stream(), {"gamma", "1"});
  refuses("give a column with levels, such as site=bay,cape", stream(), {"levels", "side"});
  refuses("it has no column 'sides' (did you mean 'side'?)", stream(), {"column", "sides"});
  refuses("the column 'x' has numbers, but levels are declared for this column", stream(),
          {"levels", "x=1,2"});
  refuses("call has size 1", stream(), {}, TESSERA_GAM_USAGE, 1);
  refuses("its stream was released, or moved elsewhere", {});
  refuses("its stream fails at batch 2: the disk\\x0ais gone",
          stream_of({.batches = {batch(0, 5), batch(5, 9)}, .counts = &counts_, .fails_at = 1}), {},
          TESSERA_GAM_INPUT);
  ArrowArrayStream from = stream();
  EXPECT_EQ(tessera_gam_table_of_arrow(&from, nullptr, nullptr), TESSERA_GAM_USAGE);
  EXPECT_EQ(from.release, nullptr);
  expect_all_released("without a place for the table");
  EXPECT_EQ(tessera_gam_table_of_arrow(nullptr, nullptr, &table), TESSERA_GAM_USAGE);
  EXPECT_STREQ(tessera_gam_error(), "stream is null: give a valid pointer");
}

TEST_F(ArrowOfC, ReadsNoFurtherWhenItIsCancelled) {
  ArrowArrayStream from = endless_stream(batch(0, 2), counts_);
  tessera_gam_call call = TESSERA_GAM_CALL;
  call.cancelled = [](void*) { return 1; };
  tessera_gam_table table = 0;
  EXPECT_EQ(tessera_gam_table_of_arrow(&from, &call, &table), TESSERA_GAM_INTERRUPTED) << tessera_gam_error();
  EXPECT_EQ(from.release, nullptr);
}

TEST_F(ArrowOfC, StaysAsLongAsACallUsesIt) {
  struct Inside {
    std::function<void()> act;
    bool is_done = false;
  } inside;
  const tessera_gam_table table = of_stream();
  inside.act = [&] {
    EXPECT_EQ(add(table, "z", {x(0, rows)}), TESSERA_GAM_USAGE);
    EXPECT_NE(std::string(tessera_gam_error()).find("the table is in use by another call"),
              std::string::npos);
    EXPECT_EQ(tessera_gam_table_close(table), TESSERA_GAM_OK);
    EXPECT_LT(counts_.released, counts_.made);
  };
  tessera_gam_call call = TESSERA_GAM_CALL;
  call.context = &inside;
  call.progress = [](std::int32_t, const char*, void* context) {
    auto& its = *static_cast<Inside*>(context);
    if (!std::exchange(its.is_done, true)) its.act();
  };
  const tessera_gam_option cpu{"device", "cpu"};
  call.options = &cpu;
  call.option_count = 1;
  tessera_gam_model model = 0;
  ASSERT_EQ(tessera_gam_fit(formula, table, &call, &model), TESSERA_GAM_OK) << tessera_gam_error();
  EXPECT_TRUE(inside.is_done);
  expect_all_released("with the end of the call");
  EXPECT_EQ(tessera_gam_model_close(model), TESSERA_GAM_OK);
}

TEST_F(ArrowOfC, IsReleasedByTheShutdown) {
  (void)of_stream();
  EXPECT_EQ(add(opened(), "x", {x(0, rows)}), TESSERA_GAM_OK);
  EXPECT_LT(counts_.released, counts_.made);
  EXPECT_EQ(tessera_gam_shutdown(), TESSERA_GAM_OK);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
