// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace tessera::inline TESSERA_ABI {

/// Catches some signals while it lives: a flag is set, and the handler that the application had is called.
/// One at a time, as handlers are the process's.
///
/// The application may set a handler of its own meanwhile. It is then chained like the first, once `keep` has
/// found it, and may itself call what it found, as handlers do that chain: each of them calls the one before,
/// also after the end of the object that caught them all.
class SignalHandlers {
 public:
  /// Throws `Error(usage)` for a signal that cannot be caught, or if another object catches signals.
  explicit SignalHandlers(const std::vector<int>& signals);
  /// Puts the application's last handlers back.
  ~SignalHandlers();
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;

  /// The first signal that was caught; 0: none.
  [[nodiscard]] int caught() const noexcept;

  /// Takes back, and chains, what the application has set since; says so once for each signal. Cost: a system
  /// call for each.
  void keep(int rank);

 private:
  struct Taken {
    int signal = 0;
    int level = -1;  ///< of the handler that is called now
    bool was_lost = false;
  };

  static bool take(Taken& its) noexcept;
  void restore() noexcept;

  bool owner_ = false;
  std::vector<Taken> taken_;
};

/// "SIGUSR1"
[[nodiscard]] std::string name_of_signal(int signal);

}  // namespace tessera::inline TESSERA_ABI
