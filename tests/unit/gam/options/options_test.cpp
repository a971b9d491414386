// SPDX-License-Identifier: Apache-2.0
// The limits and defaults in the table of options hold where the options are read.
#include <tessera/tessera_gam.h>
#include <tessera/error.hpp>
#include <tessera/gam/options.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::array<OptionSet, 13> option_sets{
    OptionSet::fit,      OptionSet::predict,      OptionSet::smooths,   OptionSet::derivatives,
    OptionSet::simulate, OptionSet::check,        OptionSet::residuals, OptionSet::many,
    OptionSet::curves,   OptionSet::curve_values, OptionSet::table,     OptionSet::arrow,
    OptionSet::job};

template <class Options>
bool takes(std::vector<NamedOption>& given) {
  Options options;
  read_options(given, options);
  return given.front().is_read;
}

/// Whether the option accepts the value; fails if none of the calls of the set reads it.
bool can_be(OptionSet set, const std::string& name, const std::string& value) {
  std::vector<NamedOption> given{{name, value}};
  bool is_read = false;
  try {
    switch (set) {
      case OptionSet::fit: is_read = takes<FitOptions>(given); break;
      case OptionSet::predict: is_read = takes<PredictOptions>(given); break;
      case OptionSet::smooths: is_read = takes<SmoothOptions>(given); break;
      case OptionSet::derivatives: is_read = takes<DerivativeOptions>(given); break;
      case OptionSet::simulate: is_read = takes<SimulateOptions>(given); break;
      case OptionSet::check: is_read = takes<CheckOptions>(given); break;
      case OptionSet::residuals: is_read = takes<ResidualOptions>(given); break;
      case OptionSet::many: is_read = takes<ManyOptions>(given) || takes<Responses>(given); break;
      case OptionSet::curves: is_read = takes<CurveTestOptions>(given); break;
      case OptionSet::curve_values: is_read = takes<CurveValueOptions>(given); break;
      case OptionSet::table: is_read = takes<TableOptions>(given); break;
      case OptionSet::arrow: is_read = takes<ArrowOptions>(given); break;
      case OptionSet::job: is_read = takes<JobOptions>(given); break;
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage) << name;
    EXPECT_TRUE(std::string(error.what()).starts_with(name + " '" + value + "': ")) << error.what();
    return false;
  }
  EXPECT_TRUE(is_read) << name;
  return true;
}

template <class Test>
void for_each_option(const Test& test) {
  for (const OptionSet set : option_sets) {
    for (const OptionInfo& one : options_of(set)) {
      SCOPED_TRACE(fmt::format("set {}, {}", static_cast<int>(set), one.name));
      test(set, one);
    }
  }
}

TEST(OptionTable, EachOptionCanBeItsDefaultInEverySpelling) {
  for_each_option([](OptionSet set, const OptionInfo& one) {
    if (one.preset.empty()) return;
    std::string as_in_python = one.name;
    for (char& c : as_in_python) c = c == '-' ? '_' : c;
    for (const std::string& name : {one.name, "--" + one.name, as_in_python})
      EXPECT_TRUE(can_be(set, name, one.preset));
    if (!one.alias.empty()) EXPECT_TRUE(can_be(set, one.alias, one.preset));
  });
}

TEST(OptionTable, LimitsHold) {
  int limits = 0;
  for_each_option([&](OptionSet set, const OptionInfo& one) {
    for (const auto& [limit, beyond] : {std::pair{one.least, one.least - 1}, {one.most, one.most + 1}}) {
      if (std::isinf(limit)) continue;
      ++limits;
      EXPECT_TRUE(can_be(set, one.name, fmt::format("{}", limit)));
      EXPECT_FALSE(can_be(set, one.name, fmt::format("{}", beyond)));
    }
  });
  EXPECT_GT(limits, 20);
}

TEST(OptionTable, ValuesOfAKindAreChecked) {
  for_each_option([](OptionSet set, const OptionInfo& one) {
    for (const std::string& choice : one.choices) EXPECT_TRUE(can_be(set, one.name, choice));
    for (const std::string& choice : one.choices) EXPECT_NO_THROW(check_option(set, {one.name, choice}));
    const bool is_free = one.kind == OptionKind::text || one.kind == OptionKind::names;
    if (!is_free) {
      EXPECT_FALSE(can_be(set, one.name, "nonsense"));
      EXPECT_THROW(check_option(set, {one.name, "nonsense"}), Error);
    }
    EXPECT_FALSE(one.help.empty());
  });
}

TEST(OptionTable, SizesHaveUnits) {
  for (const auto& [text, bytes] : {std::pair<std::string, std::int64_t>{"500", 500},
                                    {"2G", std::int64_t{2} << 30},
                                    {"2 GiB", std::int64_t{2} << 30},
                                    {"3kb", 3072},
                                    {"1T", std::int64_t{1} << 40},
                                    {"7B", 7}}) {
    std::vector<NamedOption> given{{"memory", text}};
    PredictOptions options;
    read_options(given, options);
    EXPECT_EQ(options.node_bytes, bytes) << text;
  }
  for (const char* text : {"G", "-1", "2X", "1.5G", "9000000T", "2GG", "2Gi0"})
    EXPECT_FALSE(can_be(OptionSet::predict, "memory", text)) << text;
}

TEST(OptionTable, IsThereAsJson) {
  const auto table = nlohmann::json::parse(tessera_gam_options());
  EXPECT_EQ(table.size(), option_sets.size());
  for (const nlohmann::json& one : table.at("fit")) {
    if (one.at("name") != "gamma") continue;
    EXPECT_EQ(one.at("default"), "1");
    EXPECT_EQ(one.at("most"), 1000);
    return;
  }
  FAIL() << "no gamma";
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
