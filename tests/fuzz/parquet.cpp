// SPDX-License-Identifier: Apache-2.0
// Files in Parquet or Feather, read by the plugin: damaged ones are refused in one line, and what is read has
// the rows, columns and texts that it says.
#include "fuzz_target.hpp"
#include "gam/data/arrow/arrow_batches.hpp"
#include "gam/data/arrow/arrow_values.hpp"
#include "gam/data/arrow/plugin/file.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

namespace {

using namespace tessera;
using namespace tessera::gam;
using fuzz::require;

struct Bytes {
  const std::uint8_t* data;
  std::size_t size;

  static std::int64_t read_at(void* context, std::int64_t offset, std::int64_t count, void* to) {
    const auto& bytes = *static_cast<const Bytes*>(context);
    const auto at = static_cast<std::size_t>(offset);
    const std::size_t there =
        std::min(bytes.size - std::min(at, bytes.size), static_cast<std::size_t>(count));
    if (there > 0) std::memcpy(to, bytes.data + at, there);
    return static_cast<std::int64_t>(there);
  }
};

const tessera_arrow_plugin& plugin() {
  // Arrow's own allocators hide what is read beyond a buffer's end.
  arrow_plugin::most_buffer_bytes = std::int64_t{1} << 28;
  static const int is_set = setenv("ARROW_DEFAULT_MEMORY_POOL", "system", 1);
  static const tessera_arrow_plugin* const functions = tessera_arrow_functions(TESSERA_ARROW_PLUGIN_VERSION);
  require(is_set == 0 && functions != nullptr, "the plugin is of this version");
  return *functions;
}

void require_line(const char* text) {
  require(text != nullptr && *text != '\0', "a failure has a reason");
  require(std::strchr(text, '\n') == nullptr, "a reason is one line");
}

/// Every value of a column, as a table reads it.
void read_values(const ArrowSchema& schema, const ArrowArray& batch, std::int64_t column) {
  const ArrowArray& array = *batch.children[column];
  try {
    const ArrowType type = arrow_type(*schema.children[column], "it");
    const ArrowValues values(array, type, batch.offset, batch.length, "it");
    for (std::size_t i = 0; type.is_text() && i < values.size(); ++i) {
      if (!values.is_null(i)) static_cast<void>(std::string(values.text(i)));
    }
    if (array.dictionary == nullptr) return;
    const ArrowType of_dictionary = arrow_type(*schema.children[column]->dictionary, "it");
    const ArrowValues texts(*array.dictionary, of_dictionary, 0, array.dictionary->length, "it");
    for (std::size_t i = 0; of_dictionary.is_text() && i < texts.size(); ++i) {
      if (!texts.is_null(i)) static_cast<void>(std::string(texts.text(i)));
    }
  } catch (const Error&) {
    // A type that tables do not have.
  }
}

/// `placed`: numbers are read to memory of exactly their size.
void read_stream(tessera_arrow_file* file, std::int64_t piece, const std::vector<std::int64_t>& columns,
                 bool placed) {
  constexpr std::int64_t most_placed = 1 << 20;
  const std::int64_t rows_of_piece = plugin().contents(file)->piece_rows[piece];
  std::vector<std::vector<double>> memory(placed && rows_of_piece <= most_placed ? columns.size() : 0);
  std::vector<void*> to;
  for (std::vector<double>& numbers : memory) {
    numbers.resize(static_cast<std::size_t>(rows_of_piece));
    to.push_back(numbers.data());
  }
  tessera_arrow_text why{};
  ArrowOwner<ArrowArrayStream> stream;
  if (plugin().stream(file, piece, piece + 1, columns.data(), std::ssize(columns),
                      to.empty() ? nullptr : to.data(), stream.out(), &why) != 0)
    return require_line(why.text);
  ArrowOwner<ArrowSchema> schema;
  if (stream->get_schema(stream.out(), schema.out()) != 0)
    return require_line(stream->get_last_error(stream.out()));
  require(schema->n_children == std::ssize(columns), "a stream has the columns that were asked for");
  std::int64_t rows = 0;
  while (true) {
    ArrowOwner<ArrowArray> batch;
    if (stream->get_next(stream.out(), batch.out()) != 0)
      return require_line(stream->get_last_error(stream.out()));
    if (!batch) break;
    require(batch->length > 0 && batch->length <= 65'536, "a batch is of bounded length");
    rows += batch->length;
    for (std::int64_t column = 0; column < std::ssize(columns); ++column)
      read_values(*schema, *batch, column);
  }
  require(rows == rows_of_piece, "a piece has its rows");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes{data, size};
  const tessera_arrow_input input{
      .size = static_cast<std::int64_t>(size), .read_at = Bytes::read_at, .context = &bytes};
  tessera_arrow_text why{};
  tessera_arrow_file* file = nullptr;
  if (plugin().open(&input, &file, &why) != 0) {
    require_line(why.text);
    return 0;
  }
  const tessera_arrow_contents& contents = *plugin().contents(file);
  std::vector<std::int64_t> columns(static_cast<std::size_t>(contents.schema->n_children));
  std::iota(columns.begin(), columns.end(), 0);
  for (std::int64_t piece = 0; piece < std::min<std::int64_t>(contents.pieces, 4); ++piece) {
    for (const bool placed : {false, true}) read_stream(file, piece, columns, placed);
    for (std::size_t i = 0; i < std::min<std::size_t>(columns.size(), 20); ++i)
      read_stream(file, piece, {columns[i]}, i % 2 == 0);
  }
  plugin().close(file);
  return 0;
}
