// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/error.hpp>

#include <fmt/core.h>

#include <utility>

namespace tessera::base {

template <class... Values>
[[nodiscard]] Error usage_error(fmt::format_string<Values...> message, Values&&... values) {
  return {ErrorCode::usage, fmt::format(message, std::forward<Values>(values)...)};
}

template <class... Values>
[[nodiscard]] Error input_error(fmt::format_string<Values...> message, Values&&... values) {
  return {ErrorCode::input, fmt::format(message, std::forward<Values>(values)...)};
}

}  // namespace tessera::base
