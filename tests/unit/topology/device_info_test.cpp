// SPDX-License-Identifier: Apache-2.0
#include "topology/driver/parse_uuid.hpp"

#include <gtest/gtest.h>
#include <tessera/topology/device_info.hpp>

namespace tessera {
namespace {

using detail::parse_uuid;

constexpr auto text = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6";

TEST(Uuid, ReadsAndWritesWhatTheDriverWrites) {
  const auto uuid = parse_uuid(text);
  ASSERT_TRUE(uuid);
  EXPECT_FALSE(uuid->mig);
  EXPECT_EQ(uuid->bytes[0], 0x89);
  EXPECT_EQ(uuid->bytes[15], 0xf6);
  EXPECT_EQ(to_string(*uuid), text);
  const auto mig = parse_uuid("MIG-8932f937-d72c-4106-c12f-20bd9faed9f6");
  ASSERT_TRUE(mig);
  EXPECT_TRUE(mig->mig);
  EXPECT_NE(*mig, *uuid);
  EXPECT_EQ(to_string(*mig), "MIG-8932f937-d72c-4106-c12f-20bd9faed9f6");
}

TEST(Uuid, DigitsMayBeInEitherCase) {
  EXPECT_EQ(parse_uuid("GPU-8932F937-D72C-4106-C12F-20BD9FAED9F6"), parse_uuid(text));
}

TEST(Uuid, RefusesWhatIsNone) {
  for (const char* wrong :
       {"", "GPU-", "GPU-8932f937", "gpu-8932f937-d72c-4106-c12f-20bd9faed9f6",
        "8932f937-d72c-4106-c12f-20bd9faed9f6", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6a",
        "GPU-8932f937-d72c-4106-c12f-20bd9faed9g6", "GPU-8932f937xd72c-4106-c12f-20bd9faed9f6",
        "GPU-8932f937d-72c-4106-c12f-20bd9faed9f6"})
    EXPECT_FALSE(parse_uuid(wrong)) << wrong;
}

TEST(PciId, HasFourDigitsOfDomainUnlessMoreAreNeeded) {
  EXPECT_EQ(to_string(PciId{0, 0x3b, 0}), "0000:3b:00.0");
  EXPECT_EQ(to_string(PciId{1, 0xaf, 0x1f}), "0001:af:1f.0");
  EXPECT_EQ(to_string(PciId{0x10000, 1, 0}), "00010000:01:00.0");
}

TEST(ComputeCapability, TellsWhatTheHardwareHas) {
  EXPECT_TRUE((ComputeCapability{9, 0}.has_fp64_tensor_cores()));
  EXPECT_FALSE((ComputeCapability{8, 9}.has_fp64_tensor_cores()));
  EXPECT_FALSE((ComputeCapability{7, 5}.has_async_copy()));
  EXPECT_TRUE((ComputeCapability{8, 6}.has_async_copy()));
}

TEST(DeviceInfo, BudgetIsTheLesserOfFreeAndHalfOfTheTotal) {
  DeviceInfo device;
  device.total_memory_bytes = 100;
  device.free_memory_bytes = 90;
  EXPECT_EQ(device.memory_budget_bytes(), 50);
  device.free_memory_bytes = 20;
  EXPECT_EQ(device.memory_budget_bytes(), 20);
}

}  // namespace
}  // namespace tessera
