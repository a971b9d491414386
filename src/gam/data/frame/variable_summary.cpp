// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/variable_summary.hpp"

#include "base/at.hpp"
#include "base/ordered_key.hpp"
#include "gam/data/frame/bounded_values.hpp"
#include "gam/data/frame/extents.hpp"

#include <tessera/job/reproducible_sum.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;
using base::ordered_key;
using base::value_of_key;

/// A histogram of keys: the numbers of values below a range and in each of `parts` equal parts of the range.
struct KeyCounts {
  static constexpr std::size_t parts = std::size_t{1} << 14;
  std::int64_t below = 0;
  std::vector<std::int64_t> counts = std::vector<std::int64_t>(parts);
  std::vector<KeySpan> extents = std::vector<KeySpan>(parts);
};

KeySpan all_numbers() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return {ordered_key(-infinity), ordered_key(infinity)};
}

/// A systematic sample of this rank's keys, from rows for which `has` is true. The sample grows with `count`,
/// the approximate number of values of the job, because a narrower range then saves more than the sample
/// costs.
template <class Has>
std::vector<std::uint64_t> sample_of(int ranks, const ColumnNumbers& numbers, std::int64_t count,
                                     const Has& has) {
  constexpr std::int64_t rows_per_sampled = 256;
  const std::int64_t sampled = std::clamp<std::int64_t>(count / rows_per_sampled, 1 << 12, 1 << 17);
  const auto rows = static_cast<std::int64_t>(numbers.size());
  const std::int64_t share = std::max<std::int64_t>(sampled / ranks, 1);
  std::vector<std::uint64_t> sample;
  for (std::int64_t row = 0; row < rows; row += (rows - 1) / share + 1) {
    const double value = numbers[at(row)];
    if (has(at(row)) && !std::isnan(value)) sample.push_back(ordered_key(value));
  }
  return sample;
}

/// A range of keys that probably contains the quantile at probability `middle` of the sampled population.
KeySpan likely_range(std::vector<std::uint64_t> sample, double middle) {
  KeySpan range = all_numbers();
  if (sample.empty()) return range;
  const auto nth = [&](double index) {
    const auto element = sample.begin() + static_cast<std::ptrdiff_t>(index);
    std::nth_element(sample.begin(), element, sample.end());
    return *element;
  };
  const auto size = static_cast<double>(sample.size());
  const double reach = 2 * std::sqrt(size);  // four standard errors of the median's position in the sample
  const double low = middle * size - reach;
  const double high = middle * size + reach;
  if (low >= 0) range.first = nth(low);
  if (high < size) range.last = nth(high);
  return range;
}

/// Finds order statistics of a column over complete rows. The first scan, or the reading of the table, stores
/// the values in a range; further steps search only the stored values.
class PlaceSearch {
 public:
  /// `found`: values in one range, from the threads that read the table; or empty.
  PlaceSearch(const Workers& workers, const Frame& frame, const ColumnNumbers& column,
              std::vector<BoundedValues> found)
      : workers_(workers),
        frame_(frame),
        column_(column),
        kept_(at(workers.team.size())),
        most_kept_(most_kept_of_thread(frame.complete.size(), kept_.size())) {
    if (found.empty()) return;
    range_ = found.front().range;
    is_kept_ = std::ranges::all_of(found, &BoundedValues::all_kept);
    for (std::size_t i = 0; i < found.size(); ++i) {
      below_ += found[i].below;
      kept_[i] = std::move(found[i].inside);
    }
  }

  /// *Collective.* Counts over the job; the `extents` are those of this rank.
  [[nodiscard]] KeyCounts counts_in(KeySpan range) {
    const bool inside = is_kept_ && range.first >= range_.first && range.last <= range_.last;
    std::vector<KeyCounts> of_threads(kept_.size());
    if (inside) {
      of_threads.front().below = below_;
      workers_.team.for_each_block({0, std::ssize(kept_)}, 1, [&](int thread, Range one) {
        for (std::int64_t i = one.begin; i < one.end; ++i)
          add(kept_[at(i)], range, of_threads[at(thread)], nullptr);
      });
    } else {
      scan_column(range, of_threads);
    }
    KeyCounts all = std::move(of_threads.front());
    for (std::size_t thread = 1; thread < of_threads.size(); ++thread) {
      const KeyCounts& one = of_threads[thread];
      all.below += one.below;
      for (std::size_t part = 0; part < KeyCounts::parts; ++part) {
        all.counts[part] += one.counts[part];
        all.extents[part].first = std::min(all.extents[part].first, one.extents[part].first);
        all.extents[part].last = std::max(all.extents[part].last, one.extents[part].last);
      }
    }
    if (!inside) below_ = all.below;
    all.counts.push_back(all.below);
    workers_.comm.allreduce(std::span(all.counts), mpi::Reduction::sum);
    all.below = all.counts.back();
    all.counts.pop_back();
    return all;
  }

 private:
  void scan_column(KeySpan range, std::vector<KeyCounts>& of_threads) {
    range_ = range;
    for (std::vector<double>& one : kept_) one.clear();
    for_each_run(workers_, frame_, [&](int thread, std::size_t begin, std::size_t end) {
      column_.prepare_to_read(begin, end);
      std::vector<double>& kept = kept_[at(thread)];
      for_each_complete_run(frame_, begin, end, [&](std::size_t first, std::size_t last) {
        column_.for_each_piece(first, last, [&](std::span<const double> numbers) {
          add(numbers, range, of_threads[at(thread)], kept.size() < most_kept_ ? &kept : nullptr);
        });
      });
    });
    is_kept_ = std::ranges::all_of(kept_, [&](const auto& one) { return one.size() < most_kept_; });
  }

  /// Appends the values in the range to `kept` if it is not null.
  static void add(std::span<const double> values, KeySpan range, KeyCounts& counts,
                  std::vector<double>* kept) {
    const std::uint64_t width = (range.last - range.first) / KeyCounts::parts + 1;
    std::array<double, bounded_at_once> found;
    for (std::size_t begin = 0; begin < values.size(); begin += bounded_at_once) {
      const std::span some = values.subspan(begin, std::min(bounded_at_once, values.size() - begin));
      const Bounded bounded = find_in_range(some, range, found.data());
      counts.below += bounded.below;
      const std::span inside = std::span(found).first(at(bounded.inside));
      for (const double value : inside) {
        const std::uint64_t key = ordered_key(value);
        const std::size_t part = (key - range.first) / width;
        ++counts.counts[part];
        counts.extents[part].add(key);
      }
      if (kept != nullptr) kept->insert(kept->end(), inside.begin(), inside.end());
    }
  }

  const Workers& workers_;
  const Frame& frame_;
  const ColumnNumbers& column_;
  std::vector<std::vector<double>> kept_;  ///< stored values of each scanning thread
  std::size_t most_kept_;
  bool is_kept_ = false;  ///< all values in `range_` are stored
  KeySpan range_;
  std::int64_t below_ = 0;  ///< number of this rank's values below `range_`
};

/// *Collective.* The value at position `place` (from 0) among `count` sorted values, including repetitions.
/// `found`: see the constructor of `PlaceSearch`; given on every rank or on none.
double value_at(const Workers& workers, const Frame& frame, const ColumnNumbers& column, std::int64_t place,
                std::int64_t count, std::vector<BoundedValues> found) {
  KeySpan range;
  if (found.empty()) {
    const std::vector<std::uint64_t> mine = sample_of(
        workers.comm.size(), column, count, [&](std::size_t row) { return frame.complete[row] != 0; });
    range = likely_range(workers.comm.allgatherv(std::span<const std::uint64_t>(mine)),
                         static_cast<double>(place) / static_cast<double>(count));
  } else {
    range = found.front().range;
  }
  PlaceSearch search(workers, frame, column, std::move(found));
  for (;;) {
    const KeyCounts counts = search.counts_in(range);
    std::int64_t before = counts.below;
    std::size_t part = 0;
    while (part < KeyCounts::parts && before + counts.counts[part] <= place) before += counts.counts[part++];
    if (counts.below > place || part == KeyCounts::parts) {
      range = all_numbers();  // the range does not contain the value
      continue;
    }
    std::array<std::uint64_t, 2> ends{~counts.extents[part].first, counts.extents[part].last};
    workers.comm.allreduce(std::span<std::uint64_t>(ends), mpi::Reduction::max);
    range = {~ends[0], ends[1]};
    if (range.first == range.last) return value_of_key(range.first);
  }
}

/// *Collective.* The number of complete rows with a value. A variable of the model has a value in all of
/// them; a column read by an expression may lack some, e.g. in ifelse(is.na(x), 0, x).
std::int64_t present(const Workers& workers, const Frame& frame, const ColumnNumbers& column) {
  if (!frame.extents.empty()) return frame.complete_rows;
  return counts_over_rows(
      workers, frame, 1, [&](std::span<std::int64_t> counts, std::size_t begin, std::size_t end) {
        column.prepare_to_read(begin, end);
        for_each_complete_run(frame, begin, end, [&](std::size_t first, std::size_t last) {
          column.for_each_piece(first, last, [&](std::span<const double> numbers) {
            for (const double number : numbers) counts[0] += std::isnan(number) ? 0 : 1;
          });
        });
      })[0];
}

/// Sum of the numbers except NaN, in SIMD lanes. Number i is in lane i mod 8, however the numbers are divided
/// into calls.
class LaneSum {
 public:
  void add(std::span<const double> numbers) {
    std::size_t i = 0;
    while (next_ != 0 && i < numbers.size()) add(numbers[i++]);
    for (; i + lanes <= numbers.size(); i += lanes)
      for (std::size_t lane = 0; lane < lanes; ++lane) sums_[lane] += of(numbers[i + lane]);
    while (i < numbers.size()) add(numbers[i++]);
  }
  [[nodiscard]] double value() const {
    double sum = 0;
    for (const double lane : sums_) sum += lane;
    return sum;
  }

 private:
  static constexpr std::size_t lanes = 8;
  [[nodiscard]] static double of(double number) { return std::isnan(number) ? 0 : number; }
  void add(double number) {
    sums_[next_] += of(number);
    next_ = (next_ + 1) % lanes;
  }

  std::array<double, lanes> sums_{};
  std::size_t next_ = 0;
};

/// *Collective.* The mean of the `count` values of complete rows.
double mean_of(const Workers& workers, const Frame& frame, const ColumnNumbers& column, std::int64_t count,
               std::int64_t block) {
  std::vector<ReproducibleSum> sums(at(workers.team.size()), ReproducibleSum(1));
  workers.team.for_each_block(frame.rows, block, [&](int thread, Range rows) {
    const std::size_t begin = at(rows.begin - frame.rows.begin);
    const std::size_t end = at(rows.end - frame.rows.begin);
    LaneSum sum;
    column.prepare_to_read(begin, end);
    for_each_complete_run(frame, begin, end, [&](std::size_t first, std::size_t last) {
      column.for_each_piece(first, last, [&](std::span<const double> numbers) { sum.add(numbers); });
    });
    const std::array<double, 1> of_block{sum.value()};
    sums[at(thread)].add(of_block);
  });
  for (std::size_t thread = 1; thread < sums.size(); ++thread) sums.front().merge(sums[thread]);
  sums.front().allreduce(workers.comm);
  return sums.front().values()[0] / static_cast<double>(count);
}

/// Position, from 0, of R's type-3 median among the sorted values.
std::int64_t place_of_median(std::int64_t count) {
  const std::int64_t half = count / 2;
  if (count % 2 == 0) return half - 1;
  return half % 2 == 0 ? std::max<std::int64_t>(half - 1, 0) : half;
}

/// *Collective.* The most frequent level, the first in case of ties; empty if the variable has no levels.
std::string most_frequent(const Workers& workers, const Frame& frame, const Variable& variable) {
  const auto counts =
      counts_over_rows(workers, frame, variable.levels.size(),
                       [&](std::span<std::int64_t> rows, std::size_t begin, std::size_t end) {
                         variable.prepare_to_read(begin, end);
                         for_each_complete_run(frame, begin, end, [&](std::size_t first, std::size_t last) {
                           for (std::size_t i = first; i < last; ++i) {
                             if (variable.codes[i] >= 0) ++rows[at(variable.codes[i])];
                           }
                         });
                       });
  if (counts.empty()) return {};
  return variable.levels[at(std::ranges::max_element(counts) - counts.begin())];
}

}  // namespace

std::vector<KeySpan> likely_medians(const Workers& workers, std::span<const ColumnNumbers* const> columns,
                                    std::int64_t count) {
  const auto for_each = [&](const auto& work) {
    workers.team.for_each_block({0, std::ssize(columns)}, 1,
                                [&](int /*thread*/, Range one) { work(at(one.begin)); });
  };
  std::vector<std::vector<std::uint64_t>> samples(columns.size());
  for_each([&](std::size_t i) {
    samples[i] = sample_of(workers.comm.size(), *columns[i], count, [](std::size_t /*row*/) { return true; });
  });
  for (std::vector<std::uint64_t>& sample : samples)
    sample = workers.comm.allgatherv(std::span<const std::uint64_t>(sample));
  std::vector<KeySpan> ranges(columns.size());
  for_each([&](std::size_t i) { ranges[i] = likely_range(std::move(samples[i]), 0.5); });
  return ranges;
}

std::vector<VariableSummary> summaries_of(const Workers& workers, Frame& frame,
                                          std::span<const std::size_t> variables,
                                          std::int64_t block_of_means) {
  std::vector<VariableSummary> summaries;
  for (const std::size_t index : variables) {
    const Variable& variable = frame.variables[index];
    VariableSummary summary{.name = variable.name, .factor = variable.factor};
    if (variable.factor) {
      summary.level = most_frequent(workers, frame, variable);
      if (variable.levels.empty()) continue;
    } else {
      const std::int64_t count = present(workers, frame, variable.numbers);
      const Extent extent = extent_of(workers, frame, static_cast<int>(index));
      if (count == 0 || !std::isfinite(extent.max - extent.min)) continue;
      summary.least = extent.min;
      std::vector<BoundedValues> found;
      if (!frame.near_medians.empty()) found = std::move(frame.near_medians[index]);
      summary.median =
          value_at(workers, frame, variable.numbers, place_of_median(count), count, std::move(found));
      summary.greatest = extent.max;
      if (block_of_means > 0) summary.mean = mean_of(workers, frame, variable.numbers, count, block_of_means);
    }
    summaries.push_back(std::move(summary));
  }
  frame.near_medians.clear();
  return summaries;
}

Occupancy occupancy_of(const Workers& workers, const Frame& frame, int x, int y) {
  constexpr std::int64_t parts = Occupancy::parts;
  const std::array<const Variable*, 2> variables{&frame.variables[at(x)], &frame.variables[at(y)]};
  const std::array<Extent, 2> extents{extent_of(workers, frame, x), extent_of(workers, frame, y)};
  std::array<double, 2> scales{};
  for (std::size_t v = 0; v < scales.size(); ++v) {
    const double size = extents[v].max - extents[v].min;
    if (size > 0) scales[v] = parts / size;
  }
  const auto part_of = [&](std::size_t v, std::size_t row) {
    return std::min(static_cast<std::int64_t>((variables[v]->numbers[row] - extents[v].min) * scales[v]),
                    parts - 1);
  };
  const auto cells =
      counts_over_rows(workers, frame, at(parts * parts),
                       [&](std::span<std::int64_t> rows, std::size_t begin, std::size_t end) {
                         for (const Variable* variable : variables) variable->prepare_to_read(begin, end);
                         for_each_complete_run(frame, begin, end, [&](std::size_t first, std::size_t last) {
                           for (std::size_t i = first; i < last; ++i)
                             ++rows[at(part_of(1, i) * parts + part_of(0, i))];
                         });
                       });
  Occupancy out{.x = variables[0]->name, .y = variables[1]->name, .cells = {}};
  for (std::int64_t j = 0; j < parts; ++j) {
    std::string& line = out.cells.emplace_back();
    for (std::int64_t i = 0; i < parts; ++i) line += cells[at(j * parts + i)] != 0 ? '1' : '0';
  }
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
