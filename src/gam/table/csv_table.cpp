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
#include <tuple>
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

/// *Collective.* Gives every rank the points of a packed file that rank 0 has.
void share_points(const mpi::Communicator& comm, PackedSource& source) {
  const std::string points = comm.broadcast_text(comm.rank() == 0 ? source.points() : std::string(), 0);
  if (comm.rank() != 0) source.set_points(points);
}

/// *Collective.* Counts the rows. `packed` is the source if it is packed, else null.
Outline read_outline(const Workers& workers, ByteSource& source, PackedSource* packed,
                     const std::string& path, const CsvOptions& options) {
  const mpi::Communicator& comm = workers.comm;
  constexpr std::int64_t unknown = -1;
  CsvHeader header;
  std::int64_t size = unknown;
  std::int64_t file_bytes = 0;
  together(comm, [&] {
    if (comm.rank() != 0) return;
    header = read_csv_header(source, path, options.buffer_bytes);
    file_bytes = source.file().size();
    size = packed != nullptr ? packed->find_size().value_or(unknown) : file_bytes;
  });
  header.columns = unpack(comm.broadcast_text(pack(header.columns), 0));
  std::array<std::int64_t, 4> offsets{header.data_offset, header.data_line, size, file_bytes};
  comm.broadcast(std::span<std::int64_t>(offsets), 0);
  std::int64_t data = 0;
  CsvPart part;
  std::tie(data, part.first_line, size, file_bytes) = std::tuple_cat(offsets);
  const bool in_order = size == unknown;
  if (packed != nullptr && !in_order) share_points(comm, *packed);

  // About 65,000 landmarks over all ranks at most, and no more than some steps of reading between two; of a
  // packed file enough that what is unpacked before the first row counts for little.
  const std::int64_t least = std::int64_t{1} << (packed != nullptr && !in_order ? 20 : 18);
  const std::int64_t spacing = options.landmark_bytes > 0
                                   ? options.landmark_bytes
                                   : std::max(least, std::max(size, file_bytes) / (std::int64_t{1} << 16));
  if (in_order) {
    part.begin = data;
    part.end = comm.rank() == 0 ? std::numeric_limits<std::int64_t>::max() : data;
  } else {
    const std::int64_t bytes = std::max<std::int64_t>(0, size - data);
    const Plan parts = Plan::over_hosts(bytes, comm.size());
    const Range mine = parts.range_of(comm.rank());
    part.begin = data + mine.begin;
    part.end = data + mine.end;
  }
  CsvIndex index = index_csv(workers, source, part, options.buffer_bytes, spacing, options.between);
  if (index.rows == 0)
    throw Error(ErrorCode::input, fmt::format("{}: there is a header, but no row of data", path));
  if (in_order) share_points(comm, *packed);
  return {std::move(header.columns), std::move(index)};
}

}  // namespace

std::unique_ptr<TableReader> open_csv(const Workers& workers, const std::string& path,
                                      const CsvOptions& options) {
  const mpi::Communicator& comm = workers.comm;
  std::unique_ptr<ByteSource> source;
  PackedSource* packed = nullptr;
  together(comm, [&] {
    if (options.gzip) {
      auto opened = open_gzip(path, options.between, options.point_bytes);
      packed = opened.get();
      source = std::move(opened);
    } else {
      source = open_plain(path, options.between);
    }
  });
  const SharedTable shared(comm, source->file(), options.between);
  Outline outline = shared.read(comm, [&] { return read_outline(workers, *source, packed, path, options); });
  return std::make_unique<CsvTable>(path, options, std::move(source), shared, std::move(outline.columns),
                                    std::move(outline.index));
}

}  // namespace tessera::gam
