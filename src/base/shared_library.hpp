// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <string>
#include <utility>

namespace tessera::base {

/// A shared library opened at run time, so that a program starts without it.
class SharedLibrary {
 public:
  enum class Opening {
    closed_later,  ///< opened, and closed with this object
    kept_open,     ///< stays loaded until exit, for libraries that start threads or register handlers
    /// Like `kept_open`, with all symbols resolved now: a missing symbol fails the opening, not a later call.
    kept_open_resolved,
    if_loaded,  ///< opened only if this process has already loaded it
  };

  SharedLibrary() = default;
  /// `file`: a path, or a name that is searched for in the system's library path.
  explicit SharedLibrary(const std::string& file, Opening opening = Opening::closed_later)
      : handle_(dlopen(file.c_str(), RTLD_LOCAL | flags_of(opening))) {
    if (handle_ != nullptr) return;
    const char* const reason = dlerror();
    why_not_ = reason != nullptr ? reason : file + " is not loaded";
  }
  ~SharedLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  SharedLibrary(SharedLibrary&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), why_not_(std::move(other.why_not_)) {}
  SharedLibrary& operator=(SharedLibrary&& other) noexcept {
    std::swap(handle_, other.handle_);
    why_not_.swap(other.why_not_);
    return *this;
  }

  [[nodiscard]] bool is_open() const noexcept { return handle_ != nullptr; }
  /// The system's reason if the library was not opened.
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }
  /// The path at which the system found the library; empty if it is not open.
  [[nodiscard]] std::string file() const {
    link_map* map = nullptr;
    return is_open() && dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : std::string();
  }

  [[nodiscard]] void* address_of(const char* symbol) const noexcept {
    return is_open() ? dlsym(handle_, symbol) : nullptr;
  }
  /// An address that converts to a pointer to a function, whose type the caller guarantees. Null if the
  /// symbol is missing.
  struct Symbol {
    void* address;
    template <class Function>
    operator Function*() const noexcept {  // NOLINT(google-explicit-constructor): it initialises members
      return reinterpret_cast<Function*>(address);
    }
  };
  [[nodiscard]] Symbol symbol(const char* name) const noexcept { return {address_of(name)}; }
  /// Sets `entry` to the address of `symbol`; the caller guarantees its type. Null and false if the symbol or
  /// the library is missing.
  template <class Function>
  bool find(Function*& entry, const char* symbol) const noexcept {
    entry = reinterpret_cast<Function*>(address_of(symbol));
    return entry != nullptr;
  }

 private:
  static constexpr int flags_of(Opening opening) noexcept {
    switch (opening) {
      case Opening::closed_later: return RTLD_LAZY;
      case Opening::kept_open: return RTLD_LAZY | RTLD_NODELETE;
      case Opening::kept_open_resolved: return RTLD_NOW | RTLD_NODELETE;
      case Opening::if_loaded: return RTLD_LAZY | RTLD_NOLOAD;
    }
    return RTLD_LAZY;
  }

  void* handle_ = nullptr;
  std::string why_not_;
};

}  // namespace tessera::base
