// SPDX-License-Identifier: Apache-2.0
#include "gam/c/errors.hpp"

#include "base/utf8.hpp"
#include "gam/c/handles.hpp"
#include "gam/c/structures.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/formula.hpp>

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <new>
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

LastError& last_error() noexcept {
  thread_local LastError error;
  return error;
}

std::string& last_text() noexcept {
  thread_local std::string text;
  return text;
}

/// Calls in progress; far below 0 while the library is being shut down.
std::atomic<std::int64_t> calls = 0;
constexpr std::int64_t shutting_down = std::numeric_limits<std::int64_t>::min() / 2;

/// Of the exception that is being handled.
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
  LastError& error = last_error();
  error.status = TESSERA_GAM_FAULT;
  error.function = function;
  error.position = -1;
  error.lines.clear();
  try {
    describe(error, formula);
  } catch (...) {
    error.message = "out of memory";  // short enough for a string to hold it in itself
  }
  return error.status;
}

CallInProgress::CallInProgress() {
  if (calls.fetch_add(1) >= 0) return;
  calls.fetch_sub(1);
  refuse("the library is being shut down: wait for tessera_gam_shutdown");
}
CallInProgress::~CallInProgress() {
  calls.fetch_sub(1);
}

void refuse(const std::string& why) {
  throw Error(ErrorCode::usage, why);
}

void require(const void* argument, const char* name) {
  if (argument == nullptr) refuse(fmt::format("{} is null", name));
}

void require_count(std::size_t count, std::size_t needed, const char* name) {
  if (count != needed) refuse(fmt::format("{} has {} elements: {} are needed", name, count, needed));
}

std::string text_of(const char* text, const char* name) {
  require(text, name);
  std::string own(text);
  if (!base::is_utf8(own)) refuse(fmt::format("{} is not UTF-8", name));
  return own;
}

void require_form(std::int32_t form, const char** text) {
  require(text, "text");
  if (form != TESSERA_GAM_TEXT && form != TESSERA_GAM_JSON)
    refuse(fmt::format("{} is no form: give a tessera_gam_form", form));
}

void give(std::string text, const char** to, std::size_t* length) {
  std::string& kept = last_text();
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

const char* tessera_gam_error(void) {
  return c::last_error().message.c_str();
}

int tessera_gam_last_error(tessera_gam_error_info* info) {
  return c::status_of("tessera_gam_last_error", [&] {
    c::require(info, "info");
    const c::LastError& error = c::last_error();
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
      c::refuse("a call is in progress: shut down when all have returned");
    } catch (...) {
      return c::keep_error("tessera_gam_shutdown", {});
    }
  }
  c::close_all_handles();
  c::calls.fetch_sub(c::shutting_down);
  return TESSERA_GAM_OK;
}
