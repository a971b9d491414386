// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE {

/// Catches signals during its lifetime: sets a flag, and calls the application's handler. Only one object can
/// exist at a time, because handlers are process-wide.
///
/// If the application replaces our handler, `reinstall` chains the new handler: ours calls it. The new
/// handler may also call ours, even after this object is destroyed.
class SignalHandlers {
 public:
  /// Throws `Error(usage)` for a signal that cannot be caught, or if another object catches signals.
  explicit SignalHandlers(const std::vector<int>& signals);
  /// Restores the application's latest handlers.
  ~SignalHandlers();
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;

  /// The first signal that was caught; 0: none.
  [[nodiscard]] int caught() const noexcept;

  /// Reinstalls our handlers that the application has replaced, and reports this once per signal. Cost: a
  /// system call per signal.
  void reinstall(int rank);

 private:
  struct Installed {
    int signal = 0;
    int level = -1;  ///< level of the installed handler
    bool was_replaced = false;
  };

  static bool install(Installed& installed) noexcept;
  void restore() noexcept;

  bool owner_ = false;
  std::vector<Installed> installed_;
};

[[nodiscard]] std::string name_of_signal(int signal);

}  // namespace TESSERA_NAMESPACE
