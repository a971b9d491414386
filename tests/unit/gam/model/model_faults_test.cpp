// SPDX-License-Identifier: Apache-2.0
// While a model replaces another, each system call fails once, or it and all later ones: one of the two
// models is then there, complete. The linker (--wrap) replaces the system's functions by those below.
#include "gam/model/model.hpp"
#include "support/mean_model.hpp"
#include "temporary_folder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <tessera/error.hpp>

namespace {

/// Counts system calls, and fails some of them.
struct Faults {
  bool armed = false;
  bool for_good = false;  ///< all calls from the first that fails on, as in a process that is killed
  int first = 0;
  int calls = 0;
  std::map<std::string, int> failed;
};
Faults faults;

bool fails(const char* call) {
  if (!faults.armed) return false;
  ++faults.calls;
  if (faults.for_good ? faults.calls < faults.first : faults.calls != faults.first) return false;
  ++faults.failed[call];
  errno = EIO;
  return true;
}

mode_t mode_of(int flags, std::va_list arguments) {
  return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): the names that the linker's --wrap requires
extern "C" {
int __real_open(const char* path, int flags, ...);
int __real_openat(int folder, const char* path, int flags, ...);
int __real_renameat(int from, const char* old_name, int to, const char* new_name);
int __real_unlinkat(int folder, const char* path, int flags);
int __real_fsync(int descriptor);
int __real_fchmod(int descriptor, mode_t mode);
int __real_flock(int descriptor, int operation);
ssize_t __real_write(int descriptor, const void* bytes, size_t count);
ssize_t __real_pread(int descriptor, void* bytes, size_t count, off_t offset);

int __wrap_open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return fails("open") ? -1 : __real_open(path, flags, mode);
}
int __wrap_openat(int folder, const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return fails("openat") ? -1 : __real_openat(folder, path, flags, mode);
}
int __wrap_renameat(int from, const char* old_name, int to, const char* new_name) {
  return fails("renameat") ? -1 : __real_renameat(from, old_name, to, new_name);
}
int __wrap_unlinkat(int folder, const char* path, int flags) {
  return fails("unlinkat") ? -1 : __real_unlinkat(folder, path, flags);
}
int __wrap_fsync(int descriptor) {
  return fails("fsync") ? -1 : __real_fsync(descriptor);
}
int __wrap_fchmod(int descriptor, mode_t mode) {
  return fails("fchmod") ? -1 : __real_fchmod(descriptor, mode);
}
int __wrap_flock(int descriptor, int operation) {
  return fails("flock") ? -1 : __real_flock(descriptor, operation);
}
ssize_t __wrap_write(int descriptor, const void* bytes, size_t count) {
  return fails("write") ? -1 : __real_write(descriptor, bytes, count);
}
ssize_t __wrap_pread(int descriptor, void* bytes, size_t count, off_t offset) {
  return fails("pread") ? -1 : __real_pread(descriptor, bytes, count, offset);
}
}
// NOLINTEND(bugprone-reserved-identifier)

namespace TESSERA_NAMESPACE::gam {
namespace {

namespace fs = std::filesystem;

/// A model of one coefficient, and a covariance that identifies it.
FittedModel model_of(double mean) {
  return testing::mean_of(mean, 10 * mean);
}

/// The mean of the existing model, which must have its own covariance.
double mean_at(const std::string& path) {
  const FittedModel read = read_model(path);
  EXPECT_EQ(read.covariance(0, 0), 10 * read.coef[0]);
  return read.coef[0];
}

constexpr int outside = 0;
constexpr int inside = 512;

struct Replacement {
  const char* name;
  int before;  ///< the limit of a covariance in the file: outside or inside
  int after;
  bool plain;  ///< the model before has its covariance in PATH.cov
};

class ModelFaults : public ::testing::TestWithParam<std::tuple<Replacement, bool>> {
 protected:
  void SetUp() override { path_ = (folder_ / "model.json").string(); }
  void TearDown() override { faults = {}; }

  /// Rewrites the model in the format of earlier programs, whose covariances had no names of their own.
  void make_plain() const {
    std::ifstream file(path_);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::size_t suffix = text.find(".cov-");
    ASSERT_NE(suffix, std::string::npos);
    const std::string named = text.substr(suffix, 13);
    text.replace(suffix, 13, ".cov");
    const std::string version = "\"version\": 3";
    ASSERT_NE(text.find(version), std::string::npos);
    text.replace(text.find(version), version.size(), "\"version\": 2");
    std::ofstream(path_) << text;
    fs::rename(path_ + named, path_ + ".cov");
  }
  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.insert(entry.path().filename().string());
    return names;
  }

  TemporaryFolder folder_;
  std::string path_;
};

TEST_P(ModelFaults, LeaveOneOfTheTwoModelsAndNothingElseBehindTheNext) {
  const auto [replacement, for_good] = GetParam();
  bool failed = true;
  int kept = 0;
  int unsafe = 0;
  for (int first = 1; failed; ++first) {
    save_model(model_of(1), path_, replacement.before);
    if (replacement.plain) make_plain();
    ASSERT_EQ(mean_at(path_), 1);

    faults = {.armed = true, .for_good = for_good, .first = first, .calls = 0, .failed = {}};
    bool thrown = false;
    std::string problem;
    try {
      problem = save_model(model_of(2), path_, replacement.after).problem;
    } catch (const Error& error) {
      thrown = true;
      EXPECT_EQ(error.code(), ErrorCode::input) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
    faults.armed = false;
    failed = !faults.failed.empty();
    const std::string call = failed ? faults.failed.begin()->first : "none";
    const double mean = mean_at(path_);
    EXPECT_EQ(mean, thrown ? 1 : 2) << first << ' ' << call;
    if (!problem.empty()) {
      ++unsafe;
      EXPECT_TRUE(faults.failed.contains("fsync")) << call;
      EXPECT_NE(problem.find("is written, but may not survive a power failure"), std::string::npos);
    }
    kept += mean == 1 ? 1 : 0;

    save_model(model_of(3), path_, replacement.after);
    EXPECT_EQ(mean_at(path_), 3) << first << ' ' << call;
    // A covariance with the plain name could be another user's, and stays.
    EXPECT_EQ(files().size(), (replacement.after == outside ? 2U : 1U) + (replacement.plain ? 1U : 0U))
        << first << ' ' << call << ": " << ::testing::PrintToString(files());
    fs::remove(path_);
  }
  EXPECT_EQ(unsafe, 1) << "of the flush of the folder";
  EXPECT_GE(kept, replacement.after == outside ? 8 : 4) << "the calls are not those of the system any more";
}

INSTANTIATE_TEST_SUITE_P(
    All, ModelFaults,
    ::testing::Combine(::testing::Values(Replacement{"BothOutside", outside, outside, false},
                                         Replacement{"OutsideByInside", outside, inside, false},
                                         Replacement{"InsideByOutside", inside, outside, false},
                                         Replacement{"PlainByOutside", outside, outside, true},
                                         Replacement{"PlainByInside", outside, inside, true}),
                       ::testing::Bool()),
    [](const auto& tested) {
      return std::string(std::get<0>(tested.param).name) + (std::get<1>(tested.param) ? "ForGood" : "Once");
    });

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
