// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/column_upload.hpp"

#include "base/at.hpp"
#include "base/signals_blocked.hpp"
#include "gam/rows/device_memory.hpp"

#include <tessera/memory/device_buffer_pools.hpp>

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Size of a piece in numbers (1 MiB). Two H200 receive 92 GB/s from 32 threads; 80 GB/s at half the size.
constexpr std::size_t largest_piece = std::size_t{1} << 17;
/// Pinned memory per device in numbers (96 MiB): pinning takes a third of a second per GiB.
constexpr std::size_t most_pinned = 96 * largest_piece;

/// Sorts and joins adjacent ranges: consecutive blocks come from different threads.
void join_neighbours(std::vector<Range>& ranges) {
  std::ranges::sort(ranges, {}, &Range::begin);
  std::size_t joined = 0;
  for (const Range& range : ranges) {
    if (joined > 0 && ranges[joined - 1].end == range.begin)
      ranges[joined - 1].end = range.end;
    else
      ranges[joined++] = range;
  }
  ranges.resize(joined);
}

}  // namespace

ColumnUpload::ColumnUpload(Job& job, int threads, const std::vector<NamedNumbers>& columns)
    : job_(job),
      threads_(threads),
      piece_numbers_(
          std::clamp(most_pinned / (at(threads) * Feed::pieces), largest_piece / 16, largest_piece)) {
  for (const NamedNumbers& column : columns) {
    places_.emplace(column.numbers, columns_.size());
    columns_.push_back({column.name, *column.numbers});
  }
}

ColumnUpload::~ColumnUpload() {
  for (auto& [device, on] : devices_) {
    if (on->prepared.valid()) on->prepared.wait();
    if (!on->stream) continue;
    try {
      on->stream->synchronize();
    } catch (const std::exception&) {
      // The device failed: nothing to wait for.
    }
  }
}

void ColumnUpload::add(std::size_t index, const PlannedTile& tile, std::size_t first) {
  auto on = std::make_unique<OnDevice>();
  on->rows = tile.units;
  on->first = first;
  on->given.resize(at(threads_));
  for (Given& given : on->given) given.rows.resize(columns_.size());
  OnDevice& kept = *devices_.emplace(tile.device, std::move(on)).first->second;
  try {
    const base::SignalsBlocked blocked;
    kept.prepared = std::async(std::launch::async, [this, &kept, index] {
      try {
        prepare(kept, index);
      } catch (const std::exception&) {
        kept.failed = true;  // the first pass fails likewise, and reports the error
      }
    });
  } catch (const std::system_error&) {
    kept.failed = true;
  }
}

void ColumnUpload::prepare(OnDevice& on, std::size_t index) {
  const DeviceContext& context = job_.devices().context_at(index);
  context.bind();
  on.context = &context;
  BufferPool& pool = job_.buffers().pool_at(index);
  for (std::size_t i = 0; i < columns_.size(); ++i)
    on.buffers.push_back(pool.take<double>(at(on.rows.size()), context.stream()));
  on.stream.emplace(context);
  for (int thread = 0; thread < threads_; ++thread) on.feeds.emplace_back(context);
  on.pinned = PinnedBuffer<double>(at(threads_) * Feed::pieces * piece_numbers_, context);
  // Makes the buffers ready on any stream, and free of earlier work.
  context.synchronize();
  on.ready.store(true, std::memory_order_release);
}

void ColumnUpload::begin() noexcept {
  for (auto& [device, on] : devices_) {
    for (Given& given : on->given) {
      std::ranges::fill(given.rows, std::size_t{0});
      given.missing.clear();
    }
  }
}

void ColumnUpload::take(int thread, const ColumnNumbers& column, std::size_t first,
                        std::span<const double> numbers) noexcept {
  const auto place = places_.find(&column);
  if (place == places_.end()) return;
  for (auto& [device, on] : devices_) {
    const std::size_t begin = std::max(first, on->first);
    const std::size_t end = std::min(first + numbers.size(), on->first + at(on->rows.size()));
    if (begin >= end || on->failed) continue;
    try {
      Given& given = on->given[at(thread)];
      given.rows[place->second] += end - begin;
      if (on->ready.load(std::memory_order_acquire)) {
        copy(*on, thread, place->second, begin - on->first, numbers.subspan(begin - first, end - begin));
        continue;
      }
      const Range rows{static_cast<std::int64_t>(begin - on->first),
                       static_cast<std::int64_t>(end - on->first)};
      std::vector<Missing>& missing = given.missing;
      if (!missing.empty() && missing.back().column == place->second && missing.back().rows.end == rows.begin)
        missing.back().rows.end = rows.end;
      else
        missing.push_back({place->second, rows});
    } catch (const std::exception&) {
      on->failed = true;
    }
  }
}

double* ColumnUpload::piece_of(const OnDevice& on, int thread) const {
  const Feed& feed = on.feeds[at(thread)];
  return on.pinned.data() + (at(thread) * Feed::pieces + feed.piece) * piece_numbers_;
}

void ColumnUpload::copy(OnDevice& on, int thread, std::size_t column, std::size_t row,
                        std::span<const double> numbers) {
  on.context->bind();
  Feed& feed = on.feeds[at(thread)];
  double* to = on.buffers[column].data() + row;
  while (!numbers.empty()) {
    if (feed.filled > 0 && to != feed.to + feed.filled) submit(on, thread);
    if (feed.filled == 0) {
      feed.copied[feed.piece].synchronize();
      feed.to = to;
    }
    const std::size_t count = std::min(numbers.size(), piece_numbers_ - feed.filled);
    std::copy_n(numbers.data(), count, piece_of(on, thread) + feed.filled);
    feed.filled += count;
    to += count;
    numbers = numbers.subspan(count);
    if (feed.filled == piece_numbers_) submit(on, thread);
  }
}

void ColumnUpload::submit(OnDevice& on, int thread) {
  Feed& feed = on.feeds[at(thread)];
  check(cudaMemcpyAsync(feed.to, piece_of(on, thread), feed.filled * sizeof(double), cudaMemcpyHostToDevice,
                        native(*on.stream)),
        "copy of columns to the device");
  feed.copied[feed.piece].record(*on.stream);
  feed.piece = (feed.piece + 1) % Feed::pieces;
  feed.filled = 0;
}

std::optional<UploadedColumns> ColumnUpload::finish(int device) {
  const auto found = devices_.find(device);
  if (found == devices_.end()) return std::nullopt;
  OnDevice& on = *found->second;
  if (on.prepared.valid()) on.prepared.wait();
  if (on.failed) return std::nullopt;
  try {
    on.context->bind();
    for (int thread = 0; thread < threads_; ++thread) {
      if (on.feeds[at(thread)].filled > 0) submit(on, thread);
    }
    on.stream->synchronize();
  } catch (const std::exception&) {
    return std::nullopt;  // the pass fails likewise, and reports the error
  }
  UploadedColumns out{on.rows, {}};
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    UploadedColumn column{columns_[i].name, columns_[i].numbers, std::move(on.buffers[i]), {}};
    std::size_t rows = 0;
    for (const Given& given : on.given) {
      rows += given.rows[i];
      for (const Missing& missing : given.missing) {
        if (missing.column == i) column.missing.push_back(missing.rows);
      }
    }
    join_neighbours(column.missing);
    // A column that was not read with the table is left to the pass that needs it.
    if (rows == at(on.rows.size())) out.columns.push_back(std::move(column));
  }
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
