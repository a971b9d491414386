// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/tessera_gam.h>
#include <tessera/function.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// How functions of the C interface fail, and what they say.
namespace TESSERA_NAMESPACE::gam::c {

/// Keeps the exception that is being handled as the last error of this thread, and returns its status.
/// `formula`: what a `FormulaError` is about.
[[nodiscard]] int keep_error(const char* function, std::string_view formula) noexcept;

/// A call in progress, during which the library is not shut down. Throws `Error(usage)` if it is just being.
class CallInProgress {
 public:
  CallInProgress();
  ~CallInProgress();
  CallInProgress(const CallInProgress&) = delete;
  CallInProgress& operator=(const CallInProgress&) = delete;
};

/// The status of `work`, a call of the interface: no exception passes into a C program.
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
/// Throws `Error(usage)` if an argument that must not be null is. `name`: of the argument.
void require(const void* argument, const char* name);
/// Whether the memory of a machine may have an array of so many elements.
[[nodiscard]] constexpr bool is_possible(std::size_t count) noexcept {
  return count <= std::size_t{1} << 40;
}
/// Throws `Error(usage)` for a count of elements that is none.
void require_possible(std::size_t count, const char* name);
/// Throws `Error(usage)` unless the caller's array has as many elements as there are.
void require_count(std::size_t count, std::size_t needed, const char* name);
/// A text of the caller. Throws `Error(usage)` if it is null or not UTF-8.
[[nodiscard]] std::string text_of(const char* text, const char* name);

/// Throws `Error(usage)` unless `form` is a `tessera_gam_form`, and there is a place for the text.
void require_form(std::int32_t form, const char** text);

/// A report in a form that `require_form` has not refused.
[[nodiscard]] std::string report_in(std::int32_t form, FunctionRef<std::string()> text,
                                    FunctionRef<std::string()> json);

/// Gives a text to the caller: the thread's, until its next one. `length` may be null.
void give(std::string text, const char** to, std::size_t* length = nullptr);

}  // namespace TESSERA_NAMESPACE::gam::c
