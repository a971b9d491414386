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

  [[nodiscard]] std::string name() const override { return path_; }
  [[nodiscard]] std::unique_ptr<RowScan> scan(const ReadPlan& /*plan*/, int /*threads*/) override {
    return std::make_unique<Scan>(*bytes_, path_);
  }

  static constexpr std::string_view signature = "DOUBLES\n";

 private:
  static constexpr std::int64_t header = 8;
  static constexpr std::int64_t row_bytes = 16;

  class Scan final : public RowScan {
   public:
    Scan(ByteSource& bytes, const std::string& path) : bytes_(bytes), path_(path) {}

    [[nodiscard]] std::vector<Range> runs(Range rows) override { return {rows}; }
    [[nodiscard]] bool in_order() const override { return true; }
    void prepare(std::span<const Range> /*runs*/) override {}
    void read(int /*thread*/, Range run, FramePart& part) override {
      bytes_.seek(header + run.begin * row_bytes);
      for (std::int64_t row = run.begin; row < run.end; ++row) {
        std::array<char, row_bytes> raw{};
        std::array<double, 2> numbers{};
        if (bytes_.read(raw) != raw.size()) throw Error(ErrorCode::input, path_ + ": ends within a row");
        std::memcpy(numbers.data(), raw.data(), raw.size());
        for (std::size_t i = 0; i < part.plan().columns().size(); ++i)
          part.set_number(i, numbers[static_cast<std::size_t>(part.plan().columns()[i].position)]);
        part.end_row(row + 1);
      }
    }

   private:
    ByteSource& bytes_;
    const std::string& path_;
  };

  std::string path_;
  std::unique_ptr<ByteSource> bytes_;
  std::optional<SharedTable> shared_;
};

struct DoublesFormat {
  static bool recognises(const files::InputFile& file) {
    return has_signature(file, 0, DoublesTable::signature);
  }
  static std::unique_ptr<TableReader> open(const Workers& workers, const std::string& path,
                                           const OpenOptions& options) {
    return std::make_unique<DoublesTable>(workers, path, options.between);
  }
};

}  // namespace TESSERA_NAMESPACE::gam
