// SPDX-License-Identifier: Apache-2.0
#include "gam/data/arrow/arrow_file.hpp"

#include "base/cancellation.hpp"
#include "base/errors.hpp"
#include "files/input_file.hpp"
#include "gam/data/arrow/arrow_library.hpp"

#include <tessera/printable.hpp>

#include <atomic>
#include <exception>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// The exception of a callback on this thread: no exception can pass through the plugin's C interface.
thread_local std::exception_ptr thrown_in_callback;

/// Returns the result of `work`; if `work` throws, returns `failed`, and `finish_call` rethrows later.
template <class Result, class Work>
Result without_throwing(Result failed, const Work& work) noexcept {
  try {
    return work();
  } catch (...) {
    thrown_in_callback = std::current_exception();
    return failed;
  }
}

/// Rethrows a callback's exception; else throws `Error(input)` if the plugin's function did not return 0.
template <class Why>
void finish_call(int result, const Why& why) {
  if (const std::exception_ptr thrown = std::exchange(thrown_in_callback, nullptr); result != 0 && thrown)
    std::rethrow_exception(thrown);
  if (result != 0) throw base::input_error("{}", why());
}

std::string_view name_of(tessera_arrow_format format) {
  return format == TESSERA_ARROW_PARQUET ? "Parquet" : "Feather";
}

const tessera_arrow_plugin& plugin_for(const std::string& path, std::string_view format) {
  const ArrowLibrary& library = ArrowLibrary::opened();
  if (library.plugin == nullptr) throw base::input_error("{}: is {}, and {}", path, format, library.advice());
  return *library.plugin;
}

}  // namespace

std::string_view arrow_format(std::string_view beginning) {
  // A CSV header may begin with PAR1 or PARE too, but then text follows, not a control character.
  if (beginning.size() > 4 && (static_cast<unsigned char>(beginning[4]) < ' ' || beginning[4] == '\x7F') &&
      std::string_view("\t\r\n").find(beginning[4]) == std::string_view::npos &&
      (beginning.starts_with("PAR1") || beginning.starts_with("PARE")))
    return "Parquet";
  return beginning.starts_with(std::string_view("ARROW1\0", 7)) ? "Feather" : "";
}

struct ArrowFile::Inside {
  Inside(const files::InputFile& from, const BetweenReads& between_reads)
      : bytes(from), between(&between_reads) {
    char beginning[8] = {};
    const std::string_view read(beginning, bytes.read_at(0, beginning));
    const std::string_view format = arrow_format(read);
    if (format.empty())
      throw base::input_error("{}: is neither Parquet nor Feather: write it again as one of these, or as CSV",
                              bytes.path());
    plugin = &plugin_for(bytes.path(), format);
    const tessera_arrow_input input{.size = bytes.size(), .read_at = read_at, .context = this};
    tessera_arrow_text why{};
    finish_call(plugin->open(&input, &file, &why), [&] {
      return fmt::format("{}: cannot be read as {}: {}", bytes.path(), format, printable(why.text));
    });
    contents = plugin->contents(file);
    between = nullptr;
  }
  ~Inside() {
    if (file != nullptr) plugin->close(file);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  static std::int64_t read_at(void* context, std::int64_t offset, std::int64_t count, void* to) noexcept {
    auto& self = *static_cast<Inside*>(context);
    return without_throwing(std::int64_t{-1}, [&] {
      if (self.between == nullptr)
        base::check_cancelled();
      else if (*self.between)
        (*self.between)();
      const auto got = static_cast<std::int64_t>(
          self.bytes.read_at(offset, {static_cast<char*>(to), static_cast<std::size_t>(count)}));
      self.bytes_read += got;
      return got;
    });
  }

  const files::InputFile& bytes;
  const BetweenReads* between;  ///< null after opening
  std::atomic<std::int64_t> bytes_read = 0;
  const tessera_arrow_plugin* plugin = nullptr;
  tessera_arrow_file* file = nullptr;
  const tessera_arrow_contents* contents = nullptr;
};

ArrowFile::ArrowFile(const files::InputFile& bytes, const BetweenReads& between)
    : inside_(std::make_shared<Inside>(bytes, between)) {}

const tessera_arrow_contents& ArrowFile::contents() const noexcept {
  return *inside_->contents;
}
std::int64_t ArrowFile::bytes_read() const noexcept {
  return inside_->bytes_read;
}
std::int64_t ArrowFile::inexact_decimals(std::int64_t column) const noexcept {
  return inside_->plugin->inexact_decimals(inside_->file, column);
}

ArrowFile::Stream ArrowFile::stream(Range pieces, std::span<const std::int64_t> columns,
                                    std::span<void* const> to) const {
  return {inside_, pieces, columns, to};
}

ArrowFile::Stream::Stream(std::shared_ptr<Inside> file, Range pieces, std::span<const std::int64_t> columns,
                          std::span<void* const> to)
    : file_(std::move(file)) {
  tessera_arrow_text why{};
  const std::string& path = file_->bytes.path();
  finish_call(
      file_->plugin->stream(file_->file, pieces.begin, pieces.end, columns.data(), std::ssize(columns),
                            to.empty() ? nullptr : to.data(), stream_.out(), &why),
      [&] { return fmt::format("{}: {}", path, printable(why.text)); });
  finish_call(stream_->get_schema(stream_.out(), schema_.out()), [&] { return error(); });
}

bool ArrowFile::Stream::next(ArrowOwner<ArrowArray>& batch) {
  batch = {};
  finish_call(stream_->get_next(stream_.out(), batch.out()), [&] { return error(); });
  return static_cast<bool>(batch);
}

std::string ArrowFile::Stream::error() {
  const char* const text = stream_->get_last_error(stream_.out());
  std::string_view why = text == nullptr ? "cannot be read" : text;
  constexpr std::string_view kind = "Invalid: ";  // Arrow's messages begin with the kind of the failure
  if (why.starts_with(kind)) why.remove_prefix(kind.size());
  return fmt::format("{}: {}", file_->bytes.path(), printable(why));
}

struct ArrowFileWriter::Inside {
  std::string name;
  std::function<void(std::string_view bytes)> write;
  const tessera_arrow_plugin& plugin;
  tessera_arrow_writer* writer = nullptr;

  static int write_bytes(void* context, const void* bytes, std::int64_t count) noexcept {
    return without_throwing(1, [&] {
      static_cast<Inside*>(context)->write(
          {static_cast<const char*>(bytes), static_cast<std::size_t>(count)});
      return 0;
    });
  }
  void finish(int result, const tessera_arrow_text& why) const {
    finish_call(result, [&] { return fmt::format("{}: cannot be written: {}", name, printable(why.text)); });
  }
};

ArrowFileWriter::ArrowFileWriter(tessera_arrow_format format, std::string name, const ArrowSchema& schema,
                                 std::function<void(std::string_view bytes)> write) {
  const tessera_arrow_plugin& plugin = plugin_for(name, name_of(format));
  inside_ = std::make_unique<Inside>(Inside{std::move(name), std::move(write), plugin});
  const tessera_arrow_output output{.write = Inside::write_bytes, .context = inside_.get()};
  tessera_arrow_text why{};
  inside_->finish(plugin.begin(&output, format, &schema, &inside_->writer, &why), why);
}

ArrowFileWriter::~ArrowFileWriter() {
  inside_->plugin.discard(inside_->writer);
}

void ArrowFileWriter::append(ArrowArray& batch) {
  tessera_arrow_text why{};
  inside_->finish(inside_->plugin.append(inside_->writer, &batch, &why), why);
}

void ArrowFileWriter::finish() {
  tessera_arrow_text why{};
  inside_->finish(inside_->plugin.finish(inside_->writer, &why), why);
}

}  // namespace TESSERA_NAMESPACE::gam
