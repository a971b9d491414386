// SPDX-License-Identifier: Apache-2.0
#include "gam/data/csv/byte_places.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace TESSERA_NAMESPACE::gam {
namespace {

TEST(BytePlaces, AreThoseThatALookAtEachByteFinds) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    std::array<char, block_bytes> block{};
    // Values near the wanted one, and some far from it.
    for (char& c : block) c = static_cast<char>(random() % 4 == 0 ? random() : ',' + random() % 3 - 1);
    std::uint64_t places = 0;
    std::uint64_t odd = 0;
    for (std::size_t k = 0; k < block_bytes; ++k) {
      places |= std::uint64_t{block[k] == ','} << k;
      odd |= ((k > 0 ? odd >> (k - 1) & 1 : 0) ^ std::uint64_t{block[k] == ','}) << k;
    }
    ASSERT_EQ(places_of(',', block.data()), places);
    ASSERT_EQ(parities(places), odd);
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
