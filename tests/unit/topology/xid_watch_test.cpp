// SPDX-License-Identifier: Apache-2.0
#include "topology/driver/xid_watch.hpp"
#include "topology/driver/parse_uuid.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "with_fake_nvml.hpp"

namespace TESSERA_NAMESPACE::detail {
namespace {

using Numbers = std::vector<std::vector<std::uint64_t>>;

class XidWatches : public testing::WithFakeNvml {
 protected:
  void TearDown() override {
    EXPECT_EQ(fake_->event_sets, 0);
    WithFakeNvml::TearDown();
  }

  static std::vector<DeviceInfo> devices(std::initializer_list<const char*> uuids) {
    std::vector<DeviceInfo> all;
    for (const char* uuid : uuids) all.emplace_back().uuid = parse_uuid(uuid).value();
    return all;
  }
};

TEST_F(XidWatches, TellWhichDeviceHadWhich) {
  const auto all =
      devices({"GPU-00000003-0000-0000-0000-000000000000", "GPU-00000001-0000-0000-0000-000000000000"});
  XidWatch watch(all);
  EXPECT_EQ(watch.take(), (Numbers{{}, {}}));
  fake_->xids = {79, 48};
  EXPECT_EQ(watch.take(), (Numbers{{}, {79, 48}}));
  EXPECT_EQ(watch.take(), (Numbers{{}, {}})) << "they were told";
}

TEST_F(XidWatches, LeaveOutWhatFaultyProgramsCause) {
  const auto all = devices({"GPU-00000001-0000-0000-0000-000000000000"});
  XidWatch watch(all);
  fake_->xids = {13, 31, 43, 79, 45};
  EXPECT_EQ(watch.take(), (Numbers{{79}}));
}

TEST_F(XidWatches, OfWhatCannotBeWatchedTellNothing) {
  auto all =
      devices({"MIG-00000010-0000-0000-0000-000000000000", "GPU-00000000-0000-0000-0000-000000000000"});
  all.emplace_back().simulated = true;
  fake_->xids = {79};
  EXPECT_EQ(XidWatch(all).take(), Numbers(3));
  fake_->init = nvml::Status::driver_not_loaded;
  EXPECT_EQ(XidWatch(all).take(), Numbers(3));
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::detail
