// SPDX-License-Identifier: Apache-2.0
// Every function of the header that takes a `tessera_gam_call` calls `cancelled` before it begins, and ends
// soon after a request.
#include "support/arrow_data.hpp"
#include "support/file_content.hpp"

#include <tessera/tessera_gam.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Names of the functions in tessera_gam.h that take a call.
std::set<std::string> functions_with_a_call() {
  const std::string header =
      tessera::testing::content_of(TESSERA_TEST_DATA "/../../include/tessera/tessera_gam.h");
  const std::regex declared(R"(TESSERA_GAM_API int (tessera_gam_\w+)\(([^;]*)\);)");
  std::set<std::string> names;
  for (std::sregex_iterator one(header.begin(), header.end(), declared), end; one != end; ++one) {
    if ((*one)[2].str().find("const tessera_gam_call* call") != std::string::npos)
      names.insert((*one)[1].str());
  }
  return names;
}

/// Rows for models of few and of many coefficients.
struct CancelData {
  explicit CancelData(std::size_t rows) {
    for (std::size_t i = 0; i < rows; ++i) {
      x.push_back(std::fmod(0.618034 * static_cast<double>(i), 1));
      codes.push_back(static_cast<std::int32_t>(i % 2));
      y.push_back(std::sin(6 * x.back()) + std::fmod(0.754878 * static_cast<double>(i), 0.5));
    }
    const char* const levels[] = {"north", "south"};
    EXPECT_EQ(tessera_gam_table_open(static_cast<std::int64_t>(rows), nullptr, &table), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_table_add_numbers(table, "x", x.data(), rows), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_table_add_numbers(table, "y", y.data(), rows), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_table_add_factor(table, "side", codes.data(), rows, levels, 2, 0), TESSERA_GAM_OK);
  }
  ~CancelData() { EXPECT_EQ(tessera_gam_table_close(table), TESSERA_GAM_OK); }
  CancelData(const CancelData&) = delete;
  CancelData& operator=(const CancelData&) = delete;

  std::vector<double> x, y;
  std::vector<std::int32_t> codes;
  tessera_gam_table table = 0;
};

/// A call that takes some seconds, or for ever, unless it is cancelled.
struct LongCall {
  std::vector<tessera_gam_option> options;
  std::function<int(const tessera_gam_call* call)> make;
  bool is_short = false;  ///< it reads its options, and there is nothing to wait for
};

class Cancelled : public ::testing::Test {
 protected:
  void SetUp() override {
    const tessera_gam_option one_thread{"threads", "1"};
    tessera_gam_call call = TESSERA_GAM_CALL;
    call.options = &one_thread;
    call.option_count = 1;
    ASSERT_EQ(tessera_gam_fit("y ~ side + s(x, by=side, k=8)", few_.table, &call, &model_), TESSERA_GAM_OK)
        << tessera_gam_error();
    ASSERT_EQ(tessera_gam_fit("y ~ s(x)", many_.table, &call, &model_of_many_), TESSERA_GAM_OK)
        << tessera_gam_error();
    tessera_gam_responses responses = TESSERA_GAM_RESPONSES;
    responses.rows = static_cast<std::int64_t>(few_.y.size());
    responses.columns = 1;
    responses.values = few_.y.data();
    responses.value_count = few_.y.size();
    responses.row_stride = 1;
    const tessera_gam_option of_fits[] = {one_thread, {"family", "gaussian"}, {"covariances", "true"}};
    call.options = of_fits;
    call.option_count = 3;
    ASSERT_EQ(tessera_gam_fit_many("s(x)", few_.table, &responses, &call, &fits_, nullptr), TESSERA_GAM_OK)
        << tessera_gam_error();
  }
  void TearDown() override {
    EXPECT_EQ(tessera_gam_model_close(model_), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_model_close(model_of_many_), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_answer_close(fits_), TESSERA_GAM_OK);
  }

  [[nodiscard]] std::map<std::string, LongCall> long_calls() {
    tessera_gam_answer* const none = &none_;
    const tessera_gam_model model = model_;
    const tessera_gam_table many = many_.table;
    const tessera_gam_option draws{"draws", "1000000"};
    const auto answer = [&](auto function, std::vector<tessera_gam_option> options) {
      return LongCall{std::move(options),
                      [=](const tessera_gam_call* call) { return function(model, call, none); }};
    };
    return {
        {"tessera_gam_table_open",
         {{}, [=](const tessera_gam_call* call) { return tessera_gam_table_open(3, call, none); }, true}},
        {"tessera_gam_table_of_file",
         {{},
          [=](const tessera_gam_call* call) { return tessera_gam_table_of_file("x.csv", call, none); },
          true}},
        {"tessera_gam_table_of_files",
         {{},
          [=](const tessera_gam_call* call) {
            const char* const paths[] = {"x.csv", "y.csv"};
            return tessera_gam_table_of_files(paths, 2, call, none);
          },
          true}},
        {"tessera_gam_table_of_arrow",
         {{},
          [this, none](const tessera_gam_call* call) {
            ArrowArrayStream stream = testing::endless_stream(
                testing::batch_of({testing::numbers_of<double>("x", "g", {1., 2.})}), counts_);
            const int status = tessera_gam_table_of_arrow(&stream, call, none);
            EXPECT_EQ(stream.release, nullptr);
            return status;
          }}},
        {"tessera_gam_fit",
         {{{"device", "cpu"}},
          [=](const tessera_gam_call* call) {
            return tessera_gam_fit("y ~ s(x, k=400)", many, call, none);
          }}},
        {"tessera_gam_fit_many",
         {{{"family", "poisson"}},
          [=, this](const tessera_gam_call* call) {
            // Many times the same response.
            tessera_gam_responses responses = TESSERA_GAM_RESPONSES;
            responses.rows = static_cast<std::int64_t>(many_.y.size());
            responses.columns = 100'000;
            responses.values = many_.y.data();
            responses.value_count = many_.y.size();
            responses.row_stride = 1;
            return tessera_gam_fit_many("s(x)", many, &responses, call, none, nullptr);
          }}},
        {"tessera_gam_many_curves",
         {{},
          [=, this](const tessera_gam_call* call) { return tessera_gam_many_curves(fits_, call, none); },
          true}},
        {"tessera_gam_many_curve_values",
         {{},
          [=, this](const tessera_gam_call* call) {
            return tessera_gam_many_curve_values(fits_, call, none);
          },
          true}},
        {"tessera_gam_columns",
         {{},
          [=](const tessera_gam_call* call) {
            const char* text = nullptr;
            return tessera_gam_columns(many, nullptr, 0, call, TESSERA_GAM_TEXT, &text, nullptr);
          },
          true}},
        {"tessera_gam_check",
         {{{"permutations", "1000000"}},
          [=, this](const tessera_gam_call* call) {
            const char* text = nullptr;
            return tessera_gam_check(model, few_.table, call, TESSERA_GAM_TEXT, &text, nullptr);
          }}},
        {"tessera_gam_predict",
         {{{"device", "cpu"}, {"type", "response"}, {"prediction-interval", "0.9"}},
          [=](const tessera_gam_call* call) { return tessera_gam_predict(model, many, call, none); }}},
        {"tessera_gam_crossing_rows",
         {{},
          [=](const tessera_gam_call* call) {
            const std::vector<tessera_gam_model> models(100, model);
            std::int64_t crossing = 0;
            return tessera_gam_crossing_rows(models.data(), models.size(), many, call, &crossing);
          }}},
        {"tessera_gam_residuals",
         {{},
          [=, this](const tessera_gam_call* call) {
            return tessera_gam_residuals(model_of_many_, many, call, none);
          }}},
        {"tessera_gam_smooths", answer(tessera_gam_smooths, {draws})},
        {"tessera_gam_derivatives", answer(tessera_gam_derivatives, {draws})},
        {"tessera_gam_level_differences", answer(tessera_gam_level_differences, {draws})},
        {"tessera_gam_table_differences",
         {{},
          [=](const tessera_gam_call* call) {
            return tessera_gam_table_differences(model, many, many, call, none);
          }}},
        {"tessera_gam_simulate_coefficients", answer(tessera_gam_simulate_coefficients, {draws})},
        {"tessera_gam_simulate_smooths",
         answer(tessera_gam_simulate_smooths, {{"draws", "20000"}, {"points", "400"}})},
        {"tessera_gam_simulate_responses",
         {{{"draws", "40"}},
          [=](const tessera_gam_call* call) {
            return tessera_gam_simulate_responses(model, many, call, none);
          }}},
    };
  }

  /// The status of a call whose `cancelled` requests the end at the `last` call; `asked` counts the calls.
  static int status_of(LongCall& call, int last, int& asked) {
    struct Asking {
      int last;
      int& asked;
    } asking{last, asked};
    call.options.push_back({"threads", "1"});
    tessera_gam_call given = TESSERA_GAM_CALL;
    given.options = call.options.data();
    given.option_count = call.options.size() - (call.is_short ? 1 : 0);
    given.context = &asking;
    given.cancelled = [](void* context) {
      auto& its = *static_cast<Asking*>(context);
      return ++its.asked >= its.last ? 1 : 0;
    };
    const int status = call.make(&given);
    call.options.pop_back();
    return status;
  }

  const CancelData few_{400};
  const CancelData many_{300'000};
  tessera_gam_model model_ = 0;          ///< of the few
  tessera_gam_model model_of_many_ = 0;  ///< whose residuals take long
  tessera_gam_answer fits_ = 0;          ///< of one response
  std::uint64_t none_ = 0;
  testing::ArrowCounts counts_;
};

TEST_F(Cancelled, IsAskedByEveryCallOfTheHeader) {
  auto calls = long_calls();
  std::set<std::string> tested;
  for (const auto& one : calls) tested.insert(one.first);
  EXPECT_EQ(tested, functions_with_a_call());
  for (auto& [name, call] : calls) {
    int asked = 0;
    EXPECT_EQ(status_of(call, 1, asked), TESSERA_GAM_INTERRUPTED) << name;
    EXPECT_STREQ(tessera_gam_error(), "cancelled by the caller") << name;
    EXPECT_EQ(asked, 1) << name << " begins without asking, or goes on";
    if (call.is_short) continue;
    asked = 0;
    EXPECT_EQ(status_of(call, 2, asked), TESSERA_GAM_INTERRUPTED) << name;
    EXPECT_EQ(asked, 2) << name << " is asked again although it has said so";
    EXPECT_EQ(none_, 0U) << name;
  }
  EXPECT_EQ(counts_.made, counts_.released);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
