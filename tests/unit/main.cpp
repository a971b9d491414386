// SPDX-License-Identifier: Apache-2.0
// The main function of every test of a single process.
#include "support/sources.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return tessera::testing::choose_sources(argc, argv) ? RUN_ALL_TESTS() : EXIT_FAILURE;
}
