// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/error.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

/// Functions of tests of errors.
namespace tessera {

/// The message of the `Error` of this code that `call` throws; nothing if it throws none. Another code fails
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

/// The same, but a missing error fails the test, with this description.
template <class Call>
std::string error_of(ErrorCode code, Call&& call, std::string_view what = "the call") {
  const std::optional<std::string> said = error_if_any(code, call);
  EXPECT_TRUE(said) << what << " threw no error";
  return said.value_or("no error");
}

/// Whether a text has this part, shown whole if it is not as expected.
inline ::testing::AssertionResult contains(std::string_view text, std::string_view part) {
  const bool has = text.find(part) != std::string_view::npos;
  return ::testing::AssertionResult(has)
         << '"' << part << '"' << (has ? " is" : " is not") << " in: " << text;
}

/// Fails the test unless `call` throws an `Error` of this code, in whose message this part is.
template <class Call>
void expect_error(ErrorCode code, std::string_view part, Call&& call) {
  EXPECT_TRUE(contains(error_of(code, call, part), part));
}

}  // namespace tessera
