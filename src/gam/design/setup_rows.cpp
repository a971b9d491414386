// SPDX-License-Identifier: Apache-2.0
#include "gam/design/setup_rows.hpp"

#include "base/at.hpp"
#include "base/hash.hpp"
#include "base/r_random.hpp"
#include "gam/data/frame/extents.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// bam's `chunk.size` and mini.mf's seed.
constexpr std::int64_t setup_rows = 10'000;
constexpr std::uint32_t seed_of_rows = 66;
/// Above this size, R's sample() uses hashing.
constexpr std::int64_t most_drawn = 10'000'000;
constexpr std::int64_t no_row = std::numeric_limits<std::int64_t>::max();

/// Number of levels of a factor, or of a response that was converted to numbers; 0 for other numbers.
std::size_t levels_of(const Variable& variable) {
  return variable.levels.size();
}

int level_at(const Variable& variable, std::size_t row) {
  return variable.factor ? variable.codes[row] : static_cast<int>(variable.numbers[row]);
}

/// The first complete row of this rank with each of the two values; `no_row` if there is none.
std::array<std::int64_t, 2> first_rows_of(const Workers& workers, const Frame& frame,
                                          const ColumnNumbers& numbers, std::array<double, 2> values) {
  std::array<std::atomic<std::int64_t>, 2> first{no_row, no_row};
  for_each_run(workers, frame, [&](int /*thread*/, std::size_t run, std::size_t run_end) {
    std::vector<double> copy;
    for_each_complete_run(frame, run, run_end, [&](std::size_t begin, std::size_t end) {
      std::span<const double> here;
      for (std::size_t i = 0; i < values.size(); ++i) {
        std::int64_t before = first[i].load(std::memory_order_relaxed);
        if (static_cast<std::int64_t>(begin) > before) continue;
        if (here.empty()) here = numbers.rows(begin, end, copy);
        const auto found = std::ranges::find(here, values[i]);
        if (found == here.end()) continue;
        const auto row = static_cast<std::int64_t>(begin) + (found - here.begin());
        while (row < before && !first[i].compare_exchange_weak(before, row, std::memory_order_relaxed)) {
        }
      }
    });
  });
  return {first[0], first[1]};
}

}  // namespace

SetupRows::SetupRows(const Workers& workers, const Frame& frame, const FormulaTerms& formula,
                     int prior_weight, SetupSample sample)
    : workers_(workers), frame_(frame), formula_(formula), prior_weight_(prior_weight), sample_(sample) {}

std::vector<int> SetupRows::columns_of_model() const {
  std::vector<int> columns;
  FormulaTerms without_offsets = formula_;
  without_offsets.offsets.clear();
  for (const Expression& variable : without_offsets.variables())
    columns.push_back(frame_.index_of(variable.text));
  // Each offset is a column of R's model frame, and so are the weights.
  for (const Expression& offset : formula_.offsets) columns.push_back(frame_.index_of(offset.text));
  if (prior_weight_ >= 0) columns.push_back(prior_weight_);
  return columns;
}

std::vector<double> SetupRows::values(int variable) {
  if (!found_) find();
  const Variable& column = frame_.variables[at(variable)];
  column.prepare_to_read(0, frame_.complete.size());
  const auto value_at = [&](std::size_t row) -> double {
    return column.factor ? column.codes[row] : column.numbers[row];
  };
  if (rows_.empty()) {
    std::vector<double> mine;
    for_each_complete_run(frame_, 0, frame_.complete.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) mine.push_back(value_at(row));
    });
    return workers_.comm.allgatherv(std::span<const double>(mine));
  }
  // A sum over the ranks gathers the values: one rank has each value, and the others add 0.
  std::vector<double> all(local_.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (local_[i]) all[i] = value_at(*local_[i]);
  }
  workers_.comm.allreduce(std::span(all), mpi::Reduction::sum);
  return all;
}

void SetupRows::find() {
  found_ = true;
  if (frame_.complete_rows <= setup_rows || sample_ == SetupSample::all_rows) return;
  columns_ = columns_of_model();
  std::int64_t extra = 0;
  for (const int column : columns_) {
    const auto levels = static_cast<std::int64_t>(levels_of(frame_.variables[at(column)]));
    extra += levels > 0 ? levels : 2;
  }
  const std::int64_t count = std::max(setup_rows, extra);
  if (frame_.complete_rows <= count) return;
  const CompleteRowIndex complete(workers_, frame_);
  rows_ = draw(complete, count);
  for (const std::int64_t row : rows_) local_.push_back(complete.row_of(row));
}

/// Draws `count` rows, as indices among the complete rows of the job.
std::vector<std::int64_t> SetupRows::draw(const CompleteRowIndex& complete, std::int64_t count) {
  const std::int64_t n = frame_.complete_rows;
  std::vector<std::int64_t> rows;
  std::vector<std::int32_t> order;
  is_own_sample_ = n > most_drawn;
  if (is_own_sample_) {
    // Takes one row from each of `count` equal parts.
    for (std::int64_t part = 0; part < count; ++part) {
      const std::int64_t begin = n / count * part + n % count * part / count;
      const std::int64_t end = n / count * (part + 1) + n % count * (part + 1) / count;
      rows.push_back(begin + static_cast<std::int64_t>(base::split_mix(static_cast<std::uint64_t>(part)) %
                                                       static_cast<std::uint64_t>(end - begin)));
    }
  } else {
    base::RRandom random(seed_of_rows);
    const auto size = static_cast<std::int32_t>(n);
    const std::vector<std::int32_t> drawn = random.sample(size, static_cast<std::int32_t>(count));
    rows.assign(drawn.begin(), drawn.end());
    const bool has_factors = std::ranges::any_of(
        columns_, [&](int column) { return levels_of(frame_.variables[at(column)]) > 0; });
    if (has_factors) order = random.sample(size, size);
  }
  const std::vector<std::int64_t> kept = rows_to_keep(complete, order);
  std::ranges::copy(kept, rows.begin());
  return rows;
}

/// The first row with the minimum and with the maximum of each numeric column. Unless `order` is empty, also
/// the first row in `order` with each level that occurs.
std::vector<std::int64_t> SetupRows::rows_to_keep(const CompleteRowIndex& complete,
                                                  std::span<const std::int32_t> order) const {
  std::vector<std::int64_t> kept;
  for (const int column : columns_) {
    const Variable& variable = frame_.variables[at(column)];
    variable.prepare_to_read(0, frame_.complete.size());
    const std::size_t levels = levels_of(variable);
    if (levels == 0) {
      const Extent range = extent_of(workers_, frame_, column);
      std::array<std::int64_t, 2> first{no_row, no_row};
      const auto rows = first_rows_of(workers_, frame_, variable.numbers, {range.min, range.max});
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i] != no_row) first[i] = complete.index_of(at(rows[i]));
      }
      workers_.comm.allreduce(std::span<std::int64_t>(first), mpi::Reduction::min);
      kept.insert(kept.end(), first.begin(), first.end());
      continue;
    }
    if (order.empty()) continue;
    std::vector<std::int64_t> first(levels, no_row);  // position in `order`
    std::size_t unseen = levels;
    for (std::size_t place = 0; place < order.size() && unseen > 0; ++place) {
      const auto row = complete.row_of(order[place]);
      if (!row) continue;
      std::int64_t& seen = first[at(level_at(variable, *row))];
      if (seen != no_row) continue;
      seen = static_cast<std::int64_t>(place);
      --unseen;
    }
    workers_.comm.allreduce(std::span(first), mpi::Reduction::min);
    for (const std::int64_t place : first) {
      if (place != no_row) kept.push_back(order[at(place)]);
    }
  }
  return kept;
}

}  // namespace TESSERA_NAMESPACE::gam
