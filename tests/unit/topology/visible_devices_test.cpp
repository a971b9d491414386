// SPDX-License-Identifier: Apache-2.0
#include "topology/driver/visible_devices.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "fake_gpus.hpp"

namespace TESSERA_NAMESPACE::detail {
namespace {

using testing::h200;
using testing::in_mig_mode;
using testing::t4;
using testing::uuid_with_head;
using testing::uuids_of;

// The devices are not in PCI order on purpose; the UUIDs of a and b have seven leading digits in common.
constexpr std::uint32_t a = 0xaaaa0001, b = 0xaaaa0002, c = 0xcccc0003, d = 0xdddd0004;

std::vector<Gpu> four() {
  return {h200(c, {0, 0x86, 0}), h200(a, {0, 0x07, 0}), h200(d, {1, 0x01, 0}), h200(b, {0, 0x3b, 0})};
}

std::vector<Uuid> gpus(std::initializer_list<std::uint32_t> heads) {
  std::vector<Uuid> uuids;
  for (const auto head : heads) uuids.push_back(uuid_with_head(head));
  return uuids;
}

std::vector<Uuid> instances(std::initializer_list<std::uint32_t> heads) {
  std::vector<Uuid> uuids;
  for (const auto head : heads) uuids.push_back(uuid_with_head(head, true));
  return uuids;
}

std::vector<Uuid> seen(const std::vector<Gpu>& machine, std::optional<std::string> visible,
                       std::optional<std::string> order = std::nullopt) {
  return uuids_of(visible_devices(machine, {std::move(visible), std::move(order)}));
}

TEST(VisibleDevices, UnsetShowsAllInPciOrder) {
  EXPECT_EQ(seen(four(), std::nullopt), gpus({a, b, c, d}));
}

TEST(VisibleDevices, EmptyShowsNone) {
  EXPECT_TRUE(seen(four(), "").empty());
  EXPECT_TRUE(seen(four(), "  ").empty());
}

TEST(VisibleDevices, IndicesChooseAndOrder) {
  EXPECT_EQ(seen(four(), "2,1"), gpus({c, b}));
  EXPECT_EQ(seen(four(), " 3 , 0 "), gpus({d, a}));
  EXPECT_EQ(seen(four(), "+1"), gpus({b}));
}

TEST(VisibleDevices, TheFirstInvalidEntryEndsTheList) {
  EXPECT_EQ(seen(four(), "0,2,-1,1"), gpus({a, c}));
  EXPECT_EQ(seen(four(), "0,4,1"), gpus({a}));
  EXPECT_EQ(seen(four(), "1,,0"), gpus({b}));
  EXPECT_EQ(seen(four(), "1,"), gpus({b}));
  EXPECT_EQ(seen(four(), "1,x,0"), gpus({b}));
  EXPECT_TRUE(seen(four(), "-1").empty());
  EXPECT_TRUE(seen(four(), "-1,0").empty());
  EXPECT_TRUE(seen(four(), ",0").empty());
  EXPECT_TRUE(seen(four(), "NoDevFiles").empty());
  EXPECT_TRUE(seen(four(), "99999999999999999999999").empty());
}

TEST(VisibleDevices, AnIndexIsReadAsStrtolWould) {
  EXPECT_EQ(seen(four(), "1gpu2,2ampere"), gpus({b, c}));
  EXPECT_EQ(seen(four(), "0-2"), gpus({a}));
}

TEST(VisibleDevices, ARepeatedDeviceEmptiesTheList) {
  EXPECT_TRUE(seen(four(), "0,0").empty());
  EXPECT_TRUE(seen(four(), "0,1,2,1").empty());
  EXPECT_TRUE(seen(four(), "GPU-cccc,GPU-cccc0003").empty());
  EXPECT_EQ(seen(four(), "0,9,0"), gpus({a})) << "what stands behind the end is not read";
}

TEST(VisibleDevices, UuidsAndTheirPrefixes) {
  EXPECT_EQ(seen(four(), to_string(uuid_with_head(d)) + "," + to_string(uuid_with_head(a))), gpus({d, a}));
  EXPECT_EQ(seen(four(), "GPU-c,GPU-d"), gpus({c, d}));
  EXPECT_EQ(seen(four(), "GPU-CCCC"), gpus({c}));
  EXPECT_EQ(seen(four(), "GPU-aaaa0001"), gpus({a}));
}

TEST(VisibleDevices, AnAmbiguousOrUnknownPrefixEndsTheList) {
  EXPECT_EQ(seen(four(), "GPU-d,GPU-aaaa000,GPU-c"), gpus({d}));
  EXPECT_EQ(seen(four(), "GPU-d,GPU-1234,GPU-c"), gpus({d}));
  EXPECT_TRUE(seen({h200(a, {})}, "GPU-").empty()) << "no digit names nothing, even with one GPU";
}

TEST(VisibleDevices, AListIsOfTheKindOfItsFirstEntry) {
  EXPECT_EQ(seen(four(), "0,GPU-cccc0003,1"), gpus({a}));
  EXPECT_EQ(seen(four(), "GPU-cccc0003,0"), gpus({c}));
}

TEST(VisibleDevices, FastestFirstUnlessPciOrderIsAskedFor) {
  const std::vector<Gpu> mixed{t4(a, {0, 1, 0}), h200(b, {0, 2, 0}), t4(c, {0, 3, 0}), h200(d, {0, 4, 0})};
  EXPECT_EQ(seen(mixed, std::nullopt), gpus({b, d, a, c}));
  EXPECT_EQ(seen(mixed, std::nullopt, "FASTEST_FIRST"), gpus({b, d, a, c}));
  EXPECT_EQ(seen(mixed, std::nullopt, "PCI_BUS_ID"), gpus({a, b, c, d}));
  EXPECT_EQ(seen(mixed, "0", "PCI_BUS_ID"), gpus({a}));
  EXPECT_EQ(seen(mixed, "0"), gpus({b}));
}

class WithMig : public ::testing::Test {
 protected:
  // GPU 0 is whole, GPU 1 has three instances, GPU 2 is in MIG mode and has none.
  std::vector<Gpu> machine_{h200(a, {0, 1, 0}),
                            in_mig_mode(h200(b, {0, 2, 0}), {0x11110001, 0x11110002, 0x22220003}),
                            in_mig_mode(h200(c, {0, 3, 0}), {})};
};

TEST_F(WithMig, UnsetShowsInstancesInPlaceOfTheirGpu) {
  const auto all = seen(machine_, std::nullopt);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0], uuid_with_head(a));
  EXPECT_EQ(std::vector(all.begin() + 1, all.end()), instances({0x11110001, 0x11110002, 0x22220003}));
}

TEST_F(WithMig, InstancesAreNamedByUuid) {
  EXPECT_EQ(seen(machine_, "MIG-2222,MIG-11110001"), instances({0x22220003, 0x11110001}));
  EXPECT_EQ(seen(machine_, "MIG-2222,MIG-1111"), instances({0x22220003})) << "ambiguous";
  EXPECT_TRUE(seen(machine_, "GPU-2222").empty()) << "no GPU has this UUID";
  EXPECT_TRUE(seen(machine_, "MIG-2222,MIG-22220003").empty()) << "repeated";
}

TEST_F(WithMig, InstancesAreNamedByGpuAndNumbersToo) {
  EXPECT_EQ(seen(machine_, "MIG-" + to_string(uuid_with_head(b)) + "/8/0"), instances({0x11110002}));
  EXPECT_TRUE(seen(machine_, "MIG-" + to_string(uuid_with_head(b)) + "/1/0").empty());
}

TEST_F(WithMig, AGpuInMigModeMeansItsFirstInstance) {
  EXPECT_EQ(seen(machine_, "1"), instances({0x11110001}));
  EXPECT_EQ(seen(machine_, "GPU-aaaa0002"), instances({0x11110001}));
  EXPECT_EQ(seen(machine_, "2,0"), std::vector<Uuid>{}) << "MIG mode without instances: nothing to use";
}

TEST_F(WithMig, OneComputeInstanceOfAGpuInstance) {
  machine_[1].instances[1].gpu_instance = machine_[1].instances[0].gpu_instance;
  machine_[1].instances[1].compute_instance = 1;
  const auto all = seen(machine_, std::nullopt);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(std::vector(all.begin() + 1, all.end()), instances({0x11110001, 0x22220003}));
  EXPECT_EQ(seen(machine_, "MIG-11110002,MIG-11110001,MIG-2222"), instances({0x11110002, 0x22220003}));
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::detail
