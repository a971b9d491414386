// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// A direct-mapped cache for looking up short texts, which are compared as integers. Longer texts and evicted
/// texts are not found.
template <class Entry>
class LevelCache {
 public:
  [[nodiscard]] const Entry* find(std::string_view text) const noexcept {
    if (text.size() > longest) return nullptr;
    const Key key(text);
    const Slot& slot = slots_[key.place()];
    return slot.key == key ? &slot.entry : nullptr;
  }

  void keep(std::string_view text, const Entry& entry) noexcept {
    if (text.size() > longest) return;
    const Key key(text);
    slots_[key.place()] = {key, entry};
  }

 private:
  static constexpr std::size_t longest = 16;
  static constexpr int log_slots = 9;

  /// The bytes of a text in two words that may overlap.
  struct Key {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t size = longest + 1;  // matches no text

    Key() = default;
    explicit Key(std::string_view text) noexcept : size(text.size()) {
      const std::size_t half = size >= 8 ? 8 : size >= 4 ? 4 : size >= 2 ? 2 : size;
      copy(text.data(), half, first);
      copy(text.data() + size - half, half, last);
    }
    [[nodiscard]] std::size_t place() const noexcept {
      const std::uint64_t mixed = (first ^ (last << 5 | last >> 59) ^ size << 60) * 0x9E3779B97F4A7C15;
      return static_cast<std::size_t>(mixed >> (64 - log_slots));
    }
    friend bool operator==(const Key&, const Key&) = default;
  };

  // Constant sizes, so that memcpy is inlined.
  static void copy(const char* from, std::size_t size, std::uint64_t& to) noexcept {
    switch (size) {
      case 8: std::memcpy(&to, from, 8); break;
      case 4: std::memcpy(&to, from, 4); break;
      case 2: std::memcpy(&to, from, 2); break;
      case 1: std::memcpy(&to, from, 1); break;
      default: break;
    }
  }

  struct Slot {
    Key key;
    Entry entry;
  };
  std::array<Slot, std::size_t{1} << log_slots> slots_;
};

}  // namespace TESSERA_NAMESPACE::gam
