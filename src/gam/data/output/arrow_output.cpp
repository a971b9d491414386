// SPDX-License-Identifier: Apache-2.0
#include "gam/data/output/arrow_output.hpp"

#include "base/at.hpp"
#include "gam/data/arrow/arrow_file.hpp"
#include "gam/data/arrow/arrow_library.hpp"
#include "gam/data/row_pieces.hpp"

#include <tessera/job/together.hpp>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "files/output_file.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

// Release callback of a child structure, whose memory the parent releases.
template <class T>
void release_part(T* part) {
  part->release = nullptr;
}

struct FileColumn {
  std::string name;
  bool factor = false;
  std::vector<std::string> levels{};  ///< levels of a dictionary; empty: levels are written as texts

  [[nodiscard]] std::size_t value_bytes() const { return factor ? sizeof(std::int32_t) : sizeof(double); }
  [[nodiscard]] bool has_dictionary() const { return !levels.empty(); }
};

/// The schema of a file's batches. Refers to the columns.
class FileSchema {
 public:
  explicit FileSchema(const std::vector<FileColumn>& columns) {
    for (const FileColumn& column : columns) {
      ArrowSchema& child = add(column.factor ? (column.has_dictionary() ? "i" : "U") : "g", column.name);
      if (column.has_dictionary()) child.dictionary = &add("U", "");
      children_.push_back(&child);
    }
    root_ = &add("+s", "");
    root_->n_children = std::ssize(children_);
    root_->children = children_.data();
  }
  [[nodiscard]] const ArrowSchema& get() const { return *root_; }

 private:
  ArrowSchema& add(const char* format, const std::string& name) {
    names_.push_back(name);
    return all_.emplace_back(ArrowSchema{.format = format,
                                         .name = names_.back().c_str(),
                                         .metadata = nullptr,
                                         .flags = ARROW_FLAG_NULLABLE,
                                         .n_children = 0,
                                         .children = nullptr,
                                         .dictionary = nullptr,
                                         .release = release_part<ArrowSchema>,
                                         .private_data = nullptr});
  }

  std::deque<std::string> names_;
  std::deque<ArrowSchema> all_;
  std::vector<ArrowSchema*> children_;
  ArrowSchema* root_ = nullptr;
};

/// Owner of a batch's memory until Arrow releases the batch.
class Batch {
 public:
  /// `packed`: the values of all columns, one column after another.
  static ArrowArray of(const std::vector<FileColumn>& columns,
                       const std::vector<std::vector<std::string>>& texts, std::string_view packed,
                       std::size_t rows) {
    auto batch = std::make_unique<Batch>();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::size_t bytes = rows * columns[c].value_bytes();
      batch->children_.push_back(&batch->column_of(columns[c], texts[c], packed.substr(0, bytes), rows));
      packed.remove_prefix(bytes);
    }
    ArrowArray root = batch->array(rows, 0, {nullptr});
    root.n_children = std::ssize(batch->children_);
    root.children = batch->children_.data();
    root.release = [](ArrowArray* whole) {
      whole->release = nullptr;
      delete static_cast<Batch*>(whole->private_data);
    };
    root.private_data = batch.release();
    return root;
  }

 private:
  /// Copies bytes into the batch, which owns the copy.
  void* keep(const void* from, std::size_t bytes) {
    std::vector<std::byte>& kept = buffers_.emplace_back(bytes);
    if (bytes > 0) std::memcpy(kept.data(), from, bytes);
    return kept.data();
  }

  ArrowArray array(std::size_t rows, std::int64_t nulls, std::vector<const void*> buffers) {
    std::vector<const void*>& kept = pointers_.emplace_back(std::move(buffers));
    return {.length = static_cast<std::int64_t>(rows),
            .null_count = nulls,
            .offset = 0,
            .n_buffers = std::ssize(kept),
            .n_children = 0,
            .buffers = kept.data(),
            .children = nullptr,
            .dictionary = nullptr,
            .release = release_part<ArrowArray>,
            .private_data = nullptr};
  }

  /// Validity bitmap; null if no value is missing.
  template <class Missing>
  const void* bits_of(std::size_t rows, std::int64_t& nulls, const Missing& missing) {
    std::vector<std::uint8_t> bits((rows + 7) / 8, 0);
    for (std::size_t i = 0; i < rows; ++i) {
      if (missing(i))
        ++nulls;
      else
        bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] | 1U << i % 8);
    }
    return nulls == 0 ? nullptr : keep(bits.data(), bits.size());
  }

  /// An array of texts with 64-bit offsets.
  template <class TextOf>
  ArrowArray texts(std::size_t rows, std::int64_t nulls, const void* bits, const TextOf& text_of) {
    std::string joined;
    std::vector<std::int64_t> offsets{0};
    for (std::size_t i = 0; i < rows; ++i) {
      joined += text_of(i);
      offsets.push_back(std::ssize(joined));
    }
    const void* const places = keep(offsets.data(), offsets.size() * sizeof offsets[0]);
    return array(rows, nulls, {bits, places, keep(joined.data(), joined.size())});
  }

  ArrowArray& column_of(const FileColumn& column, const std::vector<std::string>& levels,
                        std::string_view packed, std::size_t rows) {
    std::int64_t nulls = 0;
    const void* const values = keep(packed.data(), packed.size());
    if (!column.factor) {
      const auto* const numbers = static_cast<const double*>(values);
      const void* const bits = bits_of(rows, nulls, [&](std::size_t i) { return std::isnan(numbers[i]); });
      return arrays_.emplace_back(array(rows, nulls, {bits, values}));
    }
    const auto* const codes = static_cast<const std::int32_t*>(values);
    const void* const bits = bits_of(rows, nulls, [&](std::size_t i) { return codes[i] < 0; });
    if (!column.has_dictionary())
      return arrays_.emplace_back(texts(rows, nulls, bits, [&](std::size_t i) {
        return codes[i] < 0 ? std::string_view() : std::string_view(levels[at(codes[i])]);
      }));
    ArrowArray& dictionary = arrays_.emplace_back(texts(
        column.levels.size(), 0, nullptr, [&](std::size_t i) { return std::string_view(column.levels[i]); }));
    ArrowArray& out = arrays_.emplace_back(array(rows, nulls, {bits, values}));
    out.dictionary = &dictionary;
    return out;
  }

  std::deque<std::vector<std::byte>> buffers_;
  std::deque<std::vector<const void*>> pointers_;
  std::deque<ArrowArray> arrays_;
  std::vector<ArrowArray*> children_;
};

/// The values of local rows, one column after another.
std::string packed_rows(std::span<const OutputColumn> columns, Range rows) {
  std::string bytes;
  for (const OutputColumn& column : columns) {
    if (column.values.factor) {
      bytes.append(reinterpret_cast<const char*>(column.values.codes.data() + rows.begin),
                   at(rows.size()) * sizeof(std::int32_t));
      continue;
    }
    column.values.numbers.for_each_piece(at(rows.begin), at(rows.end), [&](std::span<const double> numbers) {
      bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
    });
  }
  return bytes;
}

class ArrowOutput final : public TableOutput {
 public:
  ArrowOutput(const mpi::Communicator& comm, const std::string& path, OutputFormat format)
      : comm_(comm), format_(format) {
    together(comm, [&] {
      if (comm.rank() != 0) return;
      file_.emplace(path);
      // Throws here if there is no plugin.
      const ArrowFileWriter trial(type(), path, FileSchema({}).get(), [](std::string_view /*bytes*/) {});
    });
  }

  void add(const OutputRows& rows) override {
    std::vector<std::vector<std::string>> levels;
    for (const OutputColumn& column : rows.columns) levels.push_back(column.values.levels);
    if (rows.first_row == 0) together(comm_, [&] { begin(rows); });
    write_in_row_order(
        comm_, rows.plan, rows_per_batch, [&](Range some) { return packed_rows(rows.columns, some); },
        [&](std::string_view packed) {
          std::size_t bytes_of_row = 0;
          for (const FileColumn& column : columns_) bytes_of_row += column.value_bytes();
          if (bytes_of_row == 0) return;
          ArrowArray batch = Batch::of(columns_, levels, packed, packed.size() / bytes_of_row);
          writer_->append(batch);
        });
  }

  std::string commit() override {
    std::string problem;
    together(comm_, [&] {
      if (!file_) return;
      if (writer_) writer_->finish();
      problem = file_->commit();
    });
    return problem;
  }

 private:
  static constexpr std::int64_t rows_per_batch = std::int64_t{1} << 16;

  [[nodiscard]] tessera_arrow_format type() const {
    return format_ == OutputFormat::parquet ? TESSERA_ARROW_PARQUET : TESSERA_ARROW_FEATHER;
  }

  void begin(const OutputRows& rows) {
    if (!file_) return;
    for (const OutputColumn& column : rows.columns)
      columns_.push_back({column.name, column.values.factor,
                          column.has_constant_levels ? column.values.levels : std::vector<std::string>()});
    const FileSchema schema(columns_);
    writer_.emplace(type(), file_->path(), schema.get(),
                    [this](std::string_view bytes) { file_->write(bytes); });
  }

  const mpi::Communicator& comm_;
  OutputFormat format_;
  std::optional<files::OutputFile> file_;  // only on rank 0, like the members below
  std::vector<FileColumn> columns_;
  std::optional<ArrowFileWriter> writer_;
};

}  // namespace

std::unique_ptr<TableOutput> make_arrow_output(const mpi::Communicator& comm, const std::string& path,
                                               OutputFormat format) {
  return std::make_unique<ArrowOutput>(comm, path, format);
}

bool has_arrow_output() {
  return ArrowLibrary::opened().plugin != nullptr;
}

}  // namespace TESSERA_NAMESPACE::gam
