// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/level_cache.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

namespace TESSERA_NAMESPACE::gam {
namespace {

TEST(LevelCache, FindsWhatWasKeptUnderThisTextAndNoOther) {
  std::mt19937_64 random(5);
  const auto cache = std::make_unique<LevelCache<std::string>>();
  int found = 0;
  for (int i = 0; i < 200'000; ++i) {
    // Texts have few different characters, so that many differ in only one place.
    std::string text(random() % 18, 'a');
    for (char& c : text) c = static_cast<char>(random() % 8 == 0 ? 'b' : random() % 50 == 0 ? '\0' : 'a');
    if (const std::string* entry = cache->find(text)) {
      EXPECT_EQ(*entry, text);
      ++found;
    }
    cache->keep(text, text);
    EXPECT_EQ(cache->find(text) != nullptr, text.size() <= 16);
  }
  EXPECT_GT(found, 50'000);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
