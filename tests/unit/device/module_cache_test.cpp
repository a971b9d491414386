// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/module_cache.hpp>
#include <tessera/error.hpp>
#include <tessera/version.hpp>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <chrono>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#include "base/cancellation.hpp"
#include "base/hash.hpp"
#include "device/module_format.hpp"
#include "device/module_shelf.hpp"
#include "fake_compiler.hpp"
#include "mpi/job/scoped_variable.hpp"
#include "support/errors.hpp"
#include "support/file_content.hpp"
#include "temporary_folder.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using testing::FakeCompiler;
using testing::ScopedVariable;

constexpr ComputeCapability hopper{9, 0};
constexpr ComputeCapability ampere{8, 0};

/// A new folder for each test, removed at the end.
class ModuleCacheTest : public ::testing::Test {
 protected:
  ModuleCache make_cache() { return make_cache(folder_); }
  ModuleCache make_cache(const fs::path& directory) {
    return ModuleCache({.compiler = compiler_, .directory = directory});
  }

  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.push_back(entry.path());
    return found;
  }

  TemporaryFolder folder_;
  std::shared_ptr<FakeCompiler> compiler_ = std::make_shared<FakeCompiler>();
};

ModuleSource source_of(const std::string& text) {
  return {.name = "test", .text = text, .headers = {}, .options = {}};
}

std::string image_of(const CompileOutcome& outcome) {
  const auto* compiled = std::get_if<CompiledModule>(&outcome);
  return compiled != nullptr ? compiled->image : "no image";
}

/// Runs `work(number)` in this many processes at once, and expects true from each.
template <class Work>
void expect_of_processes(int count, const Work& work) {
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(work(i) ? 0 : 1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST_F(ModuleCacheTest, CompilesEachSourceOnceForEachCapability) {
  ModuleCache cache = make_cache({});
  const std::string on_hopper = image_of(cache.compile(source_of("a"), hopper));
  EXPECT_EQ(on_hopper, FakeCompiler::code_of(source_of("a"), "sm_90"));
  EXPECT_EQ(image_of(cache.compile(source_of("a"), hopper)), on_hopper);
  EXPECT_EQ(image_of(cache.compile(source_of("a"), ampere)), FakeCompiler::code_of(source_of("a"), "sm_80"));
  EXPECT_EQ(image_of(cache.compile(source_of("b"), hopper)), FakeCompiler::code_of(source_of("b"), "sm_90"));
  EXPECT_EQ(compiler_->compiles, 3);
  EXPECT_EQ(cache.statistics().compiles, 3);
  EXPECT_EQ(cache.statistics().memory_hits, 1);
  EXPECT_EQ(cache.statistics().disk_hits, 0);
}

TEST_F(ModuleCacheTest, TheNextRunFindsItOnDiskAndAsksTheCompilerForItsVersionAlone) {
  const std::string image = image_of(make_cache().compile(source_of("a"), hopper));
  compiler_->targets = 0;
  ModuleCache next = make_cache();
  const CompileOutcome& found = next.compile(source_of("a"), hopper);
  EXPECT_EQ(image_of(found), image);
  EXPECT_EQ(std::get<CompiledModule>(found).target, "sm_90");
  EXPECT_EQ(compiler_->targets, 0);
  EXPECT_EQ(compiler_->compiles, 1);
  EXPECT_EQ(next.statistics().compiles, 0);
  EXPECT_EQ(next.statistics().disk_hits, 1);
  EXPECT_EQ(next.disk().directory, folder_.path());
  EXPECT_EQ(next.disk().problem, "");
}

TEST_F(ModuleCacheTest, WhateverTheCodeDependsOnIsInTheKey) {
  (void)make_cache().compile(source_of("a"), hopper);
  std::vector<ModuleSource> others(5, source_of("a"));
  others[0].text = "b";
  others[1].options = {"--fmad=false"};
  others[2].headers = {{"x.hpp", "1"}};
  others[3].headers = {{"x.hpp", "2"}};
  others[4].headers = {{"x.hpp2", ""}};
  for (const ModuleSource& other : others) (void)make_cache().compile(other, hopper);
  EXPECT_EQ(compiler_->compiles, 6);
  compiler_->the_version = "fake 1.1";
  (void)make_cache().compile(source_of("a"), hopper);
  EXPECT_EQ(compiler_->compiles, 7);
}

TEST_F(ModuleCacheTest, AFailureIsDataAndKeptInMemoryAlone) {
  ModuleCache cache = make_cache();
  for (int i = 0; i < 2; ++i) {
    const auto* failure = std::get_if<CompileFailure>(&cache.compile(source_of("broken"), hopper));
    ASSERT_NE(failure, nullptr);
    EXPECT_EQ(to_string(*failure), "\"test\" cannot be compiled for sm_90: broken(1): error: it is broken");
  }
  EXPECT_EQ(compiler_->compiles, 1);
  EXPECT_TRUE(files().empty());
  expect_error(ErrorCode::job_fault, "it is broken", [&] { (void)cache.load(source_of("broken"), hopper); });
}

TEST_F(ModuleCacheTest, ADeviceThatTheCompilerDoesNotKnowIsAFailure) {
  ModuleCache cache = make_cache();
  const auto* failure = std::get_if<CompileFailure>(&cache.compile(source_of("a"), {6, 1}));
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->reason, "fake 1.0 has no target for compute capability 6.1");
  EXPECT_EQ(compiler_->compiles, 0);
}

TEST_F(ModuleCacheTest, SourceWithoutTextIsMisuse) {
  error_of(ErrorCode::usage, [&] { (void)make_cache().compile(source_of(""), hopper); });
}

TEST_F(ModuleCacheTest, OfSeveralThreadsOneCompiles) {
  constexpr int threads = 8;
  ModuleCache cache = make_cache({});
  std::barrier together(threads);
  std::vector<const CompileOutcome*> outcomes(threads);
  {
    std::vector<std::jthread> all;
    for (auto& outcome : outcomes)
      all.emplace_back([&] {
        together.arrive_and_wait();
        outcome = &cache.compile(source_of("a"), hopper);
      });
  }
  EXPECT_EQ(compiler_->compiles, 1);
  EXPECT_EQ(cache.statistics().memory_hits, threads - 1);
  for (const auto* outcome : outcomes) EXPECT_EQ(outcome, outcomes[0]);
}

TEST_F(ModuleCacheTest, DifferentSourcesCompileAtTheSameTime) {
  // Each waits for the other in the compiler: one after the other would never end.
  std::barrier both(2);
  compiler_->while_compiling = [&] { both.arrive_and_wait(); };
  ModuleCache cache = make_cache({});
  std::jthread other([&] { (void)cache.compile(source_of("a"), hopper); });
  (void)cache.compile(source_of("b"), hopper);
  other.join();
  EXPECT_EQ(compiler_->compiles, 2);
}

TEST_F(ModuleCacheTest, ACompilationIsAbandonedByAThreadThatIsToStop) {
  std::promise<void> begun;
  std::promise<void> released;
  const auto compiling = begun.get_future().share();
  compiler_->while_compiling = [compiler = compiler_.get(), begun = &begun,
                                until = released.get_future().share()] {
    if (compiler->compiles > 1) return;
    begun->set_value();
    until.wait();
  };
  ModuleCache cache = make_cache();
  const auto stop_once_begun = [&] {
    if (compiling.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
      throw Error(ErrorCode::interrupted, "asked to stop");
  };
  {
    const base::CancellationScope cancellation(stop_once_begun);
    EXPECT_THROW((void)cache.compile(source_of("a"), hopper), Error);
  }
  // The first has not ended.
  EXPECT_EQ(image_of(cache.compile(source_of("a"), hopper)), FakeCompiler::code_of(source_of("a"), "sm_90"));
  EXPECT_EQ(cache.statistics().compiles, 2);
  released.set_value();
}

TEST_F(ModuleCacheTest, ACompilerThatThrowsLeavesNothingBehind) {
  ModuleCache cache = make_cache();
  EXPECT_THROW((void)cache.compile(source_of("throw"), hopper), std::runtime_error);
  EXPECT_THROW((void)cache.compile(source_of("throw"), hopper), std::runtime_error);
  EXPECT_EQ(compiler_->compiles, 2);
}

TEST_F(ModuleCacheTest, WhatIsAdoptedIsFound) {
  ModuleCache cache = make_cache();
  cache.adopt(source_of("a"), hopper, CompiledModule{"sm_90", "from afar", {}});
  cache.adopt(source_of("a"), hopper, CompiledModule{"sm_90", "too late", {}});
  EXPECT_EQ(image_of(cache.compile(source_of("a"), hopper)), "from afar");
  EXPECT_EQ(compiler_->compiles, 0);
  EXPECT_EQ(cache.statistics().adopted, 1);
  EXPECT_TRUE(files().empty());
}

TEST_F(ModuleCacheTest, CodeTakesThePlaceOfAFailure) {
  ModuleCache cache = make_cache();
  const CompileOutcome& failed = cache.compile(source_of("broken"), hopper);
  ASSERT_TRUE(std::holds_alternative<CompileFailure>(failed));
  cache.adopt(source_of("broken"), hopper, CompileFailure{"sm_90", "from afar", {}});
  EXPECT_EQ(cache.statistics().adopted, 0);
  cache.adopt(source_of("broken"), hopper, CompiledModule{"sm_90", "from afar", {}});
  EXPECT_EQ(image_of(cache.compile(source_of("broken"), hopper)), "from afar");
  EXPECT_EQ(cache.statistics().adopted, 1);
  EXPECT_TRUE(std::holds_alternative<CompileFailure>(failed)) << "what was returned stays";
}

/// Damages of a file.
struct Damage {
  const char* name;
  void (*done)(std::string& content);
};
class ModuleCacheDamage : public ModuleCacheTest, public ::testing::WithParamInterface<Damage> {};

TEST_P(ModuleCacheDamage, IsFoundOutAndRepaired) {
  const std::string image = image_of(make_cache().compile(source_of("a"), hopper));
  ASSERT_EQ(files().size(), 1u);
  const fs::path file = files()[0];
  const std::string whole = testing::content_of(file);
  std::string damaged = whole;
  GetParam().done(damaged);
  ASSERT_NE(damaged, whole);
  std::ofstream(file, std::ios::binary | std::ios::trunc) << damaged;

  ModuleCache next = make_cache();
  EXPECT_EQ(image_of(next.compile(source_of("a"), hopper)), image);
  EXPECT_EQ(next.statistics().rejected, 1);
  EXPECT_EQ(next.statistics().compiles, 1);
  EXPECT_EQ(testing::content_of(file), whole);
}

INSTANTIATE_TEST_SUITE_P(
    Files, ModuleCacheDamage,
    ::testing::Values(Damage{"emptied", [](std::string& c) { c.clear(); }},
                      Damage{"cut_short", [](std::string& c) { c.pop_back(); }},
                      Damage{"cut_in_the_head", [](std::string& c) { c.resize(20); }},
                      Damage{"longer", [](std::string& c) { c += 'x'; }},
                      Damage{"last_bit_flipped", [](std::string& c) { c.back() ^= 1; }},
                      Damage{"key_changed", [](std::string& c) { c[c.find("fake")] = 'F'; }},
                      Damage{"another_format", [](std::string& c) { c[c.find('3')] = '4'; }},
                      Damage{"sum_changed", [](std::string& c) { c[20] = c[20] == '0' ? '1' : '0'; }},
                      Damage{"size_is_no_number",
                             [](std::string& c) { c.insert(c.find('\n', 20) + 1, "x"); }}),
    [](const auto& param) { return param.param.name; });

// A file with the right key and checksum, which anybody can make.
TEST_F(ModuleCacheTest, AFileThatSomebodyElseMayHaveWrittenIsNotLoaded) {
  (void)make_cache().compile(source_of("a"), hopper);
  ASSERT_EQ(files().size(), 1u);
  const fs::path file = files().front();
  const auto is_loaded = [&] {
    ModuleCache cache = make_cache();
    (void)cache.compile(source_of("a"), hopper);
    EXPECT_EQ(cache.statistics().rejected + cache.statistics().disk_hits, 1);
    return cache.statistics().disk_hits == 1;
  };
  EXPECT_TRUE(is_loaded());
  fs::permissions(file, fs::perms::group_write, fs::perm_options::add);
  EXPECT_FALSE(is_loaded());
  // It was replaced by a file of this user.
  EXPECT_TRUE(is_loaded());
  fs::rename(file, folder_ / "planted");
  fs::create_symlink(folder_ / "planted", file);
  EXPECT_FALSE(is_loaded());
  EXPECT_FALSE(fs::is_symlink(file));
  EXPECT_TRUE(is_loaded());
  if (geteuid() != 0) return;  // only root can make files of other users
  constexpr uid_t nobody = 65534;
  ASSERT_EQ(chown(file.c_str(), nobody, nobody), 0);
  EXPECT_FALSE(is_loaded());
}

TEST_F(ModuleCacheTest, AFileOfAnotherKeyIsNotLoaded) {
  (void)make_cache().compile(source_of("a"), hopper);
  const fs::path file = files().front();
  (void)make_cache().compile(source_of("b"), hopper);
  const fs::path other = files().front() == file ? files().back() : files().front();
  fs::copy_file(other, file, fs::copy_options::overwrite_existing);
  ModuleCache next = make_cache();
  EXPECT_EQ(image_of(next.compile(source_of("a"), hopper)), FakeCompiler::code_of(source_of("a"), "sm_90"));
  EXPECT_EQ(next.statistics().rejected, 1);
}

TEST_F(ModuleCacheTest, AFileIsNamedByAHashOfItsKey) {
  (void)make_cache().compile(source_of("a"), hopper);
  ASSERT_EQ(files().size(), 1u);
  const std::string name = files().front().filename();
  EXPECT_EQ(name.size(), 16 + std::string(".module").size());
  const std::string content = testing::content_of(files().front());
  const std::string key = to_text({"9.0", "fake 1.0", version(), key_of(source_of("a"))});
  EXPECT_NE(content.find(key), std::string::npos);
  EXPECT_EQ(name, base::hex(base::fnv1a(key)) + ".module");
}

TEST_F(ModuleCacheTest, WithoutADiskItWorksAndSaysSo) {
  // A file is in the place of the folder, so nobody, including root, can make it.
  const fs::path blocked = folder_ / "file";
  std::ofstream(blocked) << "in the way";
  ModuleCache cache = make_cache(blocked / "cache");
  EXPECT_EQ(cache.disk().problem, "");
  EXPECT_NE(image_of(cache.compile(source_of("a"), hopper)), "no image");
  EXPECT_NE(cache.disk().problem.find("cannot be written"), std::string::npos) << cache.disk().problem;
  EXPECT_NE(cache.disk().problem.find(blocked.string()), std::string::npos) << cache.disk().problem;

  ModuleCache nowhere = make_cache(fs::path());
  (void)nowhere.compile(source_of("a"), hopper);
  EXPECT_TRUE(nowhere.disk().directory.empty());
  EXPECT_EQ(nowhere.disk().problem, "");
}

TEST_F(ModuleCacheTest, ManyProcessesShareAFolder) {
  // Each process writes and reads the same eight sources, and always finds the right code.
  expect_of_processes(8, [&](int) {
    bool right = true;
    for (int round = 0; round < 20; ++round) {
      ModuleCache cache = make_cache();
      const ModuleSource source = source_of(std::string(100'000, static_cast<char>('a' + round % 8)));
      right &= image_of(cache.compile(source, hopper)) == FakeCompiler::code_of(source, "sm_90");
      right &= cache.statistics().rejected == 0 && cache.disk().problem.empty();
    }
    return right;
  });
  EXPECT_EQ(files().size(), 8u);
}

/// A cache with room for this many files of the same size.
class BoundedModuleCacheTest : public ModuleCacheTest {
 protected:
  void may_have(int files) {
    (void)make_cache().compile(source(0), hopper);
    size_ = static_cast<std::int64_t>(fs::file_size(this->files().front()));
    fs::remove(this->files().front());
    max_bytes_ = files * size_;
  }
  ModuleCache make_bounded() {
    return ModuleCache({.compiler = compiler_, .directory = folder_.path(), .max_bytes = max_bytes_});
  }
  static ModuleSource source(int i) { return source_of(std::string(1000, static_cast<char>('a' + i))); }
  /// The path of a source's file.
  [[nodiscard]] fs::path file_of(int i) const {
    return folder_ / module_file_name(to_text({"9.0", compiler_->the_version, version(), key_of(source(i))}));
  }
  /// Sets the last use of a file to this time ago.
  static void age(const fs::path& file, std::chrono::hours hours) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - hours);
  }

  std::int64_t size_ = 0;
  std::int64_t max_bytes_ = 0;
};

TEST_F(BoundedModuleCacheTest, WhatIsNotUsedForLongestGoes) {
  may_have(3);
  for (const int i : {0, 1, 2}) {
    (void)make_bounded().compile(source(i), hopper);
    age(file_of(i), std::chrono::hours(30 - i));
  }
  ASSERT_EQ(files().size(), 3u);
  // The oldest is used again, so that the second one is evicted.
  (void)make_bounded().compile(source(0), hopper);
  (void)make_bounded().compile(source(3), hopper);
  EXPECT_TRUE(fs::exists(file_of(0)));
  EXPECT_FALSE(fs::exists(file_of(1)));
  EXPECT_TRUE(fs::exists(file_of(2)));
  EXPECT_TRUE(fs::exists(file_of(3)));
  EXPECT_EQ(compiler_->compiles, 1 + 4);
}

TEST_F(BoundedModuleCacheTest, NothingElseInTheFolderGoes) {
  may_have(1);
  const std::string key = module_file_name("key");
  const std::vector<fs::path> others{folder_ / "notes.module",
                                     folder_ / (key + ".bak"),
                                     folder_ / "0123456789abcdef",
                                     folder_ / "cafe.module.d",
                                     folder_ / "cafe.module",
                                     folder_ / (key + ".a1B2c3"),
                                     folder_ / key};
  for (const fs::path& other : others) {
    std::ofstream(other) << std::string(10'000, 'x');
    age(other, std::chrono::hours(1000));
  }
  fs::create_directory(folder_ / module_file_name("a folder"));
  fs::create_symlink(others.front(), folder_ / module_file_name("a link"));
  for (const int i : {0, 1, 2}) (void)make_bounded().compile(source(i), hopper);
  for (const fs::path& other : others) EXPECT_EQ(fs::file_size(other), 10'000u) << other;
  EXPECT_TRUE(fs::exists(file_of(2)));
  EXPECT_EQ(files().size(), others.size() + 3);
}

TEST_F(BoundedModuleCacheTest, WhatSomebodyIsWritingStaysAndWhatWasLeftGoes) {
  may_have(1);
  const fs::path writing = file_of(5).string() + ".a1B2c3";
  const fs::path left = file_of(6).string() + ".d4E5f6";
  for (const fs::path& file : {writing, left}) std::ofstream(file) << "tessera mod";
  age(left, std::chrono::hours(2));
  (void)make_bounded().compile(source(0), hopper);
  EXPECT_TRUE(fs::exists(writing));
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(file_of(0)));
}

TEST_F(BoundedModuleCacheTest, CodeThatIsTooLargeIsKeptInMemoryAlone) {
  may_have(1);
  (void)make_bounded().compile(source(0), hopper);
  --max_bytes_;
  ModuleCache cache = make_bounded();
  EXPECT_EQ(image_of(cache.compile(source(1), hopper)), FakeCompiler::code_of(source(1), "sm_90"));
  EXPECT_NE(cache.disk().problem.find("TESSERA_CACHE_MIB"), std::string::npos) << cache.disk().problem;
  EXPECT_TRUE(fs::exists(file_of(0))) << "it made room for what it does not keep";
}

TEST_F(BoundedModuleCacheTest, ManyProcessesMakeRoomAtOnce) {
  // Each finds the right code or compiles it, whatever the others remove meanwhile, and the rest fits.
  may_have(3);
  expect_of_processes(8, [&](int p) {
    bool right = true;
    for (int round = 0; round < 40; ++round) {
      ModuleCache cache = make_bounded();
      const int i = (3 * p + round) % 7;
      right &= image_of(cache.compile(source(i), hopper)) == FakeCompiler::code_of(source(i), "sm_90");
      right &= cache.statistics().rejected == 0 && cache.disk().problem.empty();
    }
    return right;
  });
  (void)make_bounded().compile(source(7), hopper);
  EXPECT_LE(files().size(), 3u);
  EXPECT_TRUE(fs::exists(file_of(7)));
}

TEST(ModuleCacheLimit, ComesFromTheEnvironment) {
  constexpr std::int64_t mib = 1 << 20;
  const auto limit_by = [](const char* text) {
    const ScopedVariable variable("TESSERA_CACHE_MIB", text);
    return module_cache_limit();
  };
  EXPECT_EQ(limit_by(""), 256 * mib);
  EXPECT_EQ(limit_by("0"), 0);
  EXPECT_EQ(limit_by("64"), 64 * mib);
  for (const char* text : {"-1", "64M", "x", " 1", "99999999999999999999", "9223372036854775807"}) {
    EXPECT_EQ(limit_by(text), 256 * mib) << text;
  }
  const ScopedVariable none("TESSERA_CACHE_MIB", std::nullopt);
  EXPECT_EQ(module_cache_limit(), 256 * mib);
}

/// The default folders, in the test's folder: $HOME and $TMPDIR.
class ModuleFoldersTest : public ModuleCacheTest {
 protected:
  ModuleFoldersTest() {
    fs::create_directory(home_);
    fs::create_directory(temporary_);
  }

  ModuleCache make_default_cache() { return ModuleCache({.compiler = compiler_, .directory = std::nullopt}); }
  /// Compiles, and returns the folder in which the code is stored; "" if none.
  fs::path where_kept() {
    ModuleCache cache = make_default_cache();
    (void)cache.compile(source_of("a"), hopper);
    return cache.disk().problem.empty() ? cache.disk().directory : "";
  }
  /// Compiles with an unusable home folder; returns why the code is not stored.
  std::string problem() {
    fs::remove_all(home_);
    ModuleCache cache = make_default_cache();
    EXPECT_NE(image_of(cache.compile(source_of("a"), hopper)), "no image");
    return cache.disk().problem;
  }

  fs::path home_ = folder_ / "home";
  fs::path temporary_ = folder_ / "tmp";
  fs::path own_ = temporary_ / ("tessera-" + std::to_string(geteuid()));
  ScopedVariable no_own_{"TESSERA_CACHE_DIR", std::nullopt};
  ScopedVariable no_xdg_{"XDG_CACHE_HOME", std::nullopt};
  ScopedVariable set_home_{"HOME", home_.string()};
  ScopedVariable set_temporary_{"TMPDIR", temporary_.string()};
};

TEST_F(ModuleFoldersTest, TheHomeComesFirst) {
  EXPECT_EQ(where_kept(), home_ / ".cache/tessera");
  EXPECT_FALSE(fs::exists(own_));
}

TEST_F(ModuleFoldersTest, WithoutAHomeItIsAFolderOfTheUsersOwn) {
  fs::remove(home_);
  EXPECT_EQ(where_kept(), own_);
  EXPECT_EQ(fs::status(own_).permissions(), fs::perms::owner_all);
  EXPECT_FALSE(fs::exists(home_));
  // It is found there.
  ModuleCache next = make_default_cache();
  (void)next.compile(source_of("a"), hopper);
  EXPECT_EQ(next.statistics().disk_hits, 1);
}

TEST_F(ModuleFoldersTest, WhereTheHomeCannotBeWrittenToo) {
  // Even root cannot write it: a file is in the way, and /proc accepts none.
  std::ofstream(home_ / ".cache") << "in the way";
  EXPECT_EQ(where_kept(), own_);
  const ScopedVariable xdg("XDG_CACHE_HOME", "/proc/self");
  (void)fs::remove_all(own_);
  EXPECT_EQ(where_kept(), own_);
}

TEST_F(ModuleFoldersTest, WhereTheHomeIsReadOnly) {
  constexpr int may_not_mount = 77;
  const pid_t child = fork();
  if (child == 0) {
    // Visible only to this process.
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", home_.c_str(), "tmpfs", MS_RDONLY, nullptr) != 0)
      _exit(may_not_mount);
    _exit(where_kept() == own_ && fs::is_empty(home_) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == may_not_mount) GTEST_SKIP() << "this user may not mount";
  EXPECT_EQ(status, 0);
}

TEST_F(ModuleFoldersTest, CodeInAHomeThatCannotBeWrittenIsFound) {
  EXPECT_EQ(where_kept(), home_ / ".cache/tessera");
  const fs::perms before = fs::status(home_ / ".cache/tessera").permissions();
  fs::permissions(home_ / ".cache/tessera", fs::perms::owner_read | fs::perms::owner_exec);
  ModuleCache next = make_default_cache();
  (void)next.compile(source_of("a"), hopper);
  EXPECT_EQ(next.statistics().disk_hits, 1);
  fs::permissions(home_ / ".cache/tessera", before);
}

TEST_F(ModuleFoldersTest, ALinkIsNotFollowed) {
  fs::create_directory(folder_ / "elsewhere");
  fs::permissions(folder_ / "elsewhere", fs::perms::owner_all);
  fs::create_symlink(folder_ / "elsewhere", own_);
  EXPECT_NE(problem().find(own_.string() + " cannot be written: the path is not a folder"),
            std::string::npos);
  EXPECT_TRUE(fs::is_empty(folder_ / "elsewhere"));
}

TEST_F(ModuleFoldersTest, AFolderThatIsOpenToOthersIsNeitherWrittenNorRead) {
  fs::remove(home_);
  EXPECT_EQ(where_kept(), own_);
  fs::permissions(own_, fs::perms::owner_all | fs::perms::group_exec);
  EXPECT_NE(problem().find("other users can access the folder"), std::string::npos);
  EXPECT_EQ(compiler_->compiles, 2);
}

TEST_F(ModuleFoldersTest, AFolderOfAnotherUserIsNeitherWrittenNorRead) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  fs::remove(home_);
  EXPECT_EQ(where_kept(), own_);
  ASSERT_EQ(chown(own_.c_str(), 65534, 65534), 0);
  EXPECT_NE(problem().find("the folder belongs to another user"), std::string::npos);
  EXPECT_EQ(compiler_->compiles, 2);
}

TEST_F(ModuleFoldersTest, WhereNothingCanBeWrittenItIsKeptInMemory) {
  fs::remove(temporary_);
  const std::string all = problem();
  EXPECT_TRUE(contains(
      all, (home_ / ".cache/tessera").string() + " cannot be written: " + home_.string() + " is not"));
  EXPECT_NE(all.find(temporary_.string() + " is not there"), std::string::npos) << all;
}

TEST(ModuleDirectories, ComeFromTheEnvironment) {
  using Paths = std::vector<std::string>;
  const ScopedVariable home("HOME", "/home/user");
  const ScopedVariable temporary("TMPDIR", "/scratch/7");
  const std::string own_folder = "/tessera-" + std::to_string(geteuid());
  {
    const ScopedVariable own("TESSERA_CACHE_DIR", std::nullopt);
    {
      const ScopedVariable cache("XDG_CACHE_HOME", "/cache");
      EXPECT_EQ(default_module_directories(), (Paths{"/cache/tessera", "/scratch/7" + own_folder}));
    }
    const ScopedVariable cache("XDG_CACHE_HOME", "relative");
    EXPECT_EQ(default_module_directories(), (Paths{"/home/user/.cache/tessera", "/scratch/7" + own_folder}));
    const ScopedVariable homeless("HOME", std::nullopt);
    EXPECT_EQ(default_module_directories(), (Paths{"/scratch/7" + own_folder}));
    const ScopedVariable without("TMPDIR", std::nullopt);
    EXPECT_EQ(default_module_directories(), (Paths{"/tmp" + own_folder}));
  }
  const ScopedVariable own("TESSERA_CACHE_DIR", "/own");
  EXPECT_EQ(default_module_directories(), (Paths{"/own"}));
  const ScopedVariable none("TESSERA_CACHE_DIR", "");
  EXPECT_EQ(default_module_directories(), Paths{});
}

}  // namespace
}  // namespace tessera
