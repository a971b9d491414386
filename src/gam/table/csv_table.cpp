// SPDX-License-Identifier: Apache-2.0
#include "gam/table/csv_table.hpp"

#include "gam/table/byte_source.hpp"
#include "gam/table/csv_index.hpp"
#include "gam/table/csv_scan.hpp"
#include "gam/table/frame_builder.hpp"
#include "gam/table/shared_input.hpp"
#include "gam/table/table_reader.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace tessera::gam {
namespace {

class CsvTable final : public TableReader {
 public:
  CsvTable(std::string path, CsvOptions options, std::unique_ptr<ByteSource> source, SharedTable shared,
           std::vector<std::string> columns, CsvIndex index)
      : path_(std::move(path)),
        options_(std::move(options)),
        source_(std::move(source)),
        shared_(shared),
        columns_(std::move(columns)),
        index_(std::move(index)) {}

  [[nodiscard]] std::int64_t rows() const override { return index_.rows; }
  [[nodiscard]] std::vector<std::string> columns() const override { return columns_; }
  [[nodiscard]] files::FileState opened() const override { return shared_.opened(); }
  [[nodiscard]] std::int64_t bytes_read() const override { return source_->bytes_read(); }

  [[nodiscard]] Frame read(const Workers& workers, const FrameRequest& request, Range rows) override {
    return shared_.read(workers.comm, [&] {
      return read_frame(workers, ReadPlan(request, columns_, path_), rows, index_.rows, "line",
                        [this](Range part, FrameBuilder& builder) {
                          scan_csv({.source = *source_,
                                    .path = path_,
                                    .columns = columns_.size(),
                                    .index = index_,
                                    .buffer_bytes = options_.buffer_bytes,
                                    .between = options_.between},
                                   part, builder);
                        });
    });
  }

 private:
  std::string path_;
  CsvOptions options_;
  std::unique_ptr<ByteSource> source_;
  SharedTable shared_;  // refers to the file of the source
  std::vector<std::string> columns_;
  CsvIndex index_;
};

/// What a table is known by once it is open.
struct Outline {
  std::vector<std::string> columns;
  CsvIndex index;
};

/// *Collective.* Counts the rows.
Outline read_outline(const Workers& workers, ByteSource& source, const std::string& path,
                     const CsvOptions& options) {
  const mpi::Communicator& comm = workers.comm;
  CsvHeader header;
  std::int64_t size = 0;
  together(comm, [&] {
    if (comm.rank() != 0) return;
    header = read_csv_header(source, path, options.buffer_bytes);
    if (!options.gzip) size = source.file().size();
  });
  header.columns = unpack(comm.broadcast_text(pack(header.columns), 0));
  std::array<std::int64_t, 3> offsets{header.data_offset, header.data_line, size};
  comm.broadcast(std::span<std::int64_t>(offsets), 0);
  const auto [data, line, file_bytes] = offsets;

  // About 65,000 landmarks over all ranks at most, and no more than a step of reading between two.
  const std::int64_t spacing = options.landmark_bytes > 0
                                   ? options.landmark_bytes
                                   : std::max(std::int64_t{1} << 18, file_bytes / (std::int64_t{1} << 16));
  CsvPart part;
  part.first_line = line;
  if (options.gzip) {
    part.begin = data;
    part.end = comm.rank() == 0 ? std::numeric_limits<std::int64_t>::max() : data;
  } else {
    const std::int64_t bytes = std::max<std::int64_t>(0, file_bytes - data);
    const Plan parts = Plan::over_hosts(bytes, comm.size());
    const Range mine = parts.range_of(comm.rank());
    part.begin = data + mine.begin;
    part.end = data + mine.end;
  }
  CsvIndex index = index_csv(workers, source, part, options.buffer_bytes, spacing, options.between);
  if (index.rows == 0)
    throw Error(ErrorCode::input, fmt::format("{}: there is a header, but no row of data", path));
  return {std::move(header.columns), std::move(index)};
}

}  // namespace

std::unique_ptr<TableReader> open_csv(const Workers& workers, const std::string& path,
                                      const CsvOptions& options) {
  const mpi::Communicator& comm = workers.comm;
  std::unique_ptr<ByteSource> source;
  together(comm, [&] {
    source = options.gzip ? open_gzip(path, options.between) : open_plain(path, options.between);
  });
  const SharedTable shared(comm, source->file(), options.between);
  Outline outline = shared.read(comm, [&] { return read_outline(workers, *source, path, options); });
  return std::make_unique<CsvTable>(path, options, std::move(source), shared, std::move(outline.columns),
                                    std::move(outline.index));
}

}  // namespace tessera::gam
