// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>

namespace tessera::testing {

/// Selects the tests of the source files that the arguments name, as in `mpi.job stop_test.cpp`; without
/// arguments, all tests. A --gtest_filter takes precedence. Call after InitGoogleTest. Returns false, with a
/// message, if a source has no tests.
[[nodiscard]] inline bool choose_sources(int argc, char** argv) {
  if (GTEST_FLAG_GET(filter) != "*") return true;
  std::string filter;
  const auto& all = *::testing::UnitTest::GetInstance();
  for (int argument = 1; argument < argc; ++argument) {
    const auto chosen_before = filter.size();
    for (int i = 0; i < all.total_test_suite_count(); ++i) {
      const auto& suite = *all.GetTestSuite(i);
      for (int j = 0; j < suite.total_test_count(); ++j) {
        const auto& test = *suite.GetTestInfo(j);
        if (std::filesystem::path(test.file()).filename() == argv[argument])
          filter += std::string(suite.name()) + "." + test.name() + ":";
      }
    }
    if (filter.size() == chosen_before) {
      std::fprintf(stderr, "%s has no test of a source %s\n", argv[0], argv[argument]);
      return false;
    }
  }
  if (!filter.empty()) GTEST_FLAG_SET(filter, filter);
  return true;
}

}  // namespace tessera::testing
