// SPDX-License-Identifier: Apache-2.0
#include "gam/model/model.hpp"
#include "support/mean_model.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <tessera/error.hpp>
#include <utility>
#include <vector>

#include "files/input_file.hpp"
#include "temporary_folder.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

namespace fs = std::filesystem;

using testing::mean_of;

/// Limits the size of this process's files to this many bytes.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit small{bytes, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  }
  ~FileSizeLimit() {
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before_), 0);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

/// A limit so small that every covariance goes to a file of its own.
constexpr int inline_limit = 0;

class ModelFile : public ::testing::Test {
 protected:
  void SetUp() override { path_ = (folder_ / "model.json").string(); }

  /// The covariance in the model's folder.
  static std::string covariance_of(const std::string& model) {
    for (const auto& entry : fs::directory_iterator(fs::path(model).parent_path())) {
      if (entry.path().string().starts_with(model + ".cov")) return entry.path().string();
    }
    return {};
  }
  /// Reads model.json, changes a text in it, and writes it.
  void replace(const std::string& text, const std::string& by) const {
    std::string json = files::read_text(path_, 1 << 20);
    ASSERT_NE(json.find(text), std::string::npos) << json;
    json.replace(json.find(text), text.size(), by);
    std::ofstream(path_) << json;
  }

  TemporaryFolder folder_;
  std::string path_;
};

TEST_F(ModelFile, ReadsBackWhateverItIsCalled) {
  for (const char* name : {"model.json", "gr\xF6\xDFte.json",
                           "gr\xC3\xB6\xC3\x9F"
                           "e"}) {
    const std::string path = folder_ / name;
    save_model(mean_of(0.1, 1.0 / 3), path, inline_limit);
    const FittedModel read = read_model(path);
    EXPECT_EQ(read.coef, std::vector<double>{0.1});
    EXPECT_EQ(read.covariance(0, 0), 1.0 / 3);
  }
}

TEST_F(ModelFile, HasTheLinkOfItsFamily) {
  FittedModel model = mean_of(1, 2);
  model.family = chosen_family("poisson(sqrt)");
  save_model(model, path_, inline_limit);
  EXPECT_EQ(read_model(path_).family.text(), "poisson(sqrt)");
  // A program that does not know links refuses the file.
  EXPECT_NE(files::read_text(path_, 1 << 20).find("\"version\": 5"), std::string::npos);
  replace("\"sqrt\"", "\"logit\"");
  EXPECT_THROW(static_cast<void>(read_model(path_)), Error);
}

TEST_F(ModelFile, HasTypicalValuesAndWhereRowsAre) {
  FittedModel model = mean_of(1, 2);
  model.outline.summaries = {{"x", false, -1, 0.1, 2, {}, 0.25}, {"g", true, 0, 0, 0, "b \"c\""}};
  model.outline.occupancy = {{"x", "z", std::vector<std::string>(40, std::string(39, '0') + "1")}};
  save_model(model, path_, inline_limit);
  // A program that does not know them ignores them.
  EXPECT_NE(files::read_text(path_, 1 << 20).find("\"version\": 3"), std::string::npos);
  const DataOutline read = read_model(path_).outline;
  ASSERT_EQ(read.summaries.size(), 2U);
  EXPECT_EQ(read.summaries[0].median, 0.1);
  EXPECT_EQ(read.summaries[0].greatest, 2);
  EXPECT_EQ(read.summaries[0].mean, 0.25);
  EXPECT_TRUE(std::isnan(read.summaries[1].mean));
  EXPECT_EQ(read.summaries[1].level, "b \"c\"");
  EXPECT_TRUE(read.summaries[1].factor);
  ASSERT_EQ(read.occupancy.size(), 1U);
  EXPECT_EQ(read.occupancy[0].y, "z");
  EXPECT_EQ(read.occupancy[0].cells, model.outline.occupancy[0].cells);
}

TEST_F(ModelFile, IsRefusedWithTypicalValuesThatAreNone) {
  for (const auto& [from, to] : {std::pair<const char*, const char*>{"0.1,", "7,"}, {"00001", "0000x"}}) {
    FittedModel model = mean_of(1, 2);
    model.outline.summaries = {{"x", false, -1, 0.1, 2, {}}};
    model.outline.occupancy = {{"x", "z", std::vector<std::string>(40, std::string(39, '0') + "1")}};
    save_model(model, path_, inline_limit);
    replace(from, to);
    EXPECT_THROW(static_cast<void>(read_model(path_)), Error) << to;
  }
}

TEST_F(ModelFile, IsReadUnderItsNewNameAndThroughALink) {
  save_model(mean_of(1, 2), path_, inline_limit);
  fs::create_directory(folder_ / "there");
  const std::string moved = folder_ / "there" / "moved.json";
  fs::rename(path_, moved);
  const std::string covariance = covariance_of(path_);
  fs::rename(covariance, moved + covariance.substr(path_.size()));
  fs::create_symlink(moved, folder_ / "link");
  EXPECT_EQ(read_model(moved).covariance(0, 0), 2);
  EXPECT_EQ(read_model(folder_ / "link").covariance(0, 0), 2);
}

TEST_F(ModelFile, StaysWithItsCovarianceIfTheNextOneCannotBeWritten) {
  save_model(mean_of(1, 2), path_, inline_limit);
  {
    // The system refuses to let a file grow over the limit, as on a full disk; the covariance fits.
    const FileSizeLimit limit(64);
    EXPECT_THROW(save_model(mean_of(3, 4), path_, inline_limit), Error);
  }
  const FittedModel read = read_model(path_);
  EXPECT_EQ(read.coef, std::vector<double>{1});
  EXPECT_EQ(read.covariance(0, 0), 2);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2);
}

TEST_F(ModelFile, IsNotReadWithTheCovarianceOfAnother) {
  const std::string other = folder_ / "other.json";
  save_model(mean_of(1, 2), path_, inline_limit);
  save_model(mean_of(1, 2.5), other, inline_limit);
  const std::string covariance = covariance_of(path_);
  fs::rename(covariance_of(other), covariance);
  try {
    static_cast<void>(read_model(path_));
    ADD_FAILURE() << "it was read";
  } catch (const Error& fault) {
    EXPECT_EQ(fault.code(), ErrorCode::input);
    EXPECT_EQ(fault.what(), covariance + ": the file does not belong to this model: fit the model again");
  }
}

TEST_F(ModelFile, KeepsItsCovarianceBesideItWhereItIsWrittenThroughALink) {
  fs::create_directory(folder_ / "there");
  const std::string target = folder_ / "there" / "target.json";
  fs::create_symlink(target, path_);
  save_model(mean_of(1, 2), path_, inline_limit);
  EXPECT_EQ(read_model(path_).covariance(0, 0), 2);
  EXPECT_EQ(read_model(target).covariance(0, 0), 2);
  EXPECT_TRUE(covariance_of(path_).empty());
}

TEST_F(ModelFile, WithACovarianceOfThePlainNameIsReadAndReplacedAndThatStays) {
  save_model(mean_of(1, 2), path_, inline_limit);
  const std::string suffix = covariance_of(path_).substr(path_.size());
  fs::rename(path_ + suffix, path_ + ".cov");
  replace('"' + suffix + '"', "\".cov\"");
  replace("\"version\": 3", "\"version\": 2");
  EXPECT_EQ(read_model(path_).covariance(0, 0), 2);
  save_model(mean_of(1, 3), path_, inline_limit);
  EXPECT_EQ(read_model(path_).covariance(0, 0), 3);
  EXPECT_TRUE(fs::exists(path_ + ".cov"));
}

TEST_F(ModelFile, NamesNoOtherFileAsItsCovariance) {
  save_model(mean_of(1, 2), path_, inline_limit);
  const std::string suffix = covariance_of(path_).substr(path_.size());
  std::string last = suffix;
  for (const std::string other :
       {"/../secret", ".cov-", ".cov-0123456G", ".cov-012345678", ".cov/secret", ""}) {
    replace('"' + last + '"', '"' + other + '"');
    last = other;
    try {
      static_cast<void>(read_model(path_));
      ADD_FAILURE() << other << " was read";
    } catch (const Error& fault) {
      EXPECT_EQ(fault.code(), ErrorCode::input);
      EXPECT_NE(std::string(fault.what()).find("suffix"), std::string::npos) << fault.what();
    }
  }
}

TEST_F(ModelFile, RemovesCovariancesThatItDoesNotName) {
  // The CRC-32 of "x" and of "y".
  const std::string orphan = path_ + ".cov-8cdc1683";
  const std::string held = path_ + ".cov-fbdb2615";
  std::ofstream(orphan) << "x";
  std::ofstream(held) << "y";
  for (const std::string& name : {path_ + ".cov", path_ + ".cov-00000001", path_ + ".cov-0000000g",
                                  path_ + ".cov-000000000", std::string(folder_ / "other.json.cov-8cdc1683")})
    std::ofstream(name) << "x";
  std::ofstream(path_ + ".cov-00000000").close();
  fs::create_symlink(path_ + ".cov-0000000g", path_ + ".cov-00000002");
  fs::create_directory(path_ + ".cov-00000003");
  // Another process is about to write a model that names it.
  const int descriptor = ::open(held.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(descriptor, LOCK_EX), 0);
  auto strangers = save_model(mean_of(1, 2), path_, inline_limit).strangers;
  std::ranges::sort(strangers);
  EXPECT_EQ(strangers,
            (std::vector<std::string>{path_ + ".cov", path_ + ".cov-00000000", path_ + ".cov-00000001"}));
  EXPECT_EQ(read_model(path_).covariance(0, 0), 2);
  EXPECT_FALSE(fs::exists(orphan));
  for (const std::string& name : {held, path_ + ".cov", path_ + ".cov-00000000", path_ + ".cov-00000001",
                                  path_ + ".cov-0000000g", path_ + ".cov-000000000", path_ + ".cov-00000002",
                                  path_ + ".cov-00000003", std::string(folder_ / "other.json.cov-8cdc1683")})
    EXPECT_TRUE(fs::exists(name)) << name;
  ::close(descriptor);
  save_model(mean_of(1, 3), path_, inline_limit);
  EXPECT_FALSE(fs::exists(held));
}

TEST_F(ModelFile, HandsOnItsAccessToTheCovarianceOfTheNext) {
  save_model(mean_of(1, 2), path_, inline_limit);
  fs::permissions(path_, fs::perms::owner_read | fs::perms::owner_write);
  save_model(mean_of(1, 3), path_, inline_limit);
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(covariance_of(path_)).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(ModelFile, IsNotLostForATextThatIsNotUtf8) {
  FittedModel model = mean_of(1, 2);
  model.verdict = "1 rank on k\xFChler";
  save_model(model, path_);
  EXPECT_EQ(read_model(path_).verdict, "1 rank on k\xEF\xBF\xBDhler");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
