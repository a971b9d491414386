// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <tessera/error.hpp>

namespace tessera::fit {
namespace {

namespace fs = std::filesystem;

/// The mean of some numbers: one coefficient.
Model mean_of(double mean, double variance) {
  Model model;
  model.formula = "y ~ 1";
  CoefBlock intercept;
  intercept.label = "(Intercept)";
  intercept.kind = "parametric";
  intercept.names = {"(Intercept)"};
  intercept.raw_begin = model.design.add_term({});
  intercept.raw_size = 1;
  intercept.coef_size = 1;
  intercept.map = Matrix(1, 1);
  intercept.map(0, 0) = 1;
  model.design.blocks.push_back(std::move(intercept));
  model.design.coef_size = 1;
  model.coef = {mean};
  model.edf = {1};
  model.covariance = Matrix(1, 1);
  model.covariance(0, 0) = variance;
  return model;
}

/// Lets no file of this process grow over so many bytes.
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

/// So small that every covariance goes to a file of its own.
constexpr int inline_limit = 0;

class ModelFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tessera-model-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = (folder_ / "model.json").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  std::string path_;
};

TEST_F(ModelFile, ReadsBackWhateverItIsCalled) {
  for (const char* name : {"model.json", "gr\xF6\xDFte.json",
                           "gr\xC3\xB6\xC3\x9F"
                           "e"}) {
    const std::string path = folder_ / name;
    save_model(mean_of(0.1, 1.0 / 3), path, inline_limit);
    const Model read = load_model(path);
    EXPECT_EQ(read.coef, std::vector<double>{0.1});
    EXPECT_EQ(read.covariance(0, 0), 1.0 / 3);
  }
}

TEST_F(ModelFile, IsReadUnderItsNewNameAndThroughALink) {
  save_model(mean_of(1, 2), path_, inline_limit);
  fs::create_directory(folder_ / "there");
  const std::string moved = folder_ / "there" / "moved.json";
  fs::rename(path_, moved);
  fs::rename(covariance_path(path_), covariance_path(moved));
  fs::create_symlink(moved, folder_ / "link");
  EXPECT_EQ(load_model(moved).covariance(0, 0), 2);
  EXPECT_EQ(load_model(folder_ / "link").covariance(0, 0), 2);
}

TEST_F(ModelFile, StaysWithItsCovarianceIfTheNextOneCannotBeWritten) {
  save_model(mean_of(1, 2), path_, inline_limit);
  {
    // The system refuses to let a file grow over the limit, as on a full disk: there is room for the
    // covariance.
    const FileSizeLimit limit(64);
    EXPECT_THROW(save_model(mean_of(3, 4), path_, inline_limit), Error);
  }
  const Model read = load_model(path_);
  EXPECT_EQ(read.coef, std::vector<double>{1});
  EXPECT_EQ(read.covariance(0, 0), 2);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2);
}

TEST_F(ModelFile, IsNotReadWithTheCovarianceOfAnother) {
  const std::string other = folder_ / "other.json";
  save_model(mean_of(1, 2), path_, inline_limit);
  save_model(mean_of(1, 2.5), other, inline_limit);
  fs::rename(covariance_path(other), covariance_path(path_));
  try {
    static_cast<void>(load_model(path_));
    ADD_FAILURE() << "it was read";
  } catch (const Error& fault) {
    EXPECT_EQ(fault.code(), ErrorCode::input);
    EXPECT_EQ(fault.what(),
              covariance_path(path_) + ": is not the covariance of this model: fit the model again");
  }
}

TEST_F(ModelFile, IsNotLostForATextThatIsNotUtf8) {
  Model model = mean_of(1, 2);
  model.verdict = "1 rank on k\xFChler";
  save_model(model, path_);
  EXPECT_EQ(load_model(path_).verdict, "1 rank on k\xEF\xBF\xBDhler");
}

}  // namespace
}  // namespace tessera::fit
