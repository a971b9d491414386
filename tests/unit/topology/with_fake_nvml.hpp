// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "fake_nvml.hpp"

namespace tessera::testing {

/// Loads the fake first: the dynamic linker then returns it for libnvidia-ml.so.1.
class WithFakeNvml : public ::testing::Test {
 protected:
  void SetUp() override {
    library_ = dlopen(TESSERA_FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    fake_ = static_cast<FakeNvml*>(dlsym(library_, "fake_nvml"));
    ASSERT_NE(fake_, nullptr);
    *fake_ = {};
  }
  void TearDown() override {
    EXPECT_EQ(fake_->open, 0) << "NVML was left initialised";
    dlclose(library_);
  }

  void* library_ = nullptr;
  FakeNvml* fake_ = nullptr;
};

}  // namespace tessera::testing
