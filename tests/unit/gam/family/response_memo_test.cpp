// SPDX-License-Identifier: Apache-2.0
#include "gam/family/response_memo.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace {

using namespace tessera::gam;

TEST(ResponseMemo, CountsHaveTheSameNumbers) {
  NbMemo memo;
  for (const double theta : {0.3, 2.0, 50.0, 2.0}) {
    const Nb family(&theta);
    for (const double y : {3.0, 0.0, 17.0, 3.0, 2.5, 1e9, 3.0}) {
      const Nb::ResponsePart<double> kept = memo.response_part(family, y);
      const Nb::ResponsePart<double> direct = family.response_part(y);
      EXPECT_EQ(kept.log_rising, direct.log_rising) << theta << ' ' << y;
      EXPECT_EQ(kept.first, direct.first) << theta << ' ' << y;
      EXPECT_EQ(kept.second, direct.second) << theta << ' ' << y;
    }
  }
}

/// Includes densities with many modes, tiny and huge responses, and places where the series changes its form.
TEST(ResponseMemo, TweedieSeriesIsThatOfTheResponse) {
  TwMemo memo;
  for (const double p : {1.02, 1.1, 1.3, 1.5, 1.8, 1.98}) {
    for (const double phi : {0.01, 1.0, 30.0}) {
      const std::array values{p, phi, 1.01, 1.99};
      const Tw family(values.data());
      for (double y = 1e-9; y < 1e9; y *= 1.37) {
        const TweedieSeries kept = memo.response_part(family, y);
        const TweedieSeries direct = family.response_part(y);
        const auto expect = [&](double one, double other) {
          EXPECT_NEAR(one, other, 1e-12 * (1 + std::abs(other))) << p << ' ' << phi << ' ' << y;
        };
        expect(kept.value, direct.value);
        expect(kept.by_c, direct.by_c);
        expect(kept.by_s, direct.by_s);
        expect(kept.by_cc, direct.by_cc);
        expect(kept.by_cs, direct.by_cs);
        expect(kept.by_ss, direct.by_ss);
      }
      const TweedieSeries none = memo.response_part(family, 0);
      EXPECT_EQ(none.value, 0);
    }
  }
}

/// A cell's interpolation does not depend on the response that first used it.
TEST(ResponseMemo, TweedieSeriesDoesNotDependOnTheRowsBefore) {
  const std::array values{1.4, 1.2, 1.01, 1.99};
  const Tw family(values.data());
  TwMemo up;
  TwMemo down;
  std::array<double, 200> there{};
  for (std::size_t i = 0; i < there.size(); ++i)
    there.at(i) = up.response_part(family, 0.01 + 0.3 * static_cast<double>(i)).by_cc;
  for (std::size_t i = there.size(); i-- > 0;)
    EXPECT_EQ(down.response_part(family, 0.01 + 0.3 * static_cast<double>(i)).by_cc, there.at(i));
}

}  // namespace
