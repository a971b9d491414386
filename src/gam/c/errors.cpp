// SPDX-License-Identifier: Apache-2.0
#include "gam/c/errors.hpp"

#include "base/stack_left.hpp"
#include "base/utf8.hpp"
#include "gam/c/handles.hpp"
#include "gam/c/structures.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/formula.hpp>
#include <tessera/mpi/library.hpp>

#include <fmt/format.h>
#include <pthread.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_set>
#include <utility>

namespace TESSERA_NAMESPACE::gam::c {
namespace {

struct LastError {
  int status = TESSERA_GAM_OK;
  std::string message{};
  std::string lines{};
  const char* function = "";
  std::int64_t position = -1;
};

/// The last error of a thread, and the last text returned to it.
struct Told {
  LastError error{};
  std::string text{};
};

/// The `Told` of every thread, freed by the destructor of a pthread key. A thread-local object with a
/// destructor would keep the library loaded after dlclose until the thread ends.
class ToldThreads {
 public:
  ToldThreads() : has_key_(pthread_key_create(&key_, &forget_thread) == 0) {}
  ~ToldThreads() {
    if (has_key_) pthread_key_delete(key_);
  }
  ToldThreads(const ToldThreads&) = delete;
  ToldThreads& operator=(const ToldThreads&) = delete;

  static ToldThreads& all() {
    static ToldThreads threads;
    return threads;
  }

  /// The `Told` of the calling thread, created by its first call. Throws `std::bad_alloc`.
  Told& own() {
    if (of_thread == nullptr) {
      auto told = std::make_unique<Told>();
      const std::scoped_lock lock(mutex_);
      told_.insert(told.get());
      of_thread = told.release();
      if (has_key_) pthread_setspecific(key_, of_thread);
    }
    return *of_thread;
  }

  /// Frees the texts of all threads. Other threads keep their (empty) `Told`, because they point to it.
  void forget_all() noexcept {
    if (of_thread != nullptr) {
      forget(of_thread);
      if (has_key_) pthread_setspecific(key_, nullptr);
    }
    const std::scoped_lock lock(mutex_);
    for (Told* const told : told_) *told = {};
  }

 private:
  static void forget_thread(void* told) noexcept { all().forget(static_cast<Told*>(told)); }
  void forget(Told* told) noexcept {
    const std::scoped_lock lock(mutex_);
    told_.erase(told);
    delete told;
    of_thread = nullptr;
  }

  static thread_local Told* of_thread;

  pthread_key_t key_{};
  bool has_key_;
  std::mutex mutex_;
  std::unordered_set<Told*> told_;
};
thread_local Told* ToldThreads::of_thread = nullptr;

/// Number of calls in progress; far below 0 while the library is being shut down.
std::atomic<std::int64_t> calls = 0;
constexpr std::int64_t shutting_down = std::numeric_limits<std::int64_t>::min() / 2;

void describe(LastError& error, std::string_view formula) {
  try {
    throw;
  } catch (const FormulaError& refused) {
    error.status = TESSERA_GAM_USAGE;
    error.message = refused.what();
    if (formula.empty() || refused.refusals().empty()) return;
    error.position = static_cast<std::int64_t>(refused.refusals().front().position);
    error.lines = refused.in_lines(formula);
  } catch (const Error& refused) {
    error.status = exit_status(refused.code());
    error.message = refused.what();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& failure) {
    error.message = failure.what();
  } catch (...) {
    error.message = "an exception that is not a std::exception";
  }
}

}  // namespace

int keep_error(const char* function, std::string_view formula) noexcept {
  LastError* error = nullptr;
  try {
    error = &ToldThreads::all().own().error;
  } catch (const std::bad_alloc&) {
    return TESSERA_GAM_FAULT;
  }
  error->status = TESSERA_GAM_FAULT;
  error->function = function;
  error->position = -1;
  error->lines.clear();
  try {
    describe(*error, formula);
  } catch (...) {
    error->message = "out of memory";  // short enough to need no allocation
  }
  return error->status;
}

CallInProgress::CallInProgress() {
  base::require_stack(base::kib_of_a_call, "the library");
  if (calls.fetch_add(1) >= 0) return;
  calls.fetch_sub(1);
  refuse("the library is shutting down: call again after tessera_gam_shutdown has returned");
}
CallInProgress::~CallInProgress() {
  calls.fetch_sub(1);
}

void refuse(const std::string& why) {
  throw Error(ErrorCode::usage, why);
}

void require(const void* argument, const char* name) {
  if (argument == nullptr) refuse(fmt::format("{} is null: give a valid pointer", name));
}

void require_possible(std::size_t count, const char* name) {
  if (!is_possible(count))
    refuse(
        fmt::format("{} has {} elements, which is more than memory can hold: correct the number of elements",
                    name, count));
}

void require_count(std::size_t count, std::size_t needed, const char* name) {
  if (count != needed) refuse(fmt::format("{} has {} elements, but needs {}", name, count, needed));
}

std::string text_of(const char* text, const char* name) {
  require(text, name);
  std::string own(text);
  if (!base::is_utf8(own)) refuse(fmt::format("{} is not valid UTF-8: convert the text to UTF-8", name));
  return own;
}

void require_form(std::int32_t form, const char** text) {
  require(text, "text");
  if (form != TESSERA_GAM_TEXT && form != TESSERA_GAM_JSON && form != TESSERA_GAM_BOTH)
    refuse(fmt::format("unknown form {}: give a value of tessera_gam_form", form));
}

std::string report_in(std::int32_t form, FunctionRef<std::string()> text, FunctionRef<std::string()> json) {
  if (form == TESSERA_GAM_TEXT) return text();
  if (form == TESSERA_GAM_JSON) return json();
  constexpr bool in_ascii = true;
  return fmt::format(R"({{"text": {}, "data": {}}})", nlohmann::json(text()).dump(-1, ' ', in_ascii), json());
}

void give(std::string text, const char** to, std::size_t* length) {
  std::string& kept = ToldThreads::all().own().text;
  kept = std::move(text);
  *to = kept.c_str();
  if (length != nullptr) *length = kept.size();
}

}  // namespace TESSERA_NAMESPACE::gam::c

namespace c = tessera::gam::c;

int32_t tessera_gam_c_version(void) {
  return TESSERA_GAM_C_VERSION;
}
const char* tessera_gam_library_version(void) {
  return tessera::version();
}
const char* tessera_gam_mpi_version(void) {
#if TESSERA_HAVE_MPI
  static const std::string version = tessera::mpi::library_info().version;
  return version.c_str();
#else
  return "";
#endif
}

const char* tessera_gam_error(void) {
  try {
    return c::ToldThreads::all().own().error.message.c_str();
  } catch (const std::bad_alloc&) {
    return "out of memory";
  }
}

int tessera_gam_last_error(tessera_gam_error_info* info) {
  return c::status_of("tessera_gam_last_error", [&] {
    c::require(info, "info");
    const c::LastError& error = c::ToldThreads::all().own().error;
    c::write_structure(info, {.size = sizeof *info,
                              .status = error.status,
                              .message = error.message.c_str(),
                              .function = error.function,
                              .position = error.position,
                              .lines = error.lines.c_str()});
  });
}

int tessera_gam_shutdown(void) {
  std::int64_t none = 0;
  if (!c::calls.compare_exchange_strong(none, c::shutting_down)) {
    try {
      c::refuse(
          "a call of the library is in progress: call tessera_gam_shutdown after all calls have returned");
    } catch (...) {
      return c::keep_error("tessera_gam_shutdown", {});
    }
  }
  c::close_all_handles();
  c::ToldThreads::all().forget_all();
  c::calls.fetch_sub(c::shutting_down);
  return TESSERA_GAM_OK;
}
