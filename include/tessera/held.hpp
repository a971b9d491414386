// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace TESSERA_NAMESPACE::detail {

/// The name of a type, as a template's argument.
template <std::size_t Size>
struct TypeName {
  char text[Size]{};

  // NOLINTNEXTLINE(google-explicit-constructor): a literal is one
  constexpr TypeName(const char (&of)[Size]) noexcept {
    for (std::size_t i = 0; i < Size; ++i) text[i] = of[i];
  }
};

/// Throws `Error(usage)`: "this Array was moved from: use the object that it was moved to".
[[noreturn]] TESSERA_EXPORT void refuse_moved_from(const char* type);

/// The state of an object of a movable type, as a `std::unique_ptr<State>` or any other `Handle` that is null
/// only in a moved-from object. All access is checked: members of a moved-from object throw by
/// `refuse_moved_from`. A member that must not throw checks `operator bool` first. Cost: a comparison.
template <class Handle, TypeName type>
class Held {
 public:
  Held() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): it stands in the place of the handle
  Held(Handle handle) noexcept : handle_(std::move(handle)) {}
  ~Held() = default;
  Held(Held&& other) noexcept : handle_(other.take()) {}
  Held& operator=(Held&& other) noexcept {
    handle_ = other.take();
    return *this;
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(handle_); }
  [[nodiscard]] const Handle& handle() const {
    if (!*this) [[unlikely]]
      refuse_moved_from(type.text);
    return handle_;
  }
  [[nodiscard]] auto& operator*() const { return *handle(); }
  [[nodiscard]] auto* operator->() const { return std::addressof(*handle()); }
  /// Returns the handle; it is null from then on.
  [[nodiscard]] Handle take() noexcept { return std::exchange(handle_, Handle{}); }

 private:
  Handle handle_{};
};

}  // namespace TESSERA_NAMESPACE::detail
