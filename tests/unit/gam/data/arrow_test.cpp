// SPDX-License-Identifier: Apache-2.0
// Tables of Arrow's structures: the resulting columns, refusals, and a single release of each structure.
#include "support/arrow_data.hpp"
#include "support/errors.hpp"
#include "support/fit_support.hpp"

#include <tessera/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <tessera/gam/arrow.hpp>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

using Texts = std::vector<std::optional<std::string>>;
constexpr double missing = std::numeric_limits<double>::quiet_NaN();

/// A job without MPI.
Job own_job() {
  return cpu_job(mpi::Communicator::serial(), 2);
}

Table table_from(Job& job, std::vector<ArrowData> batches, ArrowCounts& counts,
                 const ArrowOptions& options = {}) {
  ArrowArrayStream stream = stream_of({.batches = std::move(batches), .counts = &counts});
  Table table = arrow_table(job, &stream, options);
  EXPECT_EQ(stream.release, nullptr);
  return table;
}

const Table::Column& column(const Table& table, const std::string& name) {
  for (const Table::Column& one : table.columns) {
    if (one.name == name) return one;
  }
  throw std::out_of_range(name);
}

std::vector<double> numbers(const Table& table, const std::string& name) {
  std::vector<double> all;
  for (const auto piece : std::get<NumberSpans>(column(table, name).values).pieces)
    all.insert(all.end(), piece.begin(), piece.end());
  return all;
}

Texts texts(const Table& table, const std::string& name) {
  const auto& factor = std::get<FactorSpans>(column(table, name).values);
  Texts all;
  for (const auto piece : factor.codes) {
    for (const std::int32_t code : piece)
      all.push_back(code < 0 ? std::nullopt
                             : std::optional(factor.levels.at(static_cast<std::size_t>(code))));
  }
  return all;
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
  }
  return true;
}

template <class T>
void expect_numbers(Job& job, const char* format, const std::vector<std::optional<T>>& values,
                    const std::vector<double>& expected) {
  for (const std::size_t offset : {0, 3, 9}) {
    ArrowCounts counts;
    {
      const Table table = table_from(job, {batch_of({numbers_of<T>("x", format, values, offset)})}, counts);
      EXPECT_TRUE(same(numbers(table, "x"), expected)) << format << ' ' << offset;
    }
    EXPECT_EQ(counts.made, counts.released);
  }
}

template <class T>
void expect_integers(Job& job, const char* format) {
  using Limits = std::numeric_limits<T>;
  expect_numbers<T>(job, format, {Limits::min(), T{1}, std::nullopt, Limits::max()},
                    {static_cast<double>(Limits::min()), 1, missing, static_cast<double>(Limits::max())});
}

TEST(Arrow, HasNumbersOfEveryType) {
  Job job = own_job();
  expect_numbers<double>(job, "g", {1.5, std::nullopt, missing, -0.25}, {1.5, missing, missing, -0.25});
  expect_numbers<double>(job, "g", {1.5, -0.25}, {1.5, -0.25});
  expect_numbers<float>(job, "f", {1.5F, std::nullopt, 0.1F}, {1.5, missing, double{0.1F}});
  expect_integers<std::int8_t>(job, "c");
  expect_integers<std::uint8_t>(job, "C");
  expect_integers<std::int16_t>(job, "s");
  expect_integers<std::uint16_t>(job, "S");
  expect_integers<std::int32_t>(job, "i");
  expect_integers<std::uint32_t>(job, "I");
  expect_integers<std::int64_t>(job, "l");
  expect_integers<std::uint64_t>(job, "L");
  // Dates and times as in R: days, and seconds.
  expect_numbers<std::int32_t>(job, "tdD", {-1, 20000, std::nullopt}, {-1, 20000, missing});
  expect_numbers<std::int64_t>(job, "tss:", {-7, std::nullopt}, {-7, missing});
  expect_numbers<std::int64_t>(job, "tsm:UTC", {1500}, {1.5});
  expect_numbers<std::int64_t>(job, "tsu:Europe/Berlin", {1500000}, {1.5});
  expect_numbers<std::int64_t>(job, "tsn:", {1500000000}, {1.5});
}

// 64-bit integers are converted two at a time by bits of doubles.
TEST(Arrow, HasTheNearestDoublesOfIntegers) {
  Job job = own_job();
  std::vector<std::int64_t> integers{0, std::numeric_limits<std::int64_t>::min(),
                                     std::numeric_limits<std::int64_t>::max()};
  for (const int power : {31, 32, 33, 51, 52, 53, 54, 62}) {
    for (const std::int64_t more : {-3, -2, -1, 0, 1, 2, 3}) {
      integers.push_back((std::int64_t{1} << power) + more);
      integers.push_back(-(std::int64_t{1} << power) + more);
    }
  }
  for (const std::int64_t integer : integers) {
    const auto number = static_cast<double>(integer);
    expect_numbers<std::int64_t>(job, "l", {integer}, {number});
    expect_numbers<std::int64_t>(job, "l", {1, integer, -1, std::nullopt, integer},
                                 {1, number, -1, missing, number});
    const auto bits = static_cast<std::uint64_t>(integer);
    expect_numbers<std::uint64_t>(job, "L", {bits, 1}, {static_cast<double>(bits), 1});
  }
}

// Bitmaps are read in words of 64 bits, after an offset.
TEST(Arrow, HasNullsAnywhere) {
  Job job = own_job();
  for (const std::size_t count : {1, 7, 8, 63, 64, 65, 200}) {
    for (const std::size_t step : {1, 2, 7, 64, 199}) {
      std::vector<std::optional<double>> numbers(count);
      std::vector<std::optional<std::int32_t>> integers(count);
      std::vector<std::optional<std::int32_t>> codes(count);
      std::vector<double> expected(count, missing);
      Texts texts_expected(count);
      for (std::size_t i = 0; i < count; ++i) {
        if (i % step == step / 2) continue;
        expected[i] = static_cast<double>(i);
        numbers[i] = expected[i];
        integers[i] = static_cast<std::int32_t>(i);
        codes[i] = static_cast<std::int32_t>(i % 3);
        // The dictionary's entry 1 is null too.
        if (i % 3 != 1) texts_expected[i] = i % 3 == 0 ? "a" : "c";
      }
      expect_numbers<double>(job, "g", numbers, expected);
      expect_numbers<std::int32_t>(job, "i", integers, expected);
      for (const std::size_t offset : {0, 3, 9}) {
        ArrowCounts counts;
        const ArrowData dictionary = texts_of<std::int32_t>("", "u", {"a", std::nullopt, "c"});
        const Table table = table_from(
            job, {batch_of({coded_of<std::int32_t>("x", "i", codes, dictionary, offset)})}, counts);
        EXPECT_EQ(texts(table, "x"), texts_expected) << count << ' ' << step << ' ' << offset;
      }
    }
  }
}

TEST(Arrow, HasTextsOfEveryType) {
  Job job = own_job();
  const Texts values = {"b",
                        "",
                        std::nullopt,
                        "a text of more than twelve bytes",
                        "b",
                        "twelve bytes",
                        "another that is longer than it",
                        "thirteen byte"};
  for (const std::size_t offset : {0, 3, 9}) {
    ArrowCounts counts;
    {
      const Table table = table_from(
          job,
          {batch_of({texts_of<std::int32_t>("u", "u", values, offset),
                     texts_of<std::int64_t>("U", "U", values, offset), views_of("v", values, offset)})},
          counts);
      for (const char* name : {"u", "U", "v"}) EXPECT_EQ(texts(table, name), values) << name << offset;
    }
    EXPECT_EQ(counts.made, counts.released);
  }
  ArrowCounts counts;
  const Table table = table_from(job, {batch_of({truths_of("t", {true, std::nullopt, false}, 5)})}, counts);
  EXPECT_EQ(texts(table, "t"), (Texts{"TRUE", std::nullopt, "FALSE"}));
}

template <class T>
void expect_codes(Job& job, const char* format) {
  // An entry that occurs twice, and one that is null.
  const Texts entries = {"c", "a", "c", std::nullopt};
  const std::vector<std::optional<T>> indices = {T{1}, T{0}, std::nullopt, T{2}, T{3}};
  for (const std::size_t offset : {0, 5}) {
    ArrowCounts counts;
    const Table table = table_from(
        job,
        {batch_of(
            {coded_of<T>("f", format, indices, texts_of<std::int32_t>("", "u", entries, offset), offset)})},
        counts);
    EXPECT_EQ(texts(table, "f"), (Texts{"a", "c", std::nullopt, "c", std::nullopt})) << format;
    EXPECT_EQ(std::get<FactorSpans>(column(table, "f").values).levels, (std::vector<std::string>{"c", "a"}));
  }
}

TEST(Arrow, HasDictionariesByIndicesOfEveryType) {
  Job job = own_job();
  expect_codes<std::int8_t>(job, "c");
  expect_codes<std::uint8_t>(job, "C");
  expect_codes<std::int16_t>(job, "s");
  expect_codes<std::uint16_t>(job, "S");
  expect_codes<std::int32_t>(job, "i");
  expect_codes<std::uint32_t>(job, "I");
  expect_codes<std::int64_t>(job, "l");
  expect_codes<std::uint64_t>(job, "L");
}

TEST(Arrow, UnitesTheDictionariesOfBatches) {
  Job job = own_job();
  const auto batch = [](const Texts& entries, const std::vector<std::optional<std::int32_t>>& indices) {
    return batch_of({coded_of<std::int32_t>("f", "i", indices, views_of("", entries))});
  };
  ArrowCounts counts;
  const Table table = table_from(
      job, {batch({"b", "c"}, {0, 1, 0}), batch({"a", "c"}, {1, std::nullopt, 0}), batch({"b", "c"}, {1})},
      counts);
  EXPECT_EQ(texts(table, "f"), (Texts{"b", "c", "b", "c", std::nullopt, "a", "c"}));
  EXPECT_EQ(std::get<FactorSpans>(column(table, "f").values).order, LevelOrder::sorted);
  ArrowCounts kept;
  const Table in_order = table_from(job, {batch({"c", "b"}, {0, 1, 0}), batch({"a", "c"}, {1, 0})}, kept,
                                    {.keep_dictionary_order = true});
  EXPECT_EQ(texts(in_order, "f"), (Texts{"c", "b", "c", "c", "a"}));
  const auto& factor = std::get<FactorSpans>(column(in_order, "f").values);
  EXPECT_EQ(factor.order, LevelOrder::given);
  EXPECT_EQ(factor.levels, (std::vector<std::string>{"c", "b", "a"}));
  // The last column has its original codes.
  ArrowCounts others;
  const Table again = table_from(job, {batch({"b", "c"}, {0, 1, 0}), batch({"a", "c"}, {1, 0})}, others,
                                 {.levels = {{"f", {"c", "none", "b"}}}});
  EXPECT_EQ(texts(again, "f"), (Texts{"b", "c", "b", "c", std::nullopt}));
  EXPECT_EQ(std::get<FactorSpans>(column(again, "f").values).levels,
            (std::vector<std::string>{"c", "none", "b"}));
}

TEST(Arrow, LeavesNumbersAndCodesWhereTheyAre) {
  Job job = own_job();
  ArrowCounts counts;
  const ArrowData data =
      batch_of({numbers_of<double>("x", "g", {9., 9., 1., 2.}),
                coded_of<std::int32_t>("f", "i", {0, 0, 1, 0}, texts_of<std::int32_t>("", "u", {"b", "a"})),
                numbers_of<double>("z", "g", {9., 9., std::nullopt, 2.})},
               2);
  ArrowSchema schema = schema_of(data, counts);
  ArrowArray batches[] = {array_of(data, counts), array_of(data, counts)};
  const ArrowArray* const* children = batches[1].children;
  const auto* const x = static_cast<const double*>(children[0]->buffers[1]);
  const auto* const f = static_cast<const std::int32_t*>(children[1]->buffers[1]);
  std::optional<Table> table = arrow_table(job, &schema, batches);
  EXPECT_EQ(schema.release, nullptr);
  EXPECT_EQ(batches[1].release, nullptr);
  EXPECT_EQ(std::get<NumberSpans>(column(*table, "x").values).pieces[1].data(), x + 2);
  EXPECT_EQ(std::get<FactorSpans>(column(*table, "f").values).codes[1].data(), f + 2);
  EXPECT_TRUE(same(numbers(*table, "z"), {missing, 2, missing, 2}));
  const Table copy = *table;
  table.reset();
  EXPECT_LT(counts.released, counts.made);
  EXPECT_TRUE(same(numbers(copy, "x"), {1, 2, 1, 2}));
}

/// The error of this kind from `make`, in one line, once everything passed to it has been released.
std::string refusal(ErrorCode code, ArrowCounts& counts, const std::function<Table()>& make) {
  const std::string said = error_of(code, make);
  EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  EXPECT_EQ(counts.made, counts.released) << said;
  return said;
}

/// A batch with all kinds of columns, to be damaged.
ArrowData sound_batch() {
  return batch_of(
      {numbers_of<double>("x", "g", {1., 2., std::nullopt}),
       texts_of<std::int32_t>("u", "u", {"a", "b", "c"}),
       views_of("v", {"a text of more than twelve bytes", "b", "c"}),
       coded_of<std::int32_t>("f", "i", {1, std::nullopt, 0}, texts_of<std::int32_t>("", "u", {"b", "a"})),
       truths_of("t", {true, false, true})});
}

template <class T>
void put(ArrowData& data, std::size_t buffer, std::size_t place, T value) {
  std::memcpy(data.buffers.at(buffer)->data() + place * sizeof(T), &value, sizeof(T));
}

TEST(Arrow, RefusesWhatContradictsItselfAndReleasesAll) {
  Job job = own_job();
  const auto says = [&](const std::string& what, const std::function<void(ArrowData & batch)>& spoil,
                        const ArrowOptions& options = {}) {
    ArrowCounts counts;
    ArrowData spoilt = sound_batch();
    spoil(spoilt);
    const std::string said = refusal(ErrorCode::input, counts, [&] {
      // The schema is that of the valid batch, unless its formats differ.
      ArrowData first = sound_batch();
      for (std::size_t c = 0; c < first.children.size() && c < spoilt.children.size(); ++c)
        first.children[c].format = spoilt.children[c].format;
      first.format = spoilt.format;
      ArrowSchema schema = schema_of(first, counts);
      ArrowArray batches[] = {array_of(first.format == "+s" ? sound_batch() : spoilt, counts),
                              array_of(spoilt, counts)};
      return arrow_table(job, &schema, batches, options);
    });
    EXPECT_EQ(said, "the Arrow table: " + what);
  };
  using Data = ArrowData;
  says("the column 'x', batch 2: its array has 1 buffers, but its type has 2",
       [](Data& d) { d.children[0].buffers.pop_back(); });
  says("the column 'v', batch 2: its array has 2 buffers, but its type has 3 or more",
       [](Data& d) { d.children[2].buffers.resize(2); });
  says("the column 'x', batch 2: the buffer of its values is a null pointer",
       [](Data& d) { d.children[0].buffers[1] = std::nullopt; });
  says("the column 'x', batch 2: its array has 1 nulls, but no validity buffer: give one, or null_count 0",
       [](Data& d) { d.children[0].buffers[0] = std::nullopt; });
  says("the column 'x', batch 2: its array has 3 values, but declares 4 nulls",
       [](Data& d) { d.children[0].null_count = 4; });
  says("the column 'x', batch 2: its array has 2 values, but the batch needs 3",
       [](Data& d) { d.children[0].length = 2; });
  says("the column 'x', batch 2: the length -3 and offset 0 of its array are impossible",
       [](Data& d) { d.children[0].length = -3; });
  says("the column 'x', batch 2: the length 3 and offset -1 of its array are impossible",
       [](Data& d) { d.children[0].offset = -1; });
  // An impossible number, for which byte offsets overflow 64 bits.
  constexpr std::int64_t huge = std::int64_t{1} << 56;
  says("the column 'x', batch 2: the length 3 and offset 72057594037927936 of its array are impossible",
       [](Data& d) { d.children[0].offset = huge; });
  says("the column 'x', batch 2: the length 72057594037927936 and offset 0 of its array are impossible",
       [](Data& d) { d.children[0].length = huge; });
  says(
      "the column 'f', batch 2, its dictionary: the length 2 and offset 72057594037927936 of its array are "
      "impossible",
      [](Data& d) { d.children[3].dictionary->offset = huge; });
  says("the column 'v', batch 2: its array has 9223372036854775807 buffers, but its type has 3 or more",
       [](Data& d) { d.children[2].n_buffers = std::numeric_limits<std::int64_t>::max(); });
  says("the column 'x', batch 2: its array has 1 children, but its type has none",
       [](Data& d) { d.children[0].children.push_back(d.children[1]); });
  says("the column 'u', batch 2: text 2 is from byte 7 to 6 of its buffer, which is impossible",
       [](Data& d) { put<std::int32_t>(d.children[1], 1, 2, 6); });
  says("the column 'u', batch 2: text 1 is from byte -1 to 7 of its buffer, which is impossible",
       [](Data& d) { put<std::int32_t>(d.children[1], 1, 0, -1); });
  says("the column 'u', batch 2: the buffer of its texts is a null pointer",
       [](Data& d) { d.children[1].buffers[2] = std::nullopt; });
  says("the column 'v', batch 2: text 1 refers to data buffer 3, but the array has 2 data buffers",
       [](Data& d) { put<std::int32_t>(d.children[2], 1, 2, 2); });
  says("the column 'v', batch 2: text 1 spans bytes 7 to 39 of a buffer of 38 bytes",
       [](Data& d) { put<std::int32_t>(d.children[2], 1, 3, 7); });
  says("the column 'v', batch 2: text 1 spans bytes 6 to 38 of a buffer of 0 bytes",
       [](Data& d) { d.children[2].buffers[2] = std::nullopt; });
  says("the column 'v', batch 2: text 2 has the length -1, which is impossible",
       [](Data& d) { put<std::int32_t>(d.children[2], 1, 4, -1); });
  says("the column 'v', batch 2: the buffer with the sizes of its text buffers is a null pointer",
       [](Data& d) { d.children[2].buffers[4] = std::nullopt; });
  says(
      "the column 'f', batch 2: value 3 has the index 2, but the dictionary has 2 entries (indices begin at "
      "0)",
      [](Data& d) { put<std::int32_t>(d.children[3], 1, 2, 2); });
  says(
      "the column 'f', batch 2: value 1 has the index -1, but the dictionary has 2 entries (indices begin at "
      "0)",
      [](Data& d) { put<std::int32_t>(d.children[3], 1, 0, -1); });
  says(
      "the column 'f', batch 2, its dictionary: text 2 is from byte 7 to 6 of its buffer, which is "
      "impossible",
      [](Data& d) { put<std::int32_t>(*d.children[3].dictionary, 1, 2, 6); });
  says("the column 'f', batch 2, its dictionary: the length -2 and offset 0 of its array are impossible",
       [](Data& d) { d.children[3].dictionary->length = -2; });
  says("the column 'f', batch 2: its array has no dictionary, contrary to the schema",
       [](Data& d) { d.children[3].dictionary = nullptr; });
  says("batch 2 has 4 columns, but the schema has 5", [](Data& d) { d.children.pop_back(); });
  says("batch 2 has 0 buffers, but a record batch needs one buffer", [](Data& d) { d.buffers.clear(); });
  says(
      "batch 2 has the length -1 and the offset 0: give lengths, offsets and a number of rows from 0 to 2^40",
      [](Data& d) { d.length = -1; });
  says("batch 2 has a null row: leave the row out, or make the values of the row null", [](Data& d) {
    d.null_count = 1;
    d.buffers[0] = bits_of({true, false, true});
  });
  says(
      "the column 'x' has values of the format '+l', which are neither numbers nor texts: cast them, or "
      "leave the column out",
      [](Data& d) { d.children[0].format = "+l"; });
  says(
      "the column 'x' has values of the format '\\x1b', which are neither numbers nor texts: cast them, or "
      "leave the column out",
      [](Data& d) { d.children[0].format = "\x1b"; });
  says(
      "the column 'f' has a dictionary of the format 'u' with indices of the format 'g': only texts with "
      "integer indices are read: cast the column, or leave the column out",
      [](Data& d) { d.children[3].format = "g"; });
  says("its schema has the format 'g', but record batches have '+s'", [](Data& d) { d.format = "g"; });
}

TEST(Arrow, LeavesColumnsUnreadThatAreNotAskedFor) {
  Job job = own_job();
  ArrowData spoilt = sound_batch();
  spoilt.children[0].format = "+l";
  spoilt.children[1].buffers.clear();
  ArrowCounts counts;
  const Table table = table_from(job, {spoilt}, counts, {.columns = {"t", "f"}});
  ASSERT_EQ(table.columns.size(), 2);
  EXPECT_EQ(texts(table, "f"), (Texts{"a", std::nullopt, "b"}));
}

TEST(Arrow, RefusesNullAndReleasedStructuresAndOptionsThatDoNotSuit) {
  Job job = own_job();
  const auto says = [&](ErrorCode code, const std::string& what,
                        const std::function<Table(ArrowCounts&)>& make) {
    ArrowCounts counts;
    EXPECT_EQ(refusal(code, counts, [&] { return make(counts); }), "the Arrow table: " + what);
  };
  const auto usage = ErrorCode::usage;
  says(usage, "its stream is a null pointer", [&](ArrowCounts&) { return arrow_table(job, nullptr); });
  says(usage, "its stream was released, or moved elsewhere", [&](ArrowCounts&) {
    ArrowArrayStream none{};
    return arrow_table(job, &none);
  });
  says(usage, "its schema is a null pointer", [&](ArrowCounts& counts) {
    ArrowArray batches[] = {array_of(sound_batch(), counts)};
    return arrow_table(job, nullptr, batches);
  });
  says(usage, "its schema was released, or moved elsewhere", [&](ArrowCounts& counts) {
    ArrowSchema none{};
    ArrowArray batches[] = {array_of(sound_batch(), counts)};
    return arrow_table(job, &none, batches);
  });
  says(usage, "batch 2 was released, or moved elsewhere", [&](ArrowCounts& counts) {
    ArrowSchema schema = schema_of(sound_batch(), counts);
    ArrowArray batches[] = {array_of(sound_batch(), counts), {}, array_of(sound_batch(), counts)};
    return arrow_table(job, &schema, batches);
  });
  const auto with = [&](const ArrowOptions& options) {
    return [&job, options](ArrowCounts& counts) { return table_from(job, {sound_batch()}, counts, options); };
  };
  says(usage, "it has no column 'tt' (did you mean 't'?)", with({.columns = {"x", "tt"}}));
  says(usage, "the column 'x' has numbers, but levels are declared for this column: leave the levels out",
       with({.levels = {{"x", {"1"}}}}));
  says(usage, "it has no column 'q' (it has 'x', 'u', 'v' and 2 more)", with({.levels = {{"q", {"1"}}}}));
  const auto failing = [&](const ArrowStreamData& data) {
    return [&job, data](ArrowCounts& counts) {
      ArrowArrayStream stream = stream_of(data);
      static_cast<ArrowStreamData*>(stream.private_data)->counts = &counts;
      ++counts.made;
      return arrow_table(job, &stream);
    };
  };
  ArrowCounts unused;
  const std::vector<ArrowData> two = {sound_batch(), sound_batch()};
  says(ErrorCode::input, "its stream fails at batch 2: the disk\\x0ais gone",
       failing({.batches = two, .counts = &unused, .fails_at = 1}));
  says(ErrorCode::input, "its stream gives no schema: Input/output error",
       failing({.batches = two, .counts = &unused, .has_no_schema = true, .error = nullptr}));
}

TEST(Arrow, RefusesMoreTextsThanLevelsMayBe) {
  Job job = own_job();
  Texts many;
  for (int i = 0; i <= 100'000; ++i) many.emplace_back(std::to_string(i));
  ArrowCounts counts;
  const std::string said = refusal(ErrorCode::input, counts, [&] {
    return table_from(job, {batch_of({texts_of<std::int32_t>("id", "u", many)})}, counts);
  });
  EXPECT_TRUE(
      said.starts_with("the Arrow table: the column 'id', batch 1 has more than 100000 distinct texts"))
      << said;
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
