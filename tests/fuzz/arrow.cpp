// SPDX-License-Identifier: Apache-2.0
// Arrow's structures, valid and damaged: each is refused in one line, or becomes a table whose columns can be
// read, the same from a stream as from arrays; and everything is released once.
#include "fuzz_target.hpp"
#include "gam/data/arrow/arrow_columns.hpp"

#include <tessera/gam/arrow.hpp>
#include <tessera/job/host_team.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "support/arrow_data.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

using fuzz::require;
using fuzz::take_byte;
using testing::ArrowCounts;
using testing::ArrowData;

/// Buffers have room for as many values as a structure can claim without being invalid: structures do not
/// contain the sizes of buffers.
constexpr std::size_t room = 160;
constexpr unsigned most = 40;  ///< of a length or an offset, other than impossible ones

/// A length, an offset or a number of nulls.
std::int64_t take_count(std::string_view& input) {
  constexpr std::int64_t others[] = {-1,
                                     -2,
                                     std::int64_t{1} << 41,
                                     (std::int64_t{1} << 56) + 1,
                                     std::numeric_limits<std::int64_t>::max(),
                                     std::numeric_limits<std::int64_t>::min()};
  const unsigned byte = take_byte(input);
  return byte < 200 ? byte % (most + 1) : others[byte % std::size(others)];
}

/// An offset may be any for which a buffer has room, or one that no buffer has.
std::int64_t take_offset(std::string_view& input) {
  const std::int64_t count = take_count(input);
  return count > most ? std::numeric_limits<std::int64_t>::max() : count;
}

/// Numbers of `width` bytes, or offsets and views made of them: small ones and their negatives.
void append_number(std::vector<std::byte>& bytes, std::size_t width, std::int64_t value) {
  for (std::size_t b = 0; b < width; ++b)
    bytes.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * b)));
}
std::int64_t take_small(std::string_view& input) {
  return static_cast<signed char>(take_byte(input));
}

std::vector<std::byte> take_numbers(std::string_view& input, std::size_t width) {
  std::int64_t pattern[4];
  for (std::int64_t& one : pattern) one = take_small(input);
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < room; ++i) append_number(bytes, width, pattern[i % std::size(pattern)]);
  return bytes;
}

std::vector<std::byte> take_text_offsets(std::string_view& input, std::size_t width) {
  const std::int64_t step = take_byte(input) % 4;
  const std::size_t spoilt = take_byte(input);
  const std::int64_t value = take_small(input);
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i <= room; ++i)
    append_number(bytes, width, i == spoilt ? value : step * static_cast<std::int64_t>(i));
  return bytes;
}

std::vector<std::byte> take_views(std::string_view& input) {
  std::vector<std::byte> bytes;
  std::int64_t pattern[12];
  for (std::int64_t& one : pattern) one = take_small(input);
  for (std::size_t i = 0; i < room; ++i) {
    const std::int64_t* const view = pattern + 3 * (i % 4);
    append_number(bytes, 4, view[0]);  // the length
    append_number(bytes, 4, 'a' + static_cast<std::int64_t>(i % 8));
    append_number(bytes, 4, view[1]);  // the buffer
    append_number(bytes, 4, view[2]);  // the place in it
  }
  return bytes;
}

std::vector<std::byte> letters(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i % 11 == 7 ? 0xC3 : 'a' + i % 7);
  return bytes;
}

constexpr const char* formats[] = {"g", "f",   "c",    "C",           "s", "S", "i", "I", "l",
                                   "L", "tdD", "tss:", "tsn:Etc/UTC", "b", "u", "U", "vu"};

std::string take_format(std::string_view& input) {
  const unsigned chosen = take_byte(input) % (std::size(formats) + 1);
  if (chosen < std::size(formats)) return formats[chosen];
  std::string text(input.substr(0, take_byte(input) % 8));
  input.remove_prefix(text.size());
  return text;
}

/// One array, with the format and dictionary of `like` if given: an array of another type than its schema's
/// may have buffers without room for its values.
ArrowData take_array(std::string_view& input, std::int64_t length, const ArrowData* like,
                     bool in_dictionary) {
  enum : unsigned {
    other_length = 1,
    offset = 2,
    bitmap = 4,
    nulls = 8,
    null_buffer = 16,
    fewer = 32,
    coded = 64
  };
  const unsigned with = take_byte(input);
  ArrowData data;
  data.format = like != nullptr ? like->format : take_format(input);
  data.length = (with & other_length) != 0 ? take_count(input) : length;
  if ((with & offset) != 0) data.offset = take_offset(input);
  data.buffers.emplace_back((with & bitmap) != 0 ? std::optional(take_numbers(input, 1)) : std::nullopt);
  if ((with & bitmap) != 0) data.null_count = -1;
  if ((with & nulls) != 0) data.null_count = take_count(input);
  const bool views = data.format == "vu";
  if (views) {
    data.buffers.emplace_back(take_views(input));
    std::vector<std::byte> sizes;
    for (unsigned buffers = take_byte(input) % 4; buffers > 0; --buffers) {
      data.buffers.emplace_back(letters(100));
      append_number(sizes, 8, std::min<std::int64_t>(100, 100 + take_small(input)));
    }
    data.buffers.emplace_back(std::move(sizes));
  } else if (data.format == "u" || data.format == "U") {
    data.buffers.emplace_back(take_text_offsets(input, data.format == "u" ? 4 : 8));
    data.buffers.emplace_back(letters(4 * room));
  } else {
    data.buffers.emplace_back(take_numbers(input, 8));
  }
  const bool is_coded =
      like != nullptr ? (like->dictionary != nullptr) != ((with & 128) != 0) : (with & coded) != 0;
  if (is_coded && !in_dictionary)
    data.dictionary = std::make_shared<ArrowData>(
        take_array(input, take_byte(input) % most, like != nullptr ? like->dictionary.get() : nullptr, true));
  if ((with & null_buffer) != 0) data.buffers[take_byte(input) % data.buffers.size()] = std::nullopt;
  if ((with & fewer) != 0) data.buffers.resize(take_byte(input) % (views ? 3 : 6));
  return data;
}

/// Marks children as released, and clears pointers.
template <class Structure>
void spoil(Structure& structure, unsigned how) {
  const auto child = [&]() -> Structure*& { return structure.children[how / 16 % structure.n_children]; };
  if (structure.n_children > 0 && how % 16 == 1) child()->release(child());
  if (structure.n_children > 0 && how % 16 == 2) child() = nullptr;
  if (how % 16 == 3) structure.children = nullptr;
  if (how % 16 == 4) structure.n_children = -1;
  if (structure.n_children > 0 && how % 16 == 5) --structure.n_children;
  if (structure.n_children > 0 && how % 16 == 6) child()->dictionary = nullptr;
}

/// The content of columns for a fit: bits of their numbers, and texts of their levels by row, as
/// `arrow_table` makes them in a job of one rank.
std::string content_of(ArrowBatches batches, const ArrowOptions& options) {
  HostTeam team(1);
  ArrowColumns columns(std::move(batches), options, team);
  columns.set_levels(columns.levels(), team);
  std::string all = std::to_string(columns.rows()) + ' ';
  for (const Table::Column& column : columns.columns()) {
    all += column.name + ':';
    if (const auto* numbers = std::get_if<NumberSpans>(&column.values)) {
      for (const auto piece : numbers->pieces) {
        for (const double number : piece) all += std::to_string(std::bit_cast<std::uint64_t>(number)) + ' ';
      }
      continue;
    }
    const auto& factor = std::get<FactorSpans>(column.values);
    for (const auto piece : factor.codes) {
      for (const std::int32_t code : piece) {
        require(code >= -1 && code < std::ssize(factor.levels), "a code has a level:", std::to_string(code));
        all += code < 0 ? "<NA> " : factor.levels[static_cast<std::size_t>(code)] + ' ';
      }
    }
  }
  return all;
}

struct Input {
  std::vector<ArrowData> batches;
  unsigned spoilt_schema = 0, spoilt_batch = 0;
  std::size_t fails_at = 0;
  ArrowOptions options;
};

/// The content of the columns from `take`, or the reason of its refusal.
std::string outcome(const std::function<ArrowBatches()>& take, const ArrowOptions& options,
                    const ArrowCounts& counts) {
  std::string content;
  const auto refused =
      fuzz::refusal([&] { content = content_of(take(), options); }, {ErrorCode::usage, ErrorCode::input});
  if (refused) require(refused->find('\n') == std::string::npos, "an error is one line:", *refused);
  require(counts.made == counts.released, "everything is released");
  return refused.value_or(content);
}

void check(const Input& input) {
  ArrowCounts counts;
  const std::string arrays = outcome(
      [&] {
        ArrowSchema schema = testing::schema_of(input.batches.front(), counts);
        spoil(schema, input.spoilt_schema);
        std::vector<ArrowArray> batches;
        for (const ArrowData& batch : input.batches) batches.push_back(testing::array_of(batch, counts));
        spoil(batches.back(), input.spoilt_batch);
        return take_batches(&schema, batches);
      },
      input.options, counts);
  if (input.spoilt_schema != 0 || input.spoilt_batch != 0) return;
  const std::string stream = outcome(
      [&] {
        ArrowArrayStream from =
            testing::stream_of({.batches = input.batches, .counts = &counts, .fails_at = input.fails_at});
        return take_batches(&from, {});
      },
      input.options, counts);
  if (input.fails_at > input.batches.size())
    require(stream == arrays, "a stream is the table of its arrays:", stream + " and " + arrays);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  using namespace tessera::gam;
  std::string_view input = fuzz::text_of(data, size);
  Input read;
  const unsigned columns = fuzz::take_byte(input) % 4;
  const unsigned batches = 1 + fuzz::take_byte(input) % 3;
  read.spoilt_schema = fuzz::take_byte(input) % 32;
  read.spoilt_batch = fuzz::take_byte(input) % 32;
  const unsigned fails_at = fuzz::take_byte(input);
  read.fails_at = fails_at % 4 == 3 ? fails_at / 4 % 4 : std::size_t{1000};
  const unsigned options = fuzz::take_byte(input);
  if (options % 4 == 1) read.options.levels = {{"0", {"a", "ab", "bc"}}};
  if (options % 4 == 2) read.options.columns = {"1"};
  for (unsigned b = 0; b < batches; ++b) {
    const std::int64_t length = fuzz::take_byte(input) % most;
    std::vector<ArrowData> all;
    for (unsigned c = 0; c < columns; ++c) {
      const ArrowData* const like = b > 0 ? &read.batches.front().children[c] : nullptr;
      all.push_back(take_array(input, length, like, false));
      all.back().name = std::to_string(c);
    }
    ArrowData batch = testing::batch_of(std::move(all));
    batch.length = length;
    const unsigned spoilt = fuzz::take_byte(input);
    if (spoilt % 8 == 1) batch.length = take_count(input);
    if (spoilt % 8 == 2) batch.offset = take_offset(input);
    if (spoilt % 8 == 3) batch.buffers.clear();
    if (spoilt % 8 == 4) {
      batch.null_count = take_count(input);
      batch.buffers[0] = take_numbers(input, 1);
    }
    if (spoilt % 8 == 5) batch.format = "+l";
    read.batches.push_back(std::move(batch));
  }
  check(read);
  return 0;
}
