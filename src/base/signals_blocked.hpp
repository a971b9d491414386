// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <csignal>
#include <initializer_list>

namespace tessera::base {

/// Blocks asynchronous signals on this thread during its lifetime. A thread started meanwhile inherits the
/// mask, so the program's other threads receive the signals. Synchronous signals (SIGSEGV, …) and SIGPROF,
/// which profilers send to all threads, stay unblocked.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t asynchronous;
    sigfillset(&asynchronous);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF})
      sigdelset(&asynchronous, signal);
    pthread_sigmask(SIG_BLOCK, &asynchronous, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace tessera::base
