// SPDX-License-Identifier: Apache-2.0
#include "gam/data/csv/csv_table.hpp"

#include "base/errors.hpp"
#include "base/message.hpp"

#include "files/input_file.hpp"
#include "gam/data/bytes/kept_source.hpp"
#include "gam/data/csv/csv_index.hpp"
#include "gam/data/csv/csv_scan.hpp"
#include "gam/data/source/shared_input.hpp"

#include <tessera/job/together.hpp>
#include <tessera/topology/memory_shortage.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// A text stays in memory if it takes at most this fraction (1/n) of free memory; the rest is for the
/// columns, and for computations with them.
constexpr std::int64_t parts_of_memory = 4;

/// The source of a table's bytes.
struct CsvBytes {
  std::unique_ptr<ByteSource> source;
  KeptSource* packed = nullptr;  ///< the same source if it is packed; else null
};

class CsvTable final : public TableReader {
 public:
  CsvTable(std::string path, CsvOptions options, CsvBytes bytes, SharedTable shared, CsvHeader header,
           CsvIndex index)
      : path_(std::move(path)),
        options_(std::move(options)),
        bytes_(std::move(bytes)),
        shared_(shared),
        header_(std::move(header)),
        index_(std::move(index)) {}

  [[nodiscard]] std::int64_t rows() const override { return index_.rows; }
  [[nodiscard]] std::vector<std::string> columns() const override { return header_.columns; }
  [[nodiscard]] files::FileState opened() const override { return shared_.opened(); }
  [[nodiscard]] std::int64_t bytes_read() const override { return bytes_.source->bytes_read(); }
  [[nodiscard]] std::int64_t kept_bytes() const override {
    return bytes_.packed == nullptr ? 0 : bytes_.packed->kept_bytes();
  }
  void let_go_of_kept() override {
    if (bytes_.packed != nullptr) bytes_.packed->let_go();
  }

  [[nodiscard]] std::string name() const override { return path_; }
  [[nodiscard]] std::string_view row_word() const override { return "line"; }
  [[nodiscard]] std::unique_ptr<RowScan> scan(const ReadPlan& plan, int threads) override {
    return scan_csv({.source = *bytes_.source,
                     .path = path_,
                     .columns = header_.columns,
                     .dialect = header_.dialect,
                     .index = index_,
                     .buffer_bytes = options_.buffer_bytes,
                     .between = options_.open.between},
                    plan, threads);
  }
  [[nodiscard]] Frame read_unchanged(const mpi::Communicator& comm,
                                     const std::function<Frame()>& work) const override {
    return shared_.read(comm, work);
  }

 private:
  void describe(ReadPlan& plan) const override {
    plan.set_quotes(header_.quotes);
    if (header_.dialect.decimal == ',') plan.set_decimal_commas();
  }

  std::string path_;
  CsvOptions options_;
  CsvBytes bytes_;
  SharedTable shared_;  // refers to the file of the source
  CsvHeader header_;
  CsvIndex index_;
};

/// Properties of an open table.
struct Outline {
  CsvHeader header;
  CsvIndex index;
};

/// The unpacked size of a packed file, if it can be found without every rank reading the file to its end.
std::optional<std::int64_t> find_size(KeptSource& source, int ranks, std::optional<std::int64_t> node_bytes) {
  const std::vector<GzipMember>& members = source.packed().find_members();
  if (!members.empty()) return members.back().unpacked;
  if (ranks > 1) return std::nullopt;  // other ranks could not use the bytes stored here
  std::int64_t memory = files::memory_left();
  if (node_bytes) memory = std::min(memory, *node_bytes);
  return source.keep_all(std::min(memory / parts_of_memory, source.packed().most_bytes()));
}

/// *Collective.* Broadcasts the members of a packed file from rank 0.
void share_members(const mpi::Communicator& comm, PackedSource& source) {
  std::vector<GzipMember> members;
  if (comm.rank() == 0) members = source.find_members();
  base::broadcast_values(comm, 0, members);
  source.set_members(std::move(members));
}

/// *Collective.* Makes each rank store the bytes that it will read, unless it has them or memory is short;
/// returns whether it does.
bool begin_keeping(const mpi::Communicator& comm, KeptSource& source, Range bytes,
                   std::optional<std::int64_t> node_bytes) {
  const std::int64_t needed = parts_of_memory * bytes.size();
  if (source.keeps_all() || find_memory_shortage(comm, needed)) return false;
  if (node_bytes && share_memory(comm, needed, node_bytes).shortage) return false;
  source.begin_keeping(bytes);
  return true;
}

/// *Collective.* Counts the rows.
Outline read_outline(const Workers& workers, const CsvBytes& bytes, const std::string& path,
                     const CsvOptions& options) {
  const mpi::Communicator& comm = workers.comm;
  ByteSource& source = *bytes.source;
  KeptSource* const packed = bytes.packed;
  constexpr std::int64_t unknown = -1;
  CsvHeader header;
  std::int64_t size = unknown;
  std::int64_t file_bytes = 0;
  together(comm, [&] {
    if (comm.rank() != 0) return;
    header = read_csv_header(source, path, options.buffer_bytes, options.open.table);
    if (options.open.tell && !header.dialect_words.empty())
      options.open.tell(fmt::format("{}: {}", path, header.dialect_words));
    file_bytes = source.file().size();
    size = packed != nullptr ? find_size(*packed, comm.size(), options.open.node_bytes).value_or(unknown)
                             : file_bytes;
  });
  base::broadcast_values(comm, 0, header.columns, header.quotes, header.data_offset, header.data_line,
                         header.dialect, size, file_bytes);
  const std::int64_t data = header.data_offset;
  CsvPart part;
  part.first_line = header.data_line;
  const bool in_order = packed != nullptr && size == unknown;
  const bool has_comments = header.dialect.comment != '\0';
  if (packed != nullptr && !in_order) share_members(comm, packed->packed());

  // At most about 65,000 landmarks over all ranks, at least a buffer apart; in a packed file far enough
  // apart that unpacking up to the first row is negligible.
  const std::int64_t least = std::int64_t{1} << (packed != nullptr && !in_order ? 20 : 18);
  const std::int64_t spacing = options.landmark_bytes > 0
                                   ? options.landmark_bytes
                                   : std::max(least, std::max(size, file_bytes) / (std::int64_t{1} << 16));
  if (in_order || has_comments) {
    part.begin = data;
    part.end = comm.rank() == 0 ? std::numeric_limits<std::int64_t>::max() : data;
  } else {
    const Plan parts = Plan::over_hosts(std::max<std::int64_t>(0, size - data), comm.size());
    const Range mine = parts.range_of(comm.rank());
    part.begin = data + mine.begin;
    part.end = data + mine.end;
  }
  const bool kept = packed != nullptr && !in_order && !has_comments &&
                    begin_keeping(comm, *packed, {part.begin, part.end}, options.open.node_bytes);
  CsvIndex index =
      has_comments ? index_in_order(comm, source, path, part, options.buffer_bytes, spacing, header.dialect)
                   : index_csv(workers, source, part, options.buffer_bytes, spacing, header.dialect,
                               options.open.between);
  if (kept) packed->end_keeping();
  if (index.rows == 0)
    throw base::input_error("{}: has a header, but no data row: give a table with rows", path);
  return {std::move(header), std::move(index)};
}

}  // namespace

std::unique_ptr<TableReader> open_csv(const Workers& workers, const std::string& path,
                                      const CsvOptions& options) {
  const mpi::Communicator& comm = workers.comm;
  CsvBytes bytes;
  together(comm, [&] {
    bytes.source = open_plain(path, options.open.between);
    const Packing* const packing = packing_of(bytes.source->file());
    if (packing == nullptr) return;
    auto packed = std::make_unique<KeptSource>(path, *packing, options.open);
    bytes.packed = packed.get();
    bytes.source = std::move(packed);
  });
  const SharedTable shared(comm, bytes.source->file(), options.open.between);
  Outline outline = shared.read(comm, [&] { return read_outline(workers, bytes, path, options); });
  return std::make_unique<CsvTable>(path, options, std::move(bytes), shared, std::move(outline.header),
                                    std::move(outline.index));
}

}  // namespace TESSERA_NAMESPACE::gam
