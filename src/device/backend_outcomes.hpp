// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/backend.hpp>

#include <map>
#include <mutex>
#include <string>
#include <typeindex>

namespace TESSERA_NAMESPACE::detail {

/// The results of the build steps of one device's backends, by label.
class BackendOutcomes {
 public:
  struct Slot {
    std::mutex building;
    bool done = false;
    Erased built;  ///< null: the build failed
    std::type_index type = typeid(void);
    std::string reason;
  };

  /// The reference is valid as long as this object.
  Slot& slot_of(std::string_view label) {
    const std::lock_guard lock(mutex_);
    return slots_[std::string(label)];
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    slots_.clear();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Slot> slots_;
};

}  // namespace TESSERA_NAMESPACE::detail
