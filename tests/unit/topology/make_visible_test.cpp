// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <tessera/topology/claim.hpp>

#include <cstdlib>
#include <string>

namespace tessera {
namespace {

constexpr auto first = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6";
constexpr auto second = "MIG-11111111-d72c-4106-c12f-20bd9faed9f6";

class MakeVisible : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("CUDA_VISIBLE_DEVICES", "0,1,2", 1);
    for (const char* uuid : {first, second}) {
      ClaimedDevice device;
      device.info.uuid = *parse_uuid(uuid);
      claim_.devices.push_back(device);
    }
  }
  void TearDown() override { unsetenv("CUDA_VISIBLE_DEVICES"); }
  static std::string visible() { return std::getenv("CUDA_VISIBLE_DEVICES"); }

  Claim claim_;
};

TEST_F(MakeVisible, ListsTheClaimedDevicesInOrder) {
  EXPECT_TRUE(make_visible(claim_));
  EXPECT_EQ(visible(), std::string(first) + "," + second);
}

TEST_F(MakeVisible, SimulatedDevicesLeaveTheEnvironmentAlone) {
  for (auto& device : claim_.devices) device.info.simulated = true;
  EXPECT_TRUE(make_visible(claim_));
  EXPECT_EQ(visible(), "0,1,2");
}

TEST_F(MakeVisible, ARankWithNothingLeftSeesNothing) {
  claim_.devices.clear();
  claim_.absence = Absence{Absence::Reason::none_left, "the others drive them"};
  EXPECT_TRUE(make_visible(claim_));
  EXPECT_EQ(visible(), "");
}

TEST_F(MakeVisible, AnotherAbsenceLeavesTheEnvironmentAlone) {
  claim_.devices.clear();
  claim_.absence = Absence{Absence::Reason::excluded, "the policy is cpu"};
  EXPECT_TRUE(make_visible(claim_));
  EXPECT_EQ(visible(), "0,1,2");
}

TEST_F(MakeVisible, ChangesNothingOnceCudaIsInitialised) {
  void* cuda = dlopen(TESSERA_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(cuda, nullptr) << dlerror();
  auto* status = static_cast<int*>(dlsym(cuda, "fake_cuda_status"));
  ASSERT_NE(status, nullptr);
  *status = 0;
  EXPECT_FALSE(make_visible(claim_));
  EXPECT_EQ(visible(), "0,1,2");
  *status = 3;  // loaded, but not initialised
  EXPECT_TRUE(make_visible(claim_));
  EXPECT_NE(visible(), "0,1,2");
  dlclose(cuda);
}

}  // namespace
}  // namespace tessera
