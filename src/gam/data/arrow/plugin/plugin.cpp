// SPDX-License-Identifier: Apache-2.0
#include "gam/data/arrow/plugin/arrow_plugin.h"

#include "gam/data/arrow/plugin/file.hpp"
#include "gam/data/arrow/plugin/writer.hpp"

#include <arrow/config.h>
#include <arrow/util/config.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace {

using tessera::arrow_plugin::File;
using tessera::arrow_plugin::guarded;
using tessera::arrow_plugin::Input;
using tessera::arrow_plugin::Writer;

/// A text that the engine finds in the plugin's file before opening it: the library that the dynamic loader
/// will need, and its folder.
__attribute__((used)) constexpr char needs[] =
    TESSERA_ARROW_PLUGIN_NEEDS "libarrow.so." ARROW_SO_VERSION "\n" TESSERA_ARROW_LIBRARY_DIR;

int answer(const arrow::Status& status, tessera_arrow_text* why) noexcept {
  if (status.ok()) return 0;
  why->text[0] = '\0';
  static_cast<void>(guarded([&] {
    const std::string line = tessera::arrow_plugin::line_of(status);
    std::size_t size = std::min(line.size(), sizeof why->text - 1);
    // Do not cut within a UTF-8 character: continuation bytes are 10xxxxxx.
    while (size < line.size() && size > 0 && (line[size] & 0xc0) == 0x80) --size;
    std::memcpy(why->text, line.data(), size);
    why->text[size] = '\0';
    return arrow::Status::OK();
  }));
  return 1;
}

}  // namespace

struct tessera_arrow_file {
  std::shared_ptr<File> file;
};
struct tessera_arrow_writer {
  std::unique_ptr<Writer> writer;
};

namespace {

arrow::Result<std::shared_ptr<File>> open_file(const tessera_arrow_input& from) {
  auto input = std::make_shared<Input>(from);
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Buffer> first, input->ReadAt(0, 8));
  const std::string_view magic(reinterpret_cast<const char*>(first->data()),
                               static_cast<std::size_t>(first->size()));
  if (magic.starts_with("PAR1")) return tessera::arrow_plugin::open_parquet(std::move(input));
  if (magic.starts_with("ARROW1")) return tessera::arrow_plugin::open_feather(std::move(input));
  if (magic.starts_with("PARE"))
    return arrow::Status::Invalid("it is encrypted: write it again without encryption");
  return arrow::Status::Invalid("it is neither Parquet nor Feather");
}

int open(const tessera_arrow_input* input, tessera_arrow_file** file, tessera_arrow_text* why) noexcept {
  return answer(guarded([&]() -> arrow::Status {
                  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<File> opened, open_file(*input));
                  *file = new tessera_arrow_file{std::move(opened)};
                  return arrow::Status::OK();
                }),
                why);
}

void close(tessera_arrow_file* file) noexcept {
  delete file;
}

const tessera_arrow_contents* contents(const tessera_arrow_file* file) noexcept {
  return &file->file->contents();
}

int stream(tessera_arrow_file* file, std::int64_t first, std::int64_t end, const std::int64_t* columns,
           std::int64_t count, void* const* to, ArrowArrayStream* out, tessera_arrow_text* why) noexcept {
  const auto columns_end = static_cast<std::size_t>(count);
  return answer(guarded([&] {
                  return tessera::arrow_plugin::open_stream(file->file, first, end, {columns, columns_end},
                                                            {to, to == nullptr ? 0 : columns_end}, *out);
                }),
                why);
}

std::int64_t inexact_decimals(const tessera_arrow_file* file, std::int64_t column) noexcept {
  return column < 0 || column >= file->file->schema().num_fields()
             ? 0
             : file->file->inexact(static_cast<int>(column)).load();
}

int begin(const tessera_arrow_output* output, tessera_arrow_format format, const ArrowSchema* schema,
          tessera_arrow_writer** writer, tessera_arrow_text* why) noexcept {
  return answer(guarded([&]() -> arrow::Status {
                  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<Writer> begun,
                                        Writer::begin(*output, format, *schema));
                  *writer = new tessera_arrow_writer{std::move(begun)};
                  return arrow::Status::OK();
                }),
                why);
}

int append(tessera_arrow_writer* writer, ArrowArray* batch, tessera_arrow_text* why) noexcept {
  const arrow::Status status = guarded([&] { return writer->writer->append(*batch); });
  if (batch->release != nullptr) batch->release(batch);
  return answer(status, why);
}

int finish(tessera_arrow_writer* writer, tessera_arrow_text* why) noexcept {
  return answer(guarded([&] { return writer->writer->finish(); }), why);
}

void discard(tessera_arrow_writer* writer) noexcept {
  delete writer;
}

constexpr tessera_arrow_plugin functions = {.version = TESSERA_ARROW_PLUGIN_VERSION,
                                            .arrow_version = ARROW_VERSION_STRING,
                                            .open = open,
                                            .close = close,
                                            .contents = contents,
                                            .stream = stream,
                                            .inexact_decimals = inexact_decimals,
                                            .begin = begin,
                                            .append = append,
                                            .finish = finish,
                                            .discard = discard};

}  // namespace

const tessera_arrow_plugin* tessera_arrow_functions(std::int32_t version) {
  const bool fits = version == TESSERA_ARROW_PLUGIN_VERSION &&
                    arrow::GetBuildInfo().version_string == std::string_view(ARROW_VERSION_STRING);
  return fits ? &functions : nullptr;
}
