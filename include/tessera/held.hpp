// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace TESSERA_NAMESPACE::detail {

/// A string literal as a template argument: the name of a type.
template <std::size_t Size>
struct TypeName {
  char text[Size]{};

  // NOLINTNEXTLINE(google-explicit-constructor): implicit, to accept a literal
  constexpr TypeName(const char (&of)[Size]) noexcept {
    for (std::size_t i = 0; i < Size; ++i) text[i] = of[i];
  }
};

/// Throws `Error(usage)`: "this Array was moved from: use the object that it was moved to".
[[noreturn]] TESSERA_EXPORT void refuse_moved_from(const char* type);

/// A handle to the state of a movable object, such as a `std::unique_ptr<State>`, which is null only after
/// the object was moved from. Every access checks the handle, and throws by `refuse_moved_from` if it is
/// null. Members that must not throw check `operator bool` first. Cost: a comparison.
template <class Handle, TypeName type>
class Held {
 public:
  Held() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): implicit, as a wrapper of the handle
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
  /// Returns the handle, and leaves a null handle.
  [[nodiscard]] Handle take() noexcept { return std::exchange(handle_, Handle{}); }

 private:
  Handle handle_{};
};

}  // namespace TESSERA_NAMESPACE::detail
