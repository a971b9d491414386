// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/backend.hpp>

#include <map>
#include <mutex>
#include <string>
#include <typeindex>

namespace TESSERA_NAMESPACE::detail {

/// The backends that were built for one device, by label: see `probe_backend_with_compile`.
class BackendOutcomes {
 public:
  struct Slot {
    std::mutex building;
    bool done = false;
    Erased built;  ///< null: the build failed
    std::type_index type = typeid(void);
    std::string reason;
  };

  /// The reference stays valid until `clear`.
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
