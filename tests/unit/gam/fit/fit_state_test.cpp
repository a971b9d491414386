// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/fit_state.hpp"

#include "gam/formula/formula.hpp"
#include "support/errors.hpp"
#include "support/table_support.hpp"
#include "temporary_folder.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/family.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

namespace fs = std::filesystem;

std::vector<std::uint64_t> bits(const std::vector<double>& values) {
  std::vector<std::uint64_t> out(values.size());
  if (!values.empty()) std::memcpy(out.data(), values.data(), values.size() * sizeof(double));
  return out;
}

TEST(FitState, ReadsBackToTheSameBits) {
  FitState state{.iteration = 7,
                 .deviance = 1.0 / 3,
                 .coef = {0.0, -0.0, 0.1, std::numeric_limits<double>::denorm_min(),
                          std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()},
                 .log_sp = {-20.000000000000004},
                 .parameters = {1.0 / 3, 2.5e-300},
                 .course = {.past = {{{1.0 / 3, 2}, {3, -0.0}}, {{4, 5}, {6, 7}}},
                            .phase = Phase::elsewhere,
                            .best = {{1.0 / 3}, {2, -0.0}, {28.25}, -1.0 / 7},
                            .untried = {{1.0 / 3}, {2, 3}},
                            .known = {1.0 / 3, 28.25},
                            .steps = 9,
                            .from_sample = true},
                 .hardware = "NVIDIA \"H200\" (9.0)\n",
                 .why_on_cpu = "tile 1 of rank 2 failed: Größe"};
  std::mt19937_64 random(1);
  while (state.coef.size() < 1000) {
    const std::uint64_t any = random();
    double value = 0;
    std::memcpy(&value, &any, sizeof value);
    if (std::isfinite(value)) state.coef.push_back(value);
  }
  const FitState again = state_from(to_text(state), "fit.ckpt");
  EXPECT_EQ(again, state);
  EXPECT_EQ(bits(again.coef), bits(state.coef));
  EXPECT_EQ(state_from(to_text(FitState{}), "fit.ckpt"), FitState{});
}

TEST(FitState, RefusesWhatItDidNotWrite) {
  const std::string good = to_text({.iteration = 2,
                                    .deviance = 1,
                                    .coef = {1, 2},
                                    .log_sp = {3},
                                    .course = {},
                                    .hardware = {},
                                    .why_on_cpu = {}});
  std::vector<std::string> bad = {"", "no JSON", "[]", "{}", good + good, R"({"iteration": 2})"};
  for (const char* key : {"iteration", "deviance", "place", "fallback", "log_sp", "parameters", "coef",
                          "past", "phase", "best", "criterion", "untried", "known", "steps", "from_sample"}) {
    std::string other = good;
    other.replace(other.find(key), 1, "X");
    bad.push_back(other);
  }
  for (std::size_t size = 1; size < good.size(); ++size) bad.push_back(good.substr(0, size));
  std::string wrong = good;
  wrong.replace(wrong.find("[1.0"), 4, "[\"a\"");
  bad.push_back(wrong);
  for (const std::string& text : bad) {
    const std::string said = error_of(
        ErrorCode::input, [&] { (void)state_from(text, "fit.ckpt"); }, text);
    EXPECT_TRUE(said.starts_with("fit.ckpt: is ") &&
                said.ends_with(": remove this checkpoint file to start the fit again"))
        << said;
  }
}

TEST(FitState, OfAnotherModelIsRefused) {
  Design design;
  CoefBlock block;
  block.coef_size = 2;
  block.penalty.emplace().matrices.resize(1);
  design.blocks.push_back(block);
  design.coef_size = 2;
  const FitState good{.iteration = 2,
                      .deviance = 1,
                      .coef = {1, 2},
                      .log_sp = {3},
                      .course = {.past = {{{1, 2}, {3, 4}}},
                                 .phase = Phase::elsewhere,
                                 .best = {{1, 2}, {3}, {}, 1},
                                 .untried = {{4}},
                                 .known = {},
                                 .steps = 1},
                      .hardware = {},
                      .why_on_cpu = {}};
  EXPECT_NO_THROW(check_state(good, design, Family(), "fit.ckpt"));
  const auto says = [&](const std::function<void(FitState&)>& change, const char* expected) {
    FitState bad = good;
    change(bad);
    EXPECT_EQ(error_of(
                  ErrorCode::input, [&] { check_state(bad, design, Family(), "fit.ckpt"); }, expected),
              expected);
  };
  says([](FitState& s) { s.coef.pop_back(); },
       "the checkpoint fit.ckpt has 1 coefficients, but the model has 2: remove this checkpoint file");
  says(
      [](FitState& s) { s.log_sp.clear(); },
      "the checkpoint fit.ckpt has 0 smoothing parameters, but the model has 1: remove this checkpoint file");
  says([](FitState& s) { s.parameters = {1}; },
       "the checkpoint fit.ckpt has 1 parameters of the family, but the model has 0: remove this checkpoint "
       "file");
  FitState of_nb = good;
  of_nb.parameters = of_nb.course.best.parameters = {2.5};
  EXPECT_NO_THROW(check_state(of_nb, design, chosen_family("nb"), "fit.ckpt"));
  of_nb.parameters = {-2.5};
  EXPECT_THROW(check_state(of_nb, design, chosen_family("nb"), "fit.ckpt"), Error);
  says([](FitState& s) { s.course.past[0].coef.push_back(1); },
       "the checkpoint fit.ckpt has 3 coefficients of a step, but the model has 2: remove this checkpoint "
       "file");
  says([](FitState& s) { s.course.past[0].step.clear(); },
       "the checkpoint fit.ckpt has 0 coefficients of a step, but the model has 2: remove this checkpoint "
       "file");
  says([](FitState& s) { s.course.untried[0].clear(); },
       "the checkpoint fit.ckpt has 0 smoothing parameters of a minimum, but the model has 1: remove this "
       "checkpoint file");
  says([](FitState& s) { s.course.best.coef.clear(); },
       "the checkpoint fit.ckpt has 0 coefficients of a solution, but the model has 2: remove this "
       "checkpoint file");
  says([](FitState& s) { s.course.best.log_sp.push_back(1); },
       "the checkpoint fit.ckpt has 2 smoothing parameters of a solution, but the model has 1: remove this "
       "checkpoint file");
}

class FingerprintOfAFit : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(path_) << std::string(1 << 20, 'x');
    options_.family = family("poisson");
  }

  [[nodiscard]] Fingerprint print(const std::string& formula = "y ~ x") const {
    const auto comm = mpi::Communicator::serial();
    std::optional<files::FileState> looked_at;
    Fingerprint print = fingerprint_of(testing::crew(comm), data_, parse_terms(formula), options_, looked_at);
    EXPECT_TRUE(looked_at.has_value());
    return print;
  }
  /// The names whose values differ from `before`, one after the other.
  [[nodiscard]] std::string changed(const Fingerprint& before, const std::string& formula = "y ~ x") const {
    const Fingerprint now = print(formula);
    std::string names;
    for (std::size_t i = 0; i < now.size(); ++i) {
      EXPECT_EQ(now[i].first, before[i].first);
      if (now[i] != before[i]) names += (names.empty() ? "" : ", ") + now[i].first;
    }
    return names;
  }

  TemporaryFolder folder_;
  const std::string path_ = (folder_ / "data.csv").string();
  Table data_{path_};
  FitOptions options_;
};

TEST_F(FingerprintOfAFit, HasAllThatChangesTheModelAndNothingElse) {
  const Fingerprint first = print();
  EXPECT_EQ(changed(first), "");
  EXPECT_EQ(changed(first, "y ~ x + z"), "formula");
  const auto with = [&](const std::function<void(FitOptions&)>& change) {
    const FitOptions before = options_;
    change(options_);
    const std::string names = changed(first);
    options_ = before;
    return names;
  };
  EXPECT_EQ(with([](FitOptions& all) { all.family = family("gamma"); }), "family");
  options_.family = family("nb");
  const Fingerprint estimated = print();
  options_.family = family("nb(theta=3)");
  EXPECT_EQ(changed(estimated), "family");
  options_.family = family("poisson");
  EXPECT_EQ(with([](FitOptions& all) { all.weights = "w"; }), "weights");
  EXPECT_EQ(with([](FitOptions& all) { all.knots["x"] = {0, 1}; }), "knots");
  EXPECT_EQ(with([](FitOptions& all) { all.sp = {0.5, -1}; }), "sp");
  EXPECT_EQ(with([](FitOptions& all) { all.min_sp = {0.5, 0}; }), "min-sp");
  EXPECT_EQ(with([](FitOptions& all) { all.para_pen["f"].matrices = {Matrix(2, 2)}; }), "para-pen");
  EXPECT_EQ(with([](FitOptions& all) { all.select = true; }), "select");
  EXPECT_EQ(with([](FitOptions& all) { all.gamma = 1.4; }), "gamma");
  EXPECT_EQ(with([](FitOptions& all) { all.max_iterations = 5; }), "");
  EXPECT_EQ(with([](FitOptions& all) { all.residuals = false; }), "");
  data_.options.block_rows = 5;
  EXPECT_EQ(changed(first), "block-rows");
}

TEST_F(FingerprintOfAFit, KnowsAFileFromAnother) {
  const Fingerprint first = print();
  const auto time = fs::last_write_time(path_);
  fs::last_write_time(path_, time + std::chrono::microseconds(1));
  EXPECT_EQ(changed(first), "time of the data");
  const auto put = [&](const std::string& text, std::ios::openmode mode, std::streamoff at = 0) {
    {
      std::ofstream file(path_, mode);
      file.seekp(at);
      file << text;
    }
    fs::last_write_time(path_, time);
  };
  put("y", std::ios::in | std::ios::out, (1 << 20) - 1);
  EXPECT_EQ(changed(first), "sample of the data");
  put("x", std::ios::in | std::ios::out, (1 << 20) - 1);
  EXPECT_EQ(changed(first), "");
  put("x", std::ios::app);
  EXPECT_NE(changed(first).find("size of the data"), std::string::npos);
  fs::remove(path_);
  EXPECT_THROW((void)print(), Error);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
