// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/run/fit_memory.hpp"

#include "gam/rows/layout.hpp"
#include "support/design_support.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

using nlohmann::json;

/// Numbers x, z and w, and factors f of three and h of two levels.
Frame small_frame() {
  json columns;
  for (int i = 0; i < 120; ++i) {
    columns["y"].push_back(i * 7 % 31);
    columns["x"].push_back(i * 11 % 113);
    columns["z"].push_back(i * 17 % 109);
    columns["w"].push_back(i * 23 % 107);
    columns["f"].push_back(std::string(1, "abc"[i % 3]));
    columns["h"].push_back(std::string(1, "uv"[i / 3 % 2]));
  }
  return frame_of(columns, 0, 1, false);
}

/// A factor with this many levels, and the numbers x, z, w.
Frame frame_with_levels(int levels) {
  Frame frame;
  for (const char* name : {"y", "x", "z", "w", "g"}) frame.variables.emplace_back().name = name;
  frame.variables.back().factor = true;
  frame.variables.back().levels.resize(static_cast<std::size_t>(levels));
  return frame;
}

constexpr int whole_effect = 1000;
constexpr double gib = 1 << 30;
double max_gib(const std::string& formula, int levels) {
  const ModelSize size = size_of_model(parse_terms(formula), frame_with_levels(levels), whole_effect);
  return static_cast<double>(memory_of_fit(size, 1, 1, true).most()) / gib;
}

TEST(FitMemory, HasTheSizesOfTheDesign) {
  const Frame frame = small_frame();
  static const auto* const comm =
      new mpi::Communicator(mpi::Communicator::duplicate_of(MPI_COMM_WORLD));  // finalised before it would go
  for (const char* formula :
       {"y ~ 1", "y ~ s(x, bs=\"ps\", k=7)", "y ~ s(x, bs=\"cp\", k=6)", "y ~ s(x, bs=\"cr\", k=5)",
        "y ~ s(x, bs=\"cc\", k=6) + s(f, bs=\"re\")", "y ~ s(x, by=f, bs=\"cr\", k=5)",
        "y ~ te(x, z, bs=c(\"ps\", \"cc\"), k=c(6, 5)) + s(w, by=f, bs=\"ps\", k=6)",
        "y ~ x + te(x, z, by=h, k=4) + s(f, w, bs=\"re\")", "y ~ s(x, by=w, bs=\"cr\", k=5)",
        "y ~ s(x) + s(z, by=f, bs=\"tp\", k=5)"}) {
    SCOPED_TRACE(formula);
    const Design design = design_of(*comm, formula, frame);
    const ModelSize size = size_of_model(parse_terms(formula), frame, whole_effect);
    EXPECT_EQ(size.raw, design.raw_size);
    EXPECT_EQ(size.coef, design.coef_size);
    EXPECT_EQ(size.width, static_cast<std::int64_t>(RowLayout(design).width(PassKind::step)));
  }
  // Contrasts omit one level of each factor.
  const Design design = design_of(*comm, "y ~ f*h + f:x", frame);
  const ModelSize size = size_of_model(parse_terms("y ~ f*h + f:x"), frame, whole_effect);
  EXPECT_EQ(size.raw, design.raw_size);
  EXPECT_GE(size.coef, design.coef_size);
  EXPECT_EQ(size.width, static_cast<std::int64_t>(RowLayout(design).width(PassKind::step)));
}

TEST(FitMemory, CountsWhatALargeModelTakes) {
  // The crossproduct of 3,000 levels of 20 raw columns takes 28.8 GB, twice that during a step.
  EXPECT_GT(max_gib("y ~ s(x, by=g, bs=\"cr\", k=10)", 3000), 2 * 8.0 * 60000 * 60000 / gib);
  // 15,625 coefficients: seven square matrices of that size, and one for eight times as many columns.
  EXPECT_GT(max_gib("y ~ te(x, z, w, k=25)", 2), 7 * 8.0 * 15624 * 15624 / gib);
  EXPECT_LT(max_gib("y ~ x + g", 10), 0.02);
  // An effect of 90,000 levels has its diagonal, and a row for each level next to the other columns.
  EXPECT_LT(max_gib("y ~ s(x, bs=\"ps\", k=20) + s(g, bs=\"re\")", 90000), 1.0);
  // Every thread has its own sums; ranks that do not solve the model have no coefficients.
  const ModelSize size =
      size_of_model(parse_terms("y ~ s(x, by=g, bs=\"ps\", k=40)"), frame_with_levels(300), whole_effect);
  EXPECT_EQ(memory_of_fit(size, 64, 1, true).sums - memory_of_fit(size, 1, 1, true).sums,
            63 * 48 * size.width);
  EXPECT_LT(memory_of_fit(size, 1, 1, false).most(), memory_of_fit(size, 1, 1, true).most());
  EXPECT_EQ(memory_of_fit(size, 1, 1, false).search, 0);
}

TEST(FitMemory, CountsTheSumsOfCrossedEffectsByRows) {
  const Frame frame = frame_with_levels(90000);
  const auto size = [&](const char* formula) {
    return size_of_model(parse_terms(formula), frame, whole_effect);
  };
  const ModelSize one = size("y ~ s(g, bs=\"re\")");
  const ModelSize two = size("y ~ s(g, bs=\"re\") + s(g, x, bs=\"re\")");
  EXPECT_EQ(one.pairs, 0);
  EXPECT_EQ(two.parted, 180000);
  EXPECT_EQ(two.pairs, std::min<std::int64_t>(frame.complete_rows, 90000LL * 90000));
  // Each level has its gradient, its product with the intercept and its own; the pairs come in addition.
  EXPECT_EQ(two.width - one.width, 3 * 90000 + two.pairs);
}

TEST(FitMemory, HasTheSketchOfNestedSmoothsForEachThread) {
  const Frame frame = frame_with_levels(3);
  const auto size = [&](const char* formula) {
    return size_of_model(parse_terms(formula), frame, whole_effect);
  };
  const ModelSize nested = size("y ~ s(x, bs=\"ps\") + s(w, bs=\"ps\") + te(x, z, bs=\"ps\", k=20)");
  EXPECT_EQ(nested.nested_raw, 10 + 400);
  EXPECT_EQ(nested.nested_coef, 9 + 399);
  const std::int64_t one = memory_of_fit(nested, 1, 1, true).nesting;
  EXPECT_EQ(memory_of_fit(nested, 1, 9, true).nesting - one,
            8 * 8 * 4 * nested.nested_coef * (nested.nested_raw + 1));
  EXPECT_EQ(size("y ~ s(x, bs=\"ps\") + te(z, w, k=5) + s(x, by=g, bs=\"ps\")").nested_raw, 0);
}

TEST(FitMemory, SaysWhatItIsFor) {
  const ModelSize size = size_of_model(parse_terms("y ~ te(x, z, k=32)"), frame_with_levels(2), whole_effect);
  const std::string text = to_string(memory_of_fit(size, 1, 1, true), size);
  EXPECT_TRUE(text.starts_with("memory: 0.8")) << text;
  EXPECT_TRUE(
      text.ends_with(" GiB per rank at most, in addition to the rows, for the writing of the model: "
                     "1024 coefficients, 4097 columns"))
      << text;
}

TEST(FitMemory, RefusesWhatHasNoSize) {
  const auto fault = [](const std::string& formula) {
    const auto size = [&] {
      static_cast<void>(size_of_model(parse_terms(formula), frame_with_levels(90000), whole_effect));
    };
    return error_if_any(ErrorCode::input, size).value_or("none");
  };
  EXPECT_EQ(fault("y ~ s(x, bs=\"ps\", k=90000)"),
            "s(x) has 90000 coefficients, more than the 20000 that can be fitted: take a smaller k, or fewer "
            "levels");
  EXPECT_EQ(fault("y ~ te(x, z, w, k=99999)"),
            "te(x,z,w) has 99999 coefficients, more than the 20000 that can be fitted: take a smaller k, or "
            "fewer levels");
  EXPECT_EQ(fault("y ~ s(x, by=g, bs=\"ps\", k=20000)"), "none");
  EXPECT_EQ(fault("y ~ s(g, bs=\"re\")"), "none");
  EXPECT_EQ(fault("y ~ s(g, bs=\"re\") + s(g, x, bs=\"re\")"), "none");
  EXPECT_EQ(fault("y ~ s(x, by=g, bs=\"cr\", k=20000)"),
            "the model has more than 2^31 - 1 columns: reduce k, or a factor's levels");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
