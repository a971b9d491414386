// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/device_columns.hpp"

#include "gam/rows/columns.hpp"
#include "gam/rows/device_memory.hpp"

#include <exception>
#include <iterator>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Smaller tiles are not uploaded during parsing, which ends before a device is ready.
constexpr std::int64_t least_upload_bytes = std::int64_t{256} << 20;

template <class T>
void upload_rows(T* to, const ColumnStorage<T>& column, std::size_t begin, std::size_t count,
                 DeviceStaging& staging, StreamView stream) {
  staging.upload(to, column.data() + begin, count * sizeof(T), stream);
  column.evict(begin, begin + count);
}
void upload_rows(double* to, const ColumnNumbers& column, std::size_t begin, std::size_t count,
                 DeviceStaging& staging, StreamView stream) {
  column.for_each_piece(begin, begin + count, [&](std::span<const double> numbers) {
    staging.upload(to, numbers.data(), numbers.size_bytes(), stream);
    to += numbers.size();
  });
  column.evict(begin, begin + count);
}

}  // namespace

void DeviceLayout::load(const RowLayout& layout, const Tile& tile) {
  if (view_.terms != nullptr) return;
  const auto keep = [&]<class T>(Buffer<T>& buffer, const std::vector<T>& host) {
    buffer = kept(host, tile);
    return static_cast<const T*>(buffer.data());
  };
  LayoutView view = layout.view();
  view.numbers = keep(numbers_, layout.tables.numbers);
  view.components = keep(components_, layout.tables.components);
  view.placements = keep(placements_, layout.placements);
  view.products = keep(products_, layout.all_products);
  view.strides = keep(strides_, layout.strides);
  view.offsets = keep(offsets_, layout.offsets);
  view.lines = keep(lines_, layout.lines);
  view.part_variables = keep(part_variables_, layout.tables.part_variables);
  view.terms = keep(terms_, layout.terms);
  view_ = view;
}

void DeviceColumns::reserve(const Rows& rows, std::int64_t count, const Tile& tile) {
  const auto take = [&]<class T>(Buffer<T>& buffer) {
    buffer = tile.buffers().take<T>(static_cast<std::size_t>(count), tile.stream());
  };
  bool taken = take_uploaded(rows, count);
  if (taken) take(complete_);
  if (count > capacity_) {
    // Free the old columns first, so that the pool reuses their memory.
    numbers_.clear();
    codes_.clear();
    current_.clear();
    complete_.reset();
    take(complete_);
    capacity_ = count;
    loaded_ = {};
    taken = true;
  }
  const std::vector<Variable>& variables = rows.frame->variables;
  for (const int index : variables_read(rows)) {
    const auto i = static_cast<std::size_t>(index);
    if (numbers_.contains(i) || codes_.contains(i)) continue;
    if (variables[i].factor)
      take(codes_[i]);
    else
      take(numbers_[i]);
    taken = true;
  }
  if (!taken) return;
  std::vector<const double*> number_pointers(variables.size(), nullptr);
  std::vector<const std::int32_t*> code_pointers(variables.size(), nullptr);
  for (const auto& [index, column] : numbers_) number_pointers[index] = column.data();
  for (const auto& [index, column] : codes_) code_pointers[index] = column.data();
  number_columns_ = kept(number_pointers, tile);
  code_columns_ = kept(code_pointers, tile);
}

// Takes over the uploaded columns. False if there are none of `count` rows.
bool DeviceColumns::take_uploaded(const Rows& rows, std::int64_t count) {
  auto uploaded = std::exchange(uploaded_, std::nullopt);
  if (!uploaded || uploaded->rows.size() != count) return false;
  capacity_ = count;
  loaded_ = uploaded->rows;
  const std::vector<Variable>& variables = rows.frame->variables;
  for (UploadedColumn& column : uploaded->columns) {
    const auto variable = std::ranges::find(variables, column.name, &Variable::name);
    if (variable == variables.end() || !variable->numbers.is_same_memory(column.numbers)) continue;
    const auto i = static_cast<std::size_t>(variable - variables.begin());
    numbers_[i] = std::move(column.buffer);
    missing_[i] = column.missing;
  }
  return true;
}

void DeviceColumns::load(const Rows& rows, Range range, DeviceStaging& staging, StreamView stream) {
  const Frame& frame = *rows.frame;
  const auto begin = static_cast<std::size_t>(range.begin - frame.rows.begin);
  const auto count = static_cast<std::size_t>(range.size());
  if (range != loaded_) {
    marked_ = false;
    current_.clear();
    missing_.clear();
    loaded_ = range;
  }
  if (!marked_) upload_rows(complete_.data(), frame.complete, begin, count, staging, stream);
  marked_ = true;
  for (const int index : variables_read(rows)) {
    const auto i = static_cast<std::size_t>(index);
    if (current_.contains(i)) continue;
    const Variable& variable = frame.variables[i];
    if (variable.factor)
      upload_rows(codes_.at(i).data(), variable.codes, begin, count, staging, stream);
    else
      load_numbers(i, variable.numbers, begin, count, staging, stream);
    current_.insert(i);
  }
}

void DeviceColumns::load_numbers(std::size_t variable, const ColumnNumbers& column, std::size_t begin,
                                 std::size_t count, DeviceStaging& staging, StreamView stream) {
  double* const to = numbers_.at(variable).data();
  const auto partly = missing_.find(variable);
  if (partly == missing_.end()) return upload_rows(to, column, begin, count, staging, stream);
  for (const Range rows : partly->second) {
    const auto first = static_cast<std::size_t>(rows.begin);
    upload_rows(to + first, column, begin + first, static_cast<std::size_t>(rows.size()), staging, stream);
  }
}

RowRuns::RowRuns(TileColumns& on, const Rows& rows, const Tile& tile, const DeviceDivision& division)
    : on_(on), rows_(rows), tile_(tile), division_(division), at_(tile.range().begin) {
  if (division_.resident > 0) on_.resident.reserve(rows, division_.resident, tile);
  if (division_.part == 0) return;
  for (TileColumns::Part& part : on_.parts) part.columns.reserve(rows, division_.part, tile);
  on_.begun.record(tile.stream());
  on_.begun.make_wait(on_.copies);
}

RowRuns::~RowRuns() {
  if (parts_ == 0) return;
  try {
    on_.copies.synchronize();
  } catch (const std::exception&) {
    // The tile's stream has failed too, and its synchronisation reports the reason.
  }
}

std::optional<RowRuns::Run> RowRuns::next() {
  if (current_ != nullptr) current_->summed.record(tile_.stream());
  const Range all = tile_.range();
  if (at_ == all.end) return std::nullopt;
  const bool stays = at_ == all.begin && division_.resident > 0;
  const std::int64_t size = std::min(stays ? division_.resident : division_.part, all.end - at_);
  const Range range{at_, at_ + size};
  at_ = range.end;
  if (!stays) return next_part(range);
  on_.resident.load(rows_, range, on_.staging, tile_.stream());
  return Run{size, on_.resident.view()};
}

RowRuns::Run RowRuns::next_part(Range range) {
  current_ = &on_.parts.at(parts_++ % parts_at_once);
  // An event that was never recorded counts as complete.
  current_->summed.make_wait(on_.copies);
  current_->columns.load(rows_, range, on_.staging, on_.copies);
  current_->copied.record(on_.copies);
  current_->copied.make_wait(tile_.stream());
  return {range.size(), current_->columns.view()};
}

TileColumns& DeviceTable::of(const Tile& tile, const DeviceContext& context) {
  TileColumns* made = nullptr;
  {
    const std::lock_guard lock(mutex_);
    auto& slot = lanes_[{tile.device_index(), tile.lane()}];
    if (slot) return *slot;
    slot = std::make_unique<TileColumns>(context, copy_threads_);
    made = slot.get();
  }
  if (upload_) {
    if (auto uploaded = upload_->finish(tile.device_index())) made->resident.bring(std::move(*uploaded));
  }
  return *made;
}

NumberTaker* begin_upload(DeviceTable& table, Job& job, const Plan& plan,
                          const std::vector<NamedNumbers>& columns, std::int64_t bytes_per_row) {
  if (columns.empty()) return nullptr;
  auto upload = std::make_unique<ColumnUpload>(job, job.host_team().size(), columns);
  const int rank = job.comm().rank();
  const std::int64_t first = job.local_range(plan).begin;
  const auto tiles = plan.tiles_of(rank);
  bool any = false;
  for (std::size_t i = 0; i < job.devices().size(); ++i) {
    const int device = job.devices().entries()[i].claim_index;
    const InventoryDevice& known = job.inventory().devices_of(rank)[static_cast<std::size_t>(device)];
    if (known.has_host_memory() || known.excluded) continue;
    const auto tile = std::ranges::find(tiles, device, &PlannedTile::device);
    if (tile == tiles.end()) continue;
    const std::int64_t budget = table.budget_bytes(known.memory_budget_bytes);
    const std::int64_t bytes = tile->units.size() * bytes_per_row;
    if (bytes < least_upload_bytes || bytes > budget - budget / scratch_share) continue;
    upload->add(i, *tile, static_cast<std::size_t>(tile->units.begin - first));
    any = true;
  }
  if (!any) return nullptr;
  NumberTaker* const taker = upload.get();
  table.set_upload(std::move(upload));
  return taker;
}

std::shared_ptr<DeviceTable> make_device_table(const Job& job, std::int64_t device_bytes) {
  // 8 threads copy at 51 GB/s to each of two H200 (bus: 55 GB/s). With 16, the pieces exceed the cache.
  constexpr std::int64_t most_threads = 8;
  const std::int64_t devices = std::ssize(job.inventory().devices_of(job.comm().rank()));
  const std::int64_t threads =
      std::clamp<std::int64_t>(job.threads() / std::max<std::int64_t>(1, devices), 1, most_threads);
  return std::make_shared<DeviceTable>(static_cast<int>(threads), device_bytes);
}

}  // namespace TESSERA_NAMESPACE::gam
