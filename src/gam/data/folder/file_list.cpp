// SPDX-License-Identifier: Apache-2.0
#include "gam/data/folder/file_list.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/message.hpp"
#include "gam/data/frame/frame_part.hpp"
#include "gam/data/source/shared_input.hpp"

#include <tessera/job/together.hpp>
#include <tessera/mpi/communicator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Maximum number of files of a rank that stay open between counting and reading their rows.
constexpr std::size_t most_open = 256;
/// Row numbers in messages: the lowest bits are the row within a file, the higher bits the file's index.
constexpr int bits_of_number = 40;

/// A serial communicator and the rank's threads, for files that a rank opens alone.
struct Alone {
  explicit Alone(HostTeam& team) : comm(mpi::Communicator::serial()), workers{comm, team} {}
  mpi::Communicator comm;
  Workers workers;
};

/// Throws unless a file has the same columns as the first file, of the same types.
void check_columns(const TableReader& first, const std::string& first_path, const TableReader& other,
                   const std::string& path) {
  const std::vector<std::string> expected = first.columns();
  const std::vector<std::string> found = other.columns();
  const std::vector<std::string> expected_kinds = first.kinds();
  const std::vector<std::string> kinds = other.kinds();
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < found.size(); ++i) places.emplace(found[i], i);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto place = places.find(expected[i]);
    if (place == places.end())
      throw base::input_error("{}: has no column '{}', unlike {}: give files with the same columns", path,
                              expected[i], first_path);
    if (!kinds.empty() && !expected_kinds.empty() && kinds[place->second] != expected_kinds[i])
      throw base::input_error(
          "{0}: the column '{1}' holds {2}, but {4} in {3}: write it with one type in all files", path,
          expected[i], kinds[place->second], first_path, expected_kinds[i]);
  }
  if (found.size() == expected.size()) return;
  const auto more = std::ranges::find_if(
      found, [&](const std::string& name) { return std::ranges::find(expected, name) == expected.end(); });
  if (more != found.end())
    throw base::input_error("{}: has the column '{}', unlike {}: give files with the same columns", path,
                            *more, first_path);
}

class FileList final : public TableReader {
 public:
  FileList(const Workers& workers, std::vector<ListedFile> files, OpenOptions options, OpenOne open)
      : workers_(workers),
        alone_(workers.team),
        files_(std::move(files)),
        options_(std::move(options)),
        open_one_(std::move(open)),
        together_(std::ssize(files_) < workers.comm.size()),
        readers_(files_.size()) {
    first_ = open_one_(workers, files_.front().path, options_);
    for (const auto& [name, value] : files_.front().partition) partition_.push_back(name);
    check_partition();
    std::vector<std::int64_t> counted(files_.size());
    if (together_) {
      for (std::size_t file = 0; file < files_.size(); ++file) {
        if (file > 0) readers_[file] = open_checked(workers_, file, options_);
        counted[file] = reader(file).rows();
      }
    } else {
      count_share(counted);
    }
    starts_.push_back(0);
    for (const std::int64_t rows : counted) starts_.push_back(starts_.back() + rows);
  }

  [[nodiscard]] std::int64_t rows() const override { return starts_.back(); }
  [[nodiscard]] std::vector<std::string> columns() const override {
    std::vector<std::string> names = first_->columns();
    names.insert(names.end(), partition_.begin(), partition_.end());
    return names;
  }
  [[nodiscard]] std::vector<std::string> ordered_columns() const override {
    return first_->ordered_columns();
  }
  [[nodiscard]] std::map<std::string, std::string> left_out() const override { return first_->left_out(); }
  [[nodiscard]] bool has_truths(std::string_view column) const override { return first_->has_truths(column); }
  [[nodiscard]] files::FileState opened() const override { return state_of(files_); }
  [[nodiscard]] std::int64_t bytes_read() const override {
    std::int64_t bytes = first_->bytes_read() + bytes_of_closed_;
    for (const auto& one : readers_) bytes += one ? one->bytes_read() : 0;
    for (const auto& [file, one] : opened_for_reading_) bytes += one->bytes_read();
    return bytes;
  }
  [[nodiscard]] std::int64_t kept_bytes() const override {
    std::int64_t bytes = first_->kept_bytes();
    for (const auto& one : readers_) bytes += one ? one->kept_bytes() : 0;
    return bytes;
  }
  void let_go_of_kept() override {
    first_->let_go_of_kept();
    for (const auto& one : readers_) {
      if (one) one->let_go_of_kept();
    }
  }

  [[nodiscard]] ReadPlan plan(const FrameRequest& request,
                              std::span<const std::string> more_columns) const override {
    std::vector<std::string> more = partition_;
    more.insert(more.end(), more_columns.begin(), more_columns.end());
    return first_->plan(request, more);
  }
  [[nodiscard]] std::string place(std::int64_t row_number) const override {
    return fmt::format("{}, {} {}", files_[at(row_number >> bits_of_number)].path, first_->row_word(),
                       row_number & ((std::int64_t{1} << bits_of_number) - 1));
  }
  [[nodiscard]] std::string name() const override { return first_->name(); }
  [[nodiscard]] std::string_view row_word() const override { return first_->row_word(); }
  [[nodiscard]] std::unique_ptr<RowScan> scan(const ReadPlan& plan, int threads) override;

  [[nodiscard]] Frame read_unchanged(const mpi::Communicator& comm,
                                     const std::function<Frame()>& work) const override {
    if (!together_) return first_->read_unchanged(comm, [&] { return read_own_unchanged(comm, work); });
    std::function<Frame()> checked = work;
    for (std::size_t file = 0; file < files_.size(); ++file)
      checked = [&comm, checked, &one = reader(file)] { return one.read_unchanged(comm, checked); };
    return checked();
  }

 private:
  class Scan;

  /// All ranks have the first file open.
  [[nodiscard]] bool is_open(std::size_t file) const { return together_ || file == 0 || readers_[file]; }
  [[nodiscard]] TableReader& reader(std::size_t file) const {
    return readers_[file] ? *readers_[file] : *first_;
  }
  /// The options without `between`, which this class itself calls on the calling thread.
  [[nodiscard]] OpenOptions options_alone() const {
    OpenOptions options = options_;
    options.between = {};
    return options;
  }
  std::unique_ptr<TableReader> open_checked(const Workers& workers, std::size_t file,
                                            const OpenOptions& options) const {
    std::unique_ptr<TableReader> opened = open_one_(workers, files_[file].path, options);
    together(workers.comm, [&] {
      check_state(*opened, file);
      check_columns(*first_, files_.front().path, *opened, files_[file].path);
    });
    return opened;
  }

  /// Ignores the device number, because it may differ between nodes for a shared file system.
  void check_state(const TableReader& opened, std::size_t file) const {
    files::FileState state = opened.opened();
    state.device = files_[file].state.device;
    if (state != files_[file].state)
      throw base::input_error(
          "{}: was replaced or written to while it was read: start again when no program writes to it",
          files_[file].path);
  }

  void check_partition() const {
    const std::vector<std::string> names = first_->columns();
    for (const std::string& name : partition_) {
      if (std::ranges::find(names, name) != names.end())
        throw base::input_error("{}: the column '{}' is named by the file and by its folder: rename one",
                                files_.front().path, name);
    }
  }

  /// *Collective.* Each rank counts the rows of a share of the files after the first; shares have about equal
  /// bytes.
  void count_share(std::vector<std::int64_t>& counted) {
    const mpi::Communicator& comm = workers_.comm;
    std::int64_t all_bytes = 0;
    for (const ListedFile& file : std::span(files_).subspan(1)) all_bytes += file.state.size;
    std::int64_t before = 0;
    const auto rank_of = [&](const ListedFile& file) {
      const double middle = static_cast<double>(before) + static_cast<double>(file.state.size) / 2;
      before += file.state.size;
      const double share = middle / static_cast<double>(std::max<std::int64_t>(all_bytes, 1));
      return std::min(static_cast<int>(share * comm.size()), comm.size() - 1);
    };
    std::vector<std::pair<std::size_t, std::int64_t>> mine;
    counted[0] = first_->rows();
    together(comm, [&] {
      check_state(*first_, 0);
      for (std::size_t file = 1; file < files_.size(); ++file) {
        if (rank_of(files_[file]) != comm.rank()) continue;
        comm.alive();  // prevents a timeout of the waiting ranks
        if (options_.between) options_.between();
        std::unique_ptr<TableReader> opened = open_checked(alone_.workers, file, options_alone());
        mine.emplace_back(file, opened->rows());
        if (mine.size() <= most_open)
          readers_[file] = std::move(opened);
        else
          bytes_of_closed_ += opened->bytes_read();
      }
    });
    for (const auto& of_rank : base::allgather_values(comm, mine)) {
      for (const auto& [file, rows] : of_rank) counted[file] = rows;
    }
  }

  /// *Collective.* Throws if this rank's files were modified during `work`.
  [[nodiscard]] Frame read_own_unchanged(const mpi::Communicator& comm,
                                         const std::function<Frame()>& work) const {
    return unless_changed(work, [&] {
      together(comm, [&] {
        for (const auto& one : readers_) {
          if (one) require_unchanged(*one);
        }
        for (const auto& [file, one] : opened_for_reading_) require_unchanged(*one);
      });
    });
  }
  void require_unchanged(const TableReader& alone) const {
    static_cast<void>(alone.read_unchanged(alone_.comm, [] { return Frame{}; }));
  }

  Workers workers_;
  Alone alone_;
  std::vector<ListedFile> files_;
  OpenOptions options_;
  OpenOne open_one_;
  bool together_;  ///< whether all ranks together open each file
  std::unique_ptr<TableReader> first_;
  std::vector<std::unique_ptr<TableReader>> readers_;  ///< by file; null: not open, or in `first_`
  std::map<std::size_t, std::unique_ptr<TableReader>> opened_for_reading_;
  std::vector<std::string> partition_;
  std::vector<std::int64_t> starts_;  ///< first row of each file; then the number of rows
  std::int64_t bytes_of_closed_ = 0;
};

/// A scan of the files that contain a rank's rows. An open file is read in the runs of its own scan. Any
/// other file is a single run; it is opened just before it is read, and closed before other files are opened.
class FileList::Scan final : public RowScan {
 public:
  Scan(FileList& list, const ReadPlan& plan, int threads) : list_(list), plan_(plan), threads_(threads) {
    for (std::size_t c = 0; c < plan.columns().size(); ++c) {
      const auto found = std::ranges::find(list.partition_, plan.columns()[c].name);
      if (found != list.partition_.end())
        constants_.emplace_back(c, static_cast<std::size_t>(found - list.partition_.begin()));
    }
  }

  [[nodiscard]] std::vector<Range> runs(Range rows) override {
    std::vector<Range> runs;
    if (rows.empty()) return runs;
    for (std::size_t file = file_of(rows.begin);
         file + 1 < list_.starts_.size() && list_.starts_[file] < rows.end; ++file) {
      const std::int64_t start = list_.starts_[file];
      const Range within{std::max(rows.begin, start) - start,
                         std::min(rows.end, list_.starts_[file + 1]) - start};
      if (within.empty()) continue;
      std::vector<Range> own{within};
      if (list_.is_open(file)) own = begin(file, list_.reader(file)).scan->runs(within);
      for (const Range run : own) runs.push_back({start + run.begin, start + run.end});
    }
    return runs;
  }

  [[nodiscard]] bool in_order() const override {
    return list_.together_ &&
           std::ranges::any_of(scans_, [](const auto& one) { return one.second.scan->in_order(); });
  }

  void prepare(std::span<const Range> runs) override {
    if (list_.options_.between) list_.options_.between();
    const std::size_t first = file_of(runs.front().begin);
    const std::size_t last = file_of(runs.back().end - 1);
    close_others(first, last);
    for (std::size_t file = first; file <= last; ++file) {
      if (scans_.contains(file) || list_.starts_[file] == list_.starts_[file + 1]) continue;
      if (!list_.opened_for_reading_.contains(file))
        list_.opened_for_reading_.emplace(
            file, list_.open_checked(list_.alone_.workers, file, list_.options_alone()));
      static_cast<void>(begin(file, *list_.opened_for_reading_.at(file)));
    }
  }

  void read(int thread, Range run, FramePart& part) override {
    const std::size_t file = file_of(run.begin);
    const std::int64_t start = list_.starts_[file];
    const Open& open = scans_.at(file);
    part.set_file(static_cast<std::int64_t>(file) << bits_of_number, open.constants);
    const Range within{run.begin - start, run.end - start};
    if (!list_.opened_for_reading_.contains(file)) return open.scan->read(thread, within, part);
    for (const Range one : open.scan->runs(within)) open.scan->read(thread, one, part);
  }

 private:
  struct Open {
    std::unique_ptr<RowScan> scan;
    std::vector<FramePart::Constant> constants;
  };

  [[nodiscard]] std::size_t file_of(std::int64_t row) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(list_.starts_, row) - list_.starts_.begin()) - 1;
  }

  Open& begin(std::size_t file, TableReader& reader) {
    Open& open = scans_[file];
    open.scan = reader.scan(plan_, threads_);
    for (const auto& [column, place] : constants_)
      open.constants.push_back({column, list_.files_[file].partition[place].second});
    return open;
  }

  /// Closes files that were opened only to read other runs.
  void close_others(std::size_t first, std::size_t last) {
    std::erase_if(list_.opened_for_reading_, [&](const auto& one) {
      if (one.first >= first && one.first <= last) return false;
      list_.require_unchanged(*one.second);
      list_.bytes_of_closed_ += one.second->bytes_read();
      scans_.erase(one.first);
      return true;
    });
  }

  FileList& list_;
  const ReadPlan& plan_;
  int threads_;
  std::vector<std::pair<std::size_t, std::size_t>> constants_;  ///< indices in the plan and in the partition
  std::map<std::size_t, Open> scans_;
};

std::unique_ptr<RowScan> FileList::scan(const ReadPlan& plan, int threads) {
  return std::make_unique<Scan>(*this, plan, threads);
}

}  // namespace

std::unique_ptr<TableReader> open_list(const Workers& workers, std::vector<ListedFile> files,
                                       const OpenOptions& options, const OpenOne& open) {
  return std::make_unique<FileList>(workers, std::move(files), options, open);
}

}  // namespace TESSERA_NAMESPACE::gam
