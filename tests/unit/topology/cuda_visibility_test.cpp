// SPDX-License-Identifier: Apache-2.0
#include "topology/driver/cuda_visibility.hpp"
#include "topology/driver/parse_uuid.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

namespace TESSERA_NAMESPACE::detail {
namespace {

constexpr auto first = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6";
constexpr auto second = "MIG-11111111-d72c-4106-c12f-20bd9faed9f6";
constexpr auto third = "GPU-22222222-d72c-4106-c12f-20bd9faed9f6";

/// The driver's library, loaded into this process.
class FakeCuda {
 public:
  FakeCuda() : library_(dlopen(TESSERA_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL)) {}
  ~FakeCuda() {
    if (library_ != nullptr) dlclose(library_);
  }
  FakeCuda(const FakeCuda&) = delete;
  FakeCuda& operator=(const FakeCuda&) = delete;

  [[nodiscard]] bool is_loaded() const { return library_ != nullptr; }
  void start_with(std::initializer_list<const char*> uuids) {
    auto* listed = static_cast<std::uint8_t*>(dlsym(library_, "fake_cuda_uuids"));
    for (const char* uuid : uuids) {
      std::memcpy(listed, parse_uuid(uuid)->bytes.data(), 16);
      listed += 16;
    }
    *static_cast<int*>(dlsym(library_, "fake_cuda_devices")) = static_cast<int>(uuids.size());
    *static_cast<int*>(dlsym(library_, "fake_cuda_status")) = 0;
  }
  void stop() { *static_cast<int*>(dlsym(library_, "fake_cuda_status")) = 3; }

 private:
  void* library_;
};

class CudaIsShown : public ::testing::Test {
 protected:
  void SetUp() override { setenv("CUDA_VISIBLE_DEVICES", "0,1,2", 1); }
  void TearDown() override { unsetenv("CUDA_VISIBLE_DEVICES"); }
  static std::string visible() {
    const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
    return text != nullptr ? text : "(unset)";
  }
  static Claim claim_of(std::initializer_list<const char*> uuids) {
    Claim claim;
    for (const char* uuid : uuids) {
      ClaimedDevice device;
      device.info.uuid = *parse_uuid(uuid);
      claim.devices.push_back(device);
    }
    return claim;
  }
  static Claim empty_for(Absence::Reason reason) {
    Claim claim;
    claim.absence = Absence{reason, "no device"};
    return claim;
  }

  const Claim claim_ = claim_of({first, second});
};

TEST_F(CudaIsShown, TheClaimedDevicesInOrderAndThenWhatItFound) {
  {
    const CudaVisibility shown(claim_);
    EXPECT_EQ(visible(), std::string(first) + "," + second);
    EXPECT_EQ(visible_devices_as_found(), "0,1,2") << "what the next probe goes by";
    EXPECT_EQ(shown.ordinal_of(claim_.devices[0].info), Ordinal{0});
    EXPECT_EQ(shown.ordinal_of(claim_.devices[1].info), Ordinal{1});
  }
  EXPECT_EQ(visible(), "0,1,2");
}

TEST_F(CudaIsShown, AVariableThatWasNotSetIsUnsetAgain) {
  unsetenv("CUDA_VISIBLE_DEVICES");
  {
    const CudaVisibility shown(claim_);
    EXPECT_EQ(visible_devices_as_found(), std::nullopt);
  }
  EXPECT_EQ(visible(), "(unset)");
}

TEST_F(CudaIsShown, TheDevicesOfAllJobsOfTheProcess) {
  std::optional<CudaVisibility> one(std::in_place, claim_);
  const Claim another = claim_of({third, first});
  {
    const CudaVisibility two(another);
    EXPECT_EQ(visible(), std::string(first) + "," + second + "," + third);
    EXPECT_EQ(two.ordinal_of(another.devices[0].info), Ordinal{2});
    EXPECT_EQ(two.ordinal_of(another.devices[1].info), Ordinal{0});
    one.reset();
    EXPECT_EQ(two.ordinal_of(another.devices[0].info), Ordinal{2}) << "ordinals stay while a job lives";
  }
  EXPECT_EQ(visible(), "0,1,2");
}

TEST_F(CudaIsShown, NoDeviceOfSimulations) {
  Claim simulated = claim_;
  for (auto& device : simulated.devices) device.info.simulated = true;
  const CudaVisibility shown(simulated);
  EXPECT_EQ(visible(), "0,1,2");
}

TEST_F(CudaIsShown, NothingWhereOthersDriveAll) {
  for (const auto reason : {Absence::Reason::none_left, Absence::Reason::driven}) {
    const CudaVisibility shown(empty_for(reason));
    EXPECT_EQ(visible(), "");
  }
  EXPECT_EQ(visible(), "0,1,2");
}

TEST_F(CudaIsShown, AnotherAbsenceLeavesTheEnvironmentAlone) {
  const CudaVisibility shown(empty_for(Absence::Reason::excluded));
  EXPECT_EQ(visible(), "0,1,2");
}

TEST_F(CudaIsShown, AVariableThatTheProgramHasSetSinceIsThePrograms) {
  {
    const CudaVisibility shown(claim_);
    setenv("CUDA_VISIBLE_DEVICES", "7", 1);
    EXPECT_EQ(visible_devices_as_found(), "7");
  }
  EXPECT_EQ(visible(), "7");
}

TEST_F(CudaIsShown, TheVariableIsTheUsersAgainAsSoonAsCudaHasStarted) {
  FakeCuda cuda;
  ASSERT_TRUE(cuda.is_loaded()) << dlerror();
  const CudaVisibility shown(claim_);
  restore_once_cuda_has_started();
  EXPECT_NE(visible(), "0,1,2") << "loaded, but not started";
  cuda.start_with({first, second});
  restore_once_cuda_has_started();
  EXPECT_EQ(visible(), "0,1,2");
  EXPECT_EQ(visible_devices_for_cuda(), std::string(first) + "," + second)
      << "what CUDA goes by all the same";

  const CudaVisibility late(claim_of({third}));
  EXPECT_EQ(visible(), "0,1,2") << "CUDA does not look again";
  EXPECT_EQ(late.ordinal_of(claim_.devices[0].info), std::nullopt) << "so it is CUDA that must be asked";
  cuda.stop();
}

TEST_F(CudaIsShown, WhatStartedCudaHasIsAskedOfIt) {
  EXPECT_EQ(devices_of_started_cuda(), std::nullopt);
  FakeCuda cuda;
  ASSERT_TRUE(cuda.is_loaded()) << dlerror();
  EXPECT_EQ(devices_of_started_cuda(), std::nullopt);
  cuda.start_with({third, first});
  const auto found = devices_of_started_cuda();
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (std::vector<Uuid>{*parse_uuid(third), *parse_uuid(first)}));
  cuda.stop();
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::detail
