// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame_builder.hpp"
#include "gam/data/source/shared_input.hpp"
#include "gam/data/source/table_format.hpp"

#include <tessera/job/together.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {

/// A table of two columns, x and y: "DOUBLES
/// ", then the numbers of each row in the memory's format.
class DoublesTable final : public TableReader {
 public:
  DoublesTable(const Workers& workers, const std::string& path, const BetweenReads& between) : path_(path) {
    const mpi::Communicator& comm = workers.comm;
    together(comm, [&] { bytes_ = open_plain(path, between); });
    shared_.emplace(comm, bytes_->file(), between);
  }

  [[nodiscard]] std::int64_t rows() const override { return (bytes_->file().size() - header) / row_bytes; }
  [[nodiscard]] std::vector<std::string> columns() const override { return {"x", "y"}; }
  [[nodiscard]] files::FileState opened() const override { return shared_->opened(); }
  [[nodiscard]] std::int64_t bytes_read() const override { return bytes_->bytes_read(); }

  [[nodiscard]] Frame read(const Workers& workers, const FrameRequest& request, Range rows) override {
    return shared_->read(workers.comm, [&] {
      return read_frame(workers, ReadPlan(request, columns(), path_), rows, this->rows(), "row",
                        [this](Range part, FrameBuilder& builder) { scan(part, builder); });
    });
  }

  static constexpr std::string_view signature = "DOUBLES\n";

 private:
  static constexpr std::int64_t header = 8;
  static constexpr std::int64_t row_bytes = 16;

  void scan(Range rows, FrameBuilder& builder) {
    bytes_->seek(header + rows.begin * row_bytes);
    builder.read(rows, [&](FramePart& part) {
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        std::array<char, row_bytes> raw{};
        std::array<double, 2> numbers{};
        if (bytes_->read(raw) != raw.size()) throw Error(ErrorCode::input, path_ + ": ends within a row");
        std::memcpy(numbers.data(), raw.data(), raw.size());
        for (std::size_t i = 0; i < part.plan().columns().size(); ++i)
          part.set_number(i, numbers[static_cast<std::size_t>(part.plan().columns()[i].position)]);
        part.end_row(row + 1);
      }
    });
  }

  std::string path_;
  std::unique_ptr<ByteSource> bytes_;
  std::optional<SharedTable> shared_;
};

struct DoublesFormat {
  static bool recognises(ByteSource& bytes) { return has_signature(bytes, 0, DoublesTable::signature); }
  static std::unique_ptr<TableReader> open(const Workers& workers, const std::string& path,
                                           const OpenOptions& options) {
    return std::make_unique<DoublesTable>(workers, path, options.between);
  }
};

}  // namespace TESSERA_NAMESPACE::gam
