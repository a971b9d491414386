// SPDX-License-Identifier: Apache-2.0
#include "gam/c/handles.hpp"

#include "base/hash.hpp"

#include <tessera/error.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <limits>
#include <mutex>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam::c {
namespace {

std::string_view name_of(Kind kind) {
  return kind == Kind::table ? "table" : kind == Kind::model ? "model" : "answer";
}

/// Holds one object at a time. `generation` is part of the handle of the present object or, in an empty slot,
/// of the next object.
struct Slot {
  std::uint32_t generation = 0;
  Kind kind{};
  std::shared_ptr<void> object{};
};

/// A handle packs kind (8 bits), generation (32) and slot (24).
class HandleTable {
 public:
  std::uint64_t add(Kind kind, std::shared_ptr<void> object) {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) {
      if (slots_.size() > slot_mask) refuse("too many handles are open: close unused handles");
      free_.reserve(slots_.size() + 1);  // so that closing allocates nothing
      slots_.push_back({.generation = first_generation_});
      free_.push_back(slots_.size() - 1);
    }
    const std::size_t index = free_.back();
    free_.pop_back();
    Slot& slot = slots_[index];
    slot.kind = kind;
    slot.object = std::move(object);
    return std::uint64_t{static_cast<std::uint8_t>(kind)} << 56 | std::uint64_t{slot.generation} << 24 |
           index;
  }

  std::shared_ptr<void> find(Kind kind, std::uint64_t handle) {
    const std::scoped_lock lock(mutex_);
    return slot_of(kind, handle).object;
  }

  void close(Kind kind, std::uint64_t handle) {
    std::shared_ptr<void> closed;  // declared before the lock, so that the object is destroyed after the
                                   // mutex is unlocked
    const std::scoped_lock lock(mutex_);
    closed = release(static_cast<std::size_t>(&slot_of(kind, handle) - slots_.data()));
  }

  void change_unused(Kind kind, std::uint64_t handle, FunctionRef<void(void*)> change) {
    const std::scoped_lock lock(mutex_);
    const Slot& slot = slot_of(kind, handle);
    // The use count cannot rise while the mutex is locked.
    if (slot.object.use_count() > 1)
      refuse(
          fmt::format("the {} is in use by another call: wait until this call has returned", name_of(kind)));
    change(slot.object.get());
  }

  void close_all() {
    std::vector<std::shared_ptr<void>> closed;
    const std::scoped_lock lock(mutex_);
    closed.reserve(slots_.size());
    for (std::size_t index = 0; index < slots_.size(); ++index) {
      if (slots_[index].object) closed.push_back(release(index));
    }
  }

 private:
  static constexpr std::uint64_t slot_mask = (std::uint64_t{1} << 24) - 1;

  std::shared_ptr<void> release(std::size_t index) {
    Slot& slot = slots_[index];
    // A slot is not reused after its last generation: an old handle could otherwise name a new object.
    if (slot.generation++ != last_generation_) free_.push_back(index);
    return std::exchange(slot.object, nullptr);
  }

  Slot& slot_of(Kind kind, std::uint64_t handle) {
    if (handle == 0)
      refuse(
          fmt::format("the handle of the {} is 0: give a handle that the library returned", name_of(kind)));
    const auto index = static_cast<std::size_t>(handle & slot_mask);
    const auto given = static_cast<std::uint8_t>(handle >> 56);
    if (given != static_cast<std::uint8_t>(kind) && given >= 1 && given <= 3)
      refuse(fmt::format("the handle is for a {}, but the call needs a handle for a {}", name_of(Kind{given}),
                         name_of(kind)));
    if (given != static_cast<std::uint8_t>(kind) || index >= slots_.size())
      refuse(fmt::format("{:#x} is not a handle of a {}: give a handle that the library returned", handle,
                         name_of(kind)));
    Slot& slot = slots_[index];
    if (!slot.object || slot.kind != kind || slot.generation != static_cast<std::uint32_t>(handle >> 24))
      refuse(fmt::format(
          "{:#x} is not an open {}: the handle was closed, or comes from another copy of the library", handle,
          name_of(kind)));
    return slot;
  }

  std::mutex mutex_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> free_;
  /// Differs between loads of the library, so that handles from another load are refused.
  std::uint32_t first_generation_ = static_cast<std::uint32_t>(base::split_mix(
      static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count())));
  std::uint32_t last_generation_ = first_generation_ - 1;
};

HandleTable& handles() {
  static HandleTable table;
  return table;
}

}  // namespace

std::uint64_t add_handle(Kind kind, std::shared_ptr<void> object) {
  return handles().add(kind, std::move(object));
}
std::shared_ptr<void> find_handle(Kind kind, std::uint64_t handle) {
  return handles().find(kind, handle);
}
void close_handle(Kind kind, std::uint64_t handle) {
  handles().close(kind, handle);
}
void change_unused(Kind kind, std::uint64_t handle, FunctionRef<void(void*)> change) {
  handles().change_unused(kind, handle, change);
}
void close_all_handles() {
  handles().close_all();
}

std::vector<Model> models_of(const std::uint64_t* models, std::size_t count) {
  require(models, "models");
  if (count == 0) refuse("no model is given: give one or more");
  require_possible(count, "models");
  std::vector<Model> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(*object_of<Model>(models[i]));
  return all;
}

}  // namespace TESSERA_NAMESPACE::gam::c
