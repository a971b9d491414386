// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/tessera_gam.h>
#include <tessera/function.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE::gam::c {

/// Stores the current exception as this thread's last error, and returns its status. `formula`: the text to
/// which the position in a `FormulaError` refers.
[[nodiscard]] int keep_error(const char* function, std::string_view formula) noexcept;

/// RAII guard of a call, which prevents a shutdown of the library. Throws `Error(usage)` during a shutdown.
class CallInProgress {
 public:
  CallInProgress();
  ~CallInProgress();
  CallInProgress(const CallInProgress&) = delete;
  CallInProgress& operator=(const CallInProgress&) = delete;
};

/// Runs `work` and returns its status, so that no exception reaches the C program.
template <class Work>
[[nodiscard]] int status_of(const char* function, Work&& work, std::string_view formula = {}) noexcept {
  try {
    const CallInProgress call;
    work();
    return TESSERA_GAM_OK;
  } catch (...) {
    return keep_error(function, formula);
  }
}

[[noreturn]] void refuse(const std::string& why);
/// Throws `Error(usage)` if the argument `name` is null.
void require(const void* argument, const char* name);
/// Whether memory can hold an array of `count` elements.
[[nodiscard]] constexpr bool is_possible(std::size_t count) noexcept {
  return count <= std::size_t{1} << 40;
}
/// Throws `Error(usage)` unless `is_possible(count)`.
void require_possible(std::size_t count, const char* name);
/// Throws `Error(usage)` unless `count`, the size of the caller's array, is `needed`.
void require_count(std::size_t count, std::size_t needed, const char* name);
/// The caller's text. Throws `Error(usage)` if it is null or not UTF-8.
[[nodiscard]] std::string text_of(const char* text, const char* name);

/// Throws `Error(usage)` unless `form` is a `tessera_gam_form` and `text` is not null.
void require_form(std::int32_t form, const char** text);

/// A report in the form `form`, which `require_form` has checked.
[[nodiscard]] std::string report_in(std::int32_t form, FunctionRef<std::string()> text,
                                    FunctionRef<std::string()> json);

/// Hands a text to the caller, valid until the next text of this thread. `length` may be null.
void give(std::string text, const char** to, std::size_t* length = nullptr);

}  // namespace TESSERA_NAMESPACE::gam::c
