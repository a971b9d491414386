// SPDX-License-Identifier: Apache-2.0
#include "gam/data/csv/csv_table.hpp"

#include "base/errors.hpp"
#include "base/message.hpp"

#include "files/input_file.hpp"
#include "gam/data/bytes/kept_source.hpp"
#include "gam/data/csv/csv_columns.hpp"
#include "gam/data/csv/csv_index.hpp"
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

/// Decompressed text is cached if it takes at most this fraction (1/n) of free memory.
constexpr std::int64_t parts_of_memory = 4;

class CsvTable final : public TableReader {
 public:
  /// *Collective.* Counts the rows.
  CsvTable(const Workers& workers, const std::string& path, const CsvOptions& options)
      : path_(path), options_(options) {
    together(workers.comm, [&] {
      source_ = open_plain(path, options.open.between);
      const Packing* const packing = packing_of(source_->file());
      if (packing == nullptr) return;
      auto packed = std::make_unique<KeptSource>(path, *packing, options.open);
      packed_ = packed.get();
      source_ = std::move(packed);
    });
    shared_.emplace(workers.comm, source_->file(), options.open.between);
    index_ = shared_->read(workers.comm, [&] { return count_rows(workers); });
  }

  [[nodiscard]] std::int64_t rows() const override { return index_.rows; }
  [[nodiscard]] std::vector<std::string> columns() const override { return header_.columns; }
  [[nodiscard]] files::FileState opened() const override { return shared_->opened(); }
  [[nodiscard]] std::int64_t bytes_read() const override { return source_->bytes_read(); }
  [[nodiscard]] std::int64_t kept_bytes() const override {
    return packed_ == nullptr ? 0 : packed_->kept_bytes();
  }
  void let_go_of_kept() override {
    if (packed_ != nullptr) packed_->evict();
  }

  [[nodiscard]] std::string name() const override { return path_; }
  [[nodiscard]] std::string_view row_word() const override { return "line"; }
  [[nodiscard]] std::unique_ptr<RowScan> scan(const ReadPlan& plan, int threads) override {
    return scan_csv({.source = *source_,
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
    return shared_->read(comm, work);
  }

 private:
  void describe(ReadPlan& plan) const override { plan.set_quotes(header_.quotes); }

  /// The decompressed size, if it is known without reading the file on every rank.
  std::optional<std::int64_t> find_size(int ranks) {
    if (packed_ == nullptr) return source_->file().size();
    const std::vector<GzipMember>& members = packed_->packed().find_members();
    if (!members.empty()) return members.back().unpacked;
    if (ranks > 1) return std::nullopt;  // the other ranks could not use the cache
    std::int64_t memory = files::memory_left();
    if (options_.open.node_bytes) memory = std::min(memory, *options_.open.node_bytes);
    return packed_->keep_all(std::min(memory / parts_of_memory, packed_->packed().most_bytes()));
  }

  /// *Collective.* Broadcasts the list of gzip members from rank 0.
  void share_members(const mpi::Communicator& comm) {
    std::vector<GzipMember> members;
    if (comm.rank() == 0) members = packed_->packed().find_members();
    base::broadcast_values(comm, 0, members);
    packed_->packed().set_members(std::move(members));
  }

  /// *Collective.* Makes each rank cache the bytes that it will read. Returns false if all are already cached
  /// or memory is short.
  bool begin_keeping(const mpi::Communicator& comm, Range bytes) {
    const std::int64_t needed = parts_of_memory * bytes.size();
    const auto& node_bytes = options_.open.node_bytes;
    if (packed_->keeps_all() || find_memory_shortage(comm, needed)) return false;
    if (node_bytes && share_memory(comm, needed, node_bytes).shortage) return false;
    packed_->begin_keeping(bytes);
    return true;
  }

  /// *Collective.* Reads the header, and counts the rows.
  CsvIndex count_rows(const Workers& workers) {
    const mpi::Communicator& comm = workers.comm;
    constexpr std::int64_t unknown = -1;
    std::int64_t size = unknown;
    std::int64_t file_bytes = 0;
    together(comm, [&] {
      if (comm.rank() != 0) return;
      header_ = read_csv_header(*source_, path_, options_.buffer_bytes, options_.open.table);
      if (options_.open.tell && !header_.dialect_words.empty())
        options_.open.tell(fmt::format("{}: {}", path_, header_.dialect_words));
      file_bytes = source_->file().size();
      size = find_size(comm.size()).value_or(unknown);
    });
    base::broadcast_values(comm, 0, header_.columns, header_.quotes, header_.data_offset, header_.data_line,
                           header_.dialect, size, file_bytes);
    const std::int64_t data = header_.data_offset;
    CsvPart part;
    part.first_line = header_.data_line;
    const bool in_order = size == unknown;
    const bool has_comments = header_.dialect.comment != '\0';
    if (packed_ != nullptr && !in_order) share_members(comm);

    // At most about 65,000 landmarks over all ranks, at least a buffer apart. In a compressed file they are
    // farther apart, because decompression restarts at each.
    const std::int64_t least = std::int64_t{1} << (packed_ != nullptr && !in_order ? 20 : 18);
    const std::int64_t spacing = options_.landmark_bytes > 0
                                     ? options_.landmark_bytes
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
    const bool kept =
        packed_ != nullptr && !in_order && !has_comments && begin_keeping(comm, {part.begin, part.end});
    CsvIndex index = has_comments ? index_in_order(comm, *source_, path_, part, options_.buffer_bytes,
                                                   spacing, header_.dialect)
                                  : index_csv(workers, *source_, part, options_.buffer_bytes, spacing,
                                              header_.dialect, options_.open.between);
    if (kept) packed_->end_keeping();
    if (index.rows == 0)
      throw base::input_error("{}: has a header, but no data row: give a table with rows", path_);
    return index;
  }

  std::string path_;
  CsvOptions options_;
  std::unique_ptr<ByteSource> source_;
  KeptSource* packed_ = nullptr;       ///< `source_` if it is compressed, else null
  std::optional<SharedTable> shared_;  ///< refers to the file of `source_`
  CsvHeader header_;
  CsvIndex index_;
};

}  // namespace

std::unique_ptr<TableReader> open_csv(const Workers& workers, const std::string& path,
                                      const CsvOptions& options) {
  return std::make_unique<CsvTable>(workers, path, options);
}

}  // namespace TESSERA_NAMESPACE::gam
