// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tessera/device/module_cache.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "run_program.hpp"
#include "temporary_folder.hpp"
#include "unit/device/fake_compiler.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A folder with the code of two sources, the second one used last.
class InfoCache : public ::testing::Test {
 protected:
  InfoCache() {
    ModuleCache cache({.compiler = std::make_shared<testing::FakeCompiler>(),
                       .directory = folder_.path(),
                       .max_bytes = {}});
    (void)cache.compile({.name = "rows", .text = "1", .headers = {}, .options = {}}, {9, 0});
    for (const auto& entry : fs::directory_iterator(folder_))
      fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(48));
    (void)cache.compile({.name = "squares\x1b[2J", .text = "22", .headers = {}, .options = {}}, {8, 6});
  }

  [[nodiscard]] ProgramResult cache(const std::string& arguments = {},
                                    const std::string& environment = {}) const {
    // MPI would refuse to start with a transport that does not exist.
    return run("OMPI_MCA_pml=none TESSERA_CACHE_DIR=" + folder_.path().string() + ' ' + environment +
               " " TESSERA_INFO " cache " + arguments);
  }
  [[nodiscard]] json cache_json(const std::string& arguments = {}) const {
    const ProgramResult result = cache("--json " + arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    return json::parse(result.out);
  }

  TemporaryFolder folder_;
};

TEST_F(InfoCache, ShowsWhatIsThereLastUsedFirst) {
  const json all = cache_json();
  EXPECT_EQ(all.at("most_bytes"), 256 << 20);
  ASSERT_EQ(all.at("folders").size(), 1u);
  const json& folder = all.at("folders")[0];
  EXPECT_EQ(folder.at("directory"), folder_.path().string());
  EXPECT_EQ(folder.at("problem"), nullptr);
  const json& kept = folder.at("kept");
  ASSERT_EQ(kept.size(), 2u);
  std::int64_t bytes = 0;
  for (const json& module : kept) {
    const fs::path file = folder_ / (module.at("key").get<std::string>() + ".module");
    EXPECT_EQ(module.at("bytes"), fs::file_size(file));
    bytes += module.at("bytes").get<std::int64_t>();
    EXPECT_EQ(module.at("compiler"), "fake 1.0");
  }
  EXPECT_EQ(folder.at("bytes"), bytes);
  EXPECT_EQ(kept[0].at("capability"), "8.6");
  EXPECT_EQ(kept[1].at("source"), "rows");
  EXPECT_EQ(kept[1].at("capability"), "9.0");
  EXPECT_LT(kept[1].at("last_use"), kept[0].at("last_use"));

  const ProgramResult table = cache();
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_NE(table.out.find("at most 256 MiB"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find(folder_.path().string() + ": 2 files"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find(kept[1].at("key").get<std::string>().substr(0, 16)), std::string::npos)
      << table.out;
  EXPECT_NE(table.out.find("squares\\x1b[2J"), std::string::npos) << table.out;
  EXPECT_EQ(table.out.find('\x1b'), std::string::npos) << "the terminal takes orders from a file";
}

TEST_F(InfoCache, ClearsItAndNothingElse) {
  std::ofstream(folder_ / "notes") << "of the user's own";
  const json removed = cache_json("--clear");
  EXPECT_EQ(removed.at("folders")[0].at("removed").size(), 2u);
  EXPECT_TRUE(cache_json().at("folders")[0].at("kept").empty());
  EXPECT_TRUE(fs::exists(folder_ / "notes"));
  EXPECT_NE(cache("--clear").out.find("0 files, 0.0 MiB"), std::string::npos);
}

TEST_F(InfoCache, WhatCannotBeUsedIsShownAsThat) {
  const json kept = cache_json().at("folders")[0].at("kept");
  const fs::path file = folder_ / (kept[0].at("key").get<std::string>() + ".module");
  fs::permissions(file, fs::perms::others_write, fs::perm_options::add);
  std::ofstream(folder_ / "0123456789abcdef.module") << "tessera module 1\nof an older version";
  std::ofstream(folder_ / "cafe.module") << "of the user's own";
  const json now = cache_json().at("folders")[0].at("kept");
  ASSERT_EQ(now.size(), 4u);
  EXPECT_EQ(std::ranges::count(now, json(), [](const json& module) { return module.at("source"); }), 3);
  EXPECT_EQ(cache_json("--clear").at("folders")[0].at("removed").size(), 3u);
  EXPECT_TRUE(fs::exists(folder_ / "cafe.module"));
}

TEST_F(InfoCache, SaysWhereThereIsNone) {
  const ProgramResult missing =
      run("TESSERA_CACHE_DIR=" + (folder_ / "none").string() + " " TESSERA_INFO " cache");
  EXPECT_EQ(missing.status, 0);
  EXPECT_NE(missing.out.find("none: No such file or directory"), std::string::npos) << missing.out;
  const ProgramResult nowhere = run("TESSERA_CACHE_DIR= " TESSERA_INFO " cache");
  EXPECT_EQ(nowhere.status, 0);
  EXPECT_NE(nowhere.out.find("is not kept"), std::string::npos) << nowhere.out;
}

TEST_F(InfoCache, SaysThatALimitIsNoNumber) {
  const ProgramResult result = cache({}, "TESSERA_CACHE_MIB=64M");
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.err.find("TESSERA_CACHE_MIB is no whole number"), std::string::npos) << result.err;
  EXPECT_NE(cache({}, "TESSERA_CACHE_MIB=64").out.find("at most 64 MiB"), std::string::npos);
}

TEST_F(InfoCache, IsNoOptionOfAnotherCommand) {
  EXPECT_EQ(run(TESSERA_INFO " --clear").status, 2);
  EXPECT_EQ(cache("plan --scores 1 --units 1").status, 2);
}

}  // namespace
}  // namespace tessera
