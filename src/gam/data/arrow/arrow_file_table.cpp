// SPDX-License-Identifier: Apache-2.0
#include "gam/data/arrow/arrow_file_table.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/data/arrow/arrow_batches.hpp"
#include "gam/data/arrow/arrow_part.hpp"
#include "gam/data/frame/frame_part.hpp"
#include "gam/data/source/shared_input.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Runs `work`; errors about Arrow structures get the file's name.
template <class Work>
auto naming(const std::string& path, const Work& work) {
  try {
    return work();
  } catch (const ArrowFault& fault) {
    throw base::input_error("{}: {}", path, fault.fault());
  }
}

std::string kind_of(const ArrowColumn& column) {
  if (column.type.kind == ArrowType::Kind::boolean) return "truth values";
  if (!column.factor()) return "numbers";
  return column.ordered ? "ordered texts" : "texts";
}

class ArrowFileTable final : public TableReader {
 public:
  ArrowFileTable(const Workers& workers, const std::string& path, BetweenReads between)
      : between_(std::move(between)) {
    together(workers.comm, [&] { bytes_ = std::make_unique<files::InputFile>(path); });
    shared_.emplace(workers.comm, *bytes_, between_);
    static_cast<void>(shared_->read(workers.comm, [&] {
      together(workers.comm, [&] { open(); });
      return 0;
    }));
  }

  [[nodiscard]] std::int64_t rows() const override { return starts_.back(); }
  [[nodiscard]] std::vector<std::string> columns() const override {
    std::vector<std::string> names;
    for (const ArrowColumn& column : columns_) names.push_back(column.name);
    return names;
  }
  [[nodiscard]] std::vector<std::string> ordered_columns() const override {
    std::vector<std::string> names;
    for (const ArrowColumn& column : columns_) {
      if (column.ordered) names.push_back(column.name);
    }
    return names;
  }
  [[nodiscard]] std::map<std::string, std::string> left_out() const override { return left_out_; }
  [[nodiscard]] bool has_truths(std::string_view name) const override {
    const auto found = std::ranges::find(columns_, name, &ArrowColumn::name);
    return found != columns_.end() && found->type.kind == ArrowType::Kind::boolean;
  }
  [[nodiscard]] files::FileState opened() const override { return shared_->opened(); }
  [[nodiscard]] std::int64_t bytes_read() const override { return file_->bytes_read(); }
  [[nodiscard]] std::string name() const override { return bytes_->path(); }
  [[nodiscard]] std::vector<std::string> kinds() const override {
    std::vector<std::string> kinds;
    for (const ArrowColumn& column : columns_) kinds.push_back(kind_of(column));
    return kinds;
  }

  [[nodiscard]] std::unique_ptr<RowScan> scan(const ReadPlan& plan, int threads) override;
  [[nodiscard]] Frame read_unchanged(const mpi::Communicator& comm,
                                     const std::function<Frame()>& work) const override {
    return shared_->read(comm, work);
  }

 private:
  class Scan;

  void describe(ReadPlan& plan) const override {
    const std::vector<std::string> names = columns();
    for (std::size_t c = 0; c < plan.columns().size(); ++c) {
      const auto position = plan.columns()[c].position_among(names);
      if (!position) continue;
      plan.column(c).unit = columns_[*position].unit();
      if (columns_[*position].ordered && !plan.columns()[c].made_factor)
        plan.column(c).make_factor(&levels_of(*position));
    }
  }

  void open() {
    file_ = std::make_unique<ArrowFile>(*bytes_, between_);
    const tessera_arrow_contents& in = file_->contents();
    const ArrowSchema& schema = *in.schema;
    std::unordered_set<std::string> names;
    for (std::int64_t place = 0; place < schema.n_children; ++place) {
      const char* const given = schema.children[place]->name;
      const std::string column = given == nullptr ? "" : given;
      if (!names.insert(column).second)
        throw base::input_error("{}: two columns have the name '{}': rename one", name(), column);
      try {
        columns_.push_back(arrow_column(schema, place));
      } catch (const ArrowFault&) {
        const std::string_view format = schema.children[place]->format;
        if (format.starts_with('+'))
          left_out_[column] = "has lists or other nested values: write each part as a separate column";
        else
          left_out_[column] =
              fmt::format("has {}, but a column must have numbers or texts: write the column as one of these",
                          format.starts_with("tt")   ? "times of day"
                          : format.starts_with("tD") ? "durations"
                                                     : fmt::format("values of Arrow's format '{}'", format));
      }
    }
    starts_.push_back(0);
    for (std::int64_t piece = 0; piece < in.pieces; ++piece)
      starts_.push_back(starts_.back() + in.piece_rows[piece]);
  }

  /// The levels of an ordered column in their order, from the dictionary of the first batch.
  [[nodiscard]] const std::vector<std::string>& levels_of(std::size_t column) const {
    const auto [found, is_new] = levels_.try_emplace(column);
    if (!is_new || rows() == 0) return found->second;
    const std::int64_t place[] = {columns_[column].place};
    ArrowFile::Stream stream = file_->stream({0, file_->contents().pieces}, place);
    ArrowOwner<ArrowArray> batch;
    ArrowPart read;
    naming(name(), [&] {
      if (stream.next(batch))
        read_part(arrow_column(stream.schema(), 0), *batch, quoted_column(columns_[column].name), read);
    });
    for (const auto& text : read.texts) {
      if (text) found->second.emplace_back(*text);
    }
    return found->second;
  }

  BetweenReads between_;
  std::unique_ptr<files::InputFile> bytes_;
  std::optional<SharedTable> shared_;  // refers to `bytes_`
  std::unique_ptr<ArrowFile> file_;
  std::vector<ArrowColumn> columns_;
  std::map<std::string, std::string> left_out_;
  std::vector<std::int64_t> starts_;  ///< the first row of each piece, and the number of rows
  mutable std::map<std::size_t, std::vector<std::string>> levels_;
};

/// Reads the rows of one piece (row group or record batch) after another.
class ArrowFileTable::Scan final : public RowScan {
 public:
  Scan(const ArrowFileTable& table, const ReadPlan& plan) : table_(table) {
    const std::vector<std::string> names = table.columns();
    for (std::size_t c = 0; c < plan.columns().size(); ++c) {
      const auto position = plan.columns()[c].position_among(names);
      if (!position) continue;
      const std::int64_t place = table.columns_[*position].place;
      // Variables x and factor(x) request the same column twice.
      const auto known = std::ranges::find(places_, place);
      wanted_.push_back(
          {c, static_cast<std::size_t>(known - places_.begin()), plan.columns()[c].level_order});
      if (known == places_.end()) places_.push_back(place);
    }
  }

  [[nodiscard]] std::vector<Range> runs(Range rows) override {
    std::vector<Range> runs;
    for (std::size_t piece = 0; piece + 1 < table_.starts_.size(); ++piece) {
      const Range run{std::max(rows.begin, table_.starts_[piece]),
                      std::min(rows.end, table_.starts_[piece + 1])};
      if (run.begin < run.end) runs.push_back(run);
    }
    return runs;
  }
  void prepare(std::span<const Range> /*runs*/) override {
    if (table_.between_) table_.between_();
  }

  void read(int /*thread*/, Range run, FramePart& part) override {
    const auto above = std::ranges::upper_bound(table_.starts_, run.begin);
    const std::int64_t piece = above - table_.starts_.begin() - 1;
    std::vector<void*> to(places_.size());
    if (run.begin == *std::prev(above) && run.end == *above) {
      for (const Wanted& one : wanted_) {
        if (double* const numbers = part.numbers_to(one.column, at(run.size())).data())
          to[one.place] = numbers;
      }
    }
    ArrowFile::Stream stream = table_.file_->stream({piece, piece + 1}, places_, to);
    std::vector<ArrowColumn> columns;
    for (std::size_t i = 0; i < places_.size(); ++i)
      columns.push_back(arrow_column(stream.schema(), static_cast<std::int64_t>(i)));
    ArrowOwner<ArrowArray> batch;
    std::vector<Part> parts(places_.size());  // for all batches: new memory for each would be mapped again
    std::int64_t row = *std::prev(above);     // the first row of the batch
    while (row < run.end && stream.next(batch)) {
      const Range rows{std::max(run.begin, row) - row, std::min(run.end, row + batch->length) - row};
      naming(table_.name(), [&] {
        if (rows.begin < rows.end) set_batch(columns, *batch, rows, row, parts, part);
      });
      row += batch->length;
    }
    note_inexact_decimals(part);
    if (row < run.end)
      throw base::input_error("{}: row group {} has fewer rows than the file declares: write it again",
                              table_.name(), piece + 1);
  }

 private:
  /// A column of a batch, with the texts of a factor.
  struct Part : ArrowPart {
    std::vector<std::string> levels{};
    bool same_levels = false;  ///< whether the levels are those of the previous batch
  };
  struct Wanted {
    std::size_t column;  ///< index in the plan
    std::size_t place;   ///< index in the stream
    const std::vector<std::string>* order;
  };

  /// Adds the file's counts of inexact decimals, over all threads, to those of `part`: each decimal once.
  void note_inexact_decimals(FramePart& part) {
    const std::lock_guard lock(mutex_);
    for (const Wanted& one : wanted_) {
      const std::int64_t now = table_.file_->inexact_decimals(places_[one.place]);
      part.note_inexact(one.column, now - std::exchange(noted_[one.column], now));
    }
  }

  /// Passes `rows` of a batch to `part`. The first row of the batch is row `first` of the file.
  void set_batch(std::span<const ArrowColumn> columns, const ArrowArray& batch, Range rows,
                 std::int64_t first, std::span<Part> read, FramePart& part) const {
    for (const Wanted& one : wanted_)
      read[one.place].to =
          rows.size() == batch.length ? part.numbers_to(one.column, at(rows.size())) : std::span<double>();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      read_part(columns[i], batch, quoted_column(columns[i].name), read[i]);
      Part& of = read[i];
      of.same_levels = std::ranges::equal(of.levels, of.texts, [](const auto& level, const auto& text) {
        return level == text.value_or("");
      });
      if (of.same_levels) continue;
      of.levels.clear();
      for (const auto& text : of.texts) of.levels.emplace_back(text.value_or(""));
    }
    std::vector<BatchColumn> set;
    for (const Wanted& one : wanted_) {
      const Part& values = read[one.place];
      if (!values.same_levels) part.forget_levels(one.column);
      part.note_inexact(one.column, values.inexact);
      if (one.order != nullptr) check_levels(columns[one.place], values, *one.order);
      if (columns[one.place].factor())
        set.push_back({.column = one.column,
                       .codes = values.codes.subspan(at(rows.begin), at(rows.size())),
                       .levels = &values.levels});
      else
        set.push_back(
            {.column = one.column, .numbers = values.numbers.subspan(at(rows.begin), at(rows.size()))});
    }
    part.set_batch(set, first + rows.begin + 1, at(rows.size()));
  }

  static void check_levels(const ArrowColumn& column, const ArrowPart& read,
                           std::span<const std::string> order) {
    for (const auto& text : read.texts) {
      if (text && std::ranges::find(order, *text) == order.end())
        refuse_arrow(ErrorCode::input,
                     "{} has the ordered level '{}', which its first rows do not declare: give all "
                     "files and row groups the same levels",
                     quoted_column(column.name), excerpt(*text));
    }
  }

  const ArrowFileTable& table_;
  std::mutex mutex_;
  std::map<std::size_t, std::int64_t> noted_;  ///< inexact decimals already added, by column of the plan
  std::vector<std::int64_t> places_;           ///< indices in the file's schema, by column of the stream
  std::vector<Wanted> wanted_;
};

std::unique_ptr<RowScan> ArrowFileTable::scan(const ReadPlan& plan, int /*threads*/) {
  return std::make_unique<Scan>(*this, plan);
}

}  // namespace

std::unique_ptr<TableReader> open_arrow_file(const Workers& workers, const std::string& path,
                                             const BetweenReads& between) {
  return std::make_unique<ArrowFileTable>(workers, path, between);
}

}  // namespace TESSERA_NAMESPACE::gam
