// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace TESSERA_NAMESPACE {

/// Type-erased callables: a `FunctionRef` does not own its callable, a `SharedFunction` does. Both accept any
/// callable with the signature, move-only ones included. They are empty if made from a null pointer or an
/// empty `std::function`; a call of an empty object is undefined behaviour. The standard equivalents are
/// newer than C++20 (`std::function_ref`, `std::move_only_function`), and the header functional takes long to
/// compile.
template <class Signature>
class FunctionRef;
template <class Signature>
class SharedFunction;

namespace detail {

template <class Function, class Result, class... Args>
concept Calls = requires(Function& function, Args... args) {
  function(std::forward<Args>(args)...);
  requires std::is_void_v<Result> ||
      std::is_convertible_v<decltype(function(std::forward<Args>(args)...)), Result>;
};

template <class Function>
[[nodiscard]] bool is_null(const Function& function) noexcept {
  if constexpr (std::is_pointer_v<Function>)
    return function == nullptr;
  else if constexpr (requires { function.operator bool(); })
    return !static_cast<bool>(function);
  else
    return false;
}

}  // namespace detail

/// A non-owning reference to a callable, for parameters that are called before the function returns. Do not
/// store it, and do not initialise a variable of this type from a temporary: the reference would dangle.
template <class Result, class... Args>
class FunctionRef<Result(Args...)> {
 public:
  FunctionRef() = default;
  // NOLINTBEGIN(google-explicit-constructor, bugprone-forwarding-reference-overload): implicit by design
  FunctionRef(std::nullptr_t) noexcept {}
  template <class Function>
  requires(!std::is_same_v<std::remove_cvref_t<Function>, FunctionRef> &&
           detail::Calls<std::remove_reference_t<Function>, Result, Args...>) FunctionRef(Function&& function)
  noexcept {
    using Referred = std::remove_reference_t<Function>;
    if constexpr (std::is_function_v<Referred>) {
      target_.function = reinterpret_cast<void (*)()>(&function);
      call_ = [](Target target, Args... args) -> Result {
        return static_cast<Result>(reinterpret_cast<Referred*>(target.function)(std::forward<Args>(args)...));
      };
    } else if (!detail::is_null(function)) {
      target_.object = const_cast<void*>(static_cast<const void*>(std::addressof(function)));
      call_ = [](Target target, Args... args) -> Result {
        return static_cast<Result>((*static_cast<Referred*>(target.object))(std::forward<Args>(args)...));
      };
    }
  }
  // NOLINTEND(google-explicit-constructor, bugprone-forwarding-reference-overload)

  explicit operator bool() const noexcept { return call_ != nullptr; }
  Result operator()(Args... args) const { return call_(target_, std::forward<Args>(args)...); }

 private:
  union Target {
    void* object = nullptr;
    void (*function)();
  };
  Target target_{};
  Result (*call_)(Target, Args...) = nullptr;
};

/// A callable with shared ownership: all copies call the same object, and a move is a copy. Calls are not
/// synchronised.
template <class Result, class... Args>
class SharedFunction<Result(Args...)> {
 public:
  SharedFunction() = default;
  // NOLINTBEGIN(google-explicit-constructor, bugprone-forwarding-reference-overload): implicit by design
  SharedFunction(std::nullptr_t) noexcept {}
  template <class Function>
  requires(!std::is_same_v<std::remove_cvref_t<Function>, SharedFunction> &&
           detail::Calls<std::decay_t<Function>, Result, Args...>) SharedFunction(Function&& function) {
    const auto held = std::make_shared<std::decay_t<Function>>(std::forward<Function>(function));
    call_ = *held;
    owned_ = held;
  }
  // NOLINTEND(google-explicit-constructor, bugprone-forwarding-reference-overload)
  SharedFunction(const SharedFunction&) = default;
  SharedFunction& operator=(const SharedFunction&) = default;
  ~SharedFunction() = default;

  explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  Result operator()(Args... args) const { return call_(std::forward<Args>(args)...); }

 private:
  std::shared_ptr<const void> owned_;
  FunctionRef<Result(Args...)> call_;
};

}  // namespace TESSERA_NAMESPACE
