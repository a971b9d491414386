// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/error.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace tessera {

/// The message of the `Error` that `call` throws; empty if none is thrown. An error with another code fails
/// the test.
template <class Call>
std::optional<std::string> error_if_any(ErrorCode code, Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return std::nullopt;
}

/// As `error_if_any`, but a missing error fails the test. `what` describes the call.
template <class Call>
std::string error_of(ErrorCode code, Call&& call, std::string_view what = "the call") {
  const std::optional<std::string> said = error_if_any(code, call);
  EXPECT_TRUE(said) << what << " threw no error";
  return said.value_or("no error");
}

inline ::testing::AssertionResult contains(std::string_view text, std::string_view part) {
  const bool has = text.find(part) != std::string_view::npos;
  return ::testing::AssertionResult(has)
         << '"' << part << '"' << (has ? " is" : " is not") << " in: " << text;
}

/// Fails the test unless `call` throws an `Error` with this code and `part` in its message.
template <class Call>
void expect_error(ErrorCode code, std::string_view part, Call&& call) {
  EXPECT_TRUE(contains(error_of(code, call, part), part));
}

}  // namespace tessera
