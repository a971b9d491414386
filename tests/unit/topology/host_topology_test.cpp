// SPDX-License-Identifier: Apache-2.0
#include "topology/hwloc/host_topology.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>
#include <tessera/error.hpp>
#include <tessera/topology/probe.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::detail {
namespace {

namespace fs = std::filesystem;

/// A directory of this test process, removed at its end.
class Scratch {
 public:
  Scratch() : path_(fs::temp_directory_path() / ("tessera-topology-" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~Scratch() { fs::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// One of the topologies in tests/data, with the rank allowed only these cores and NUMA nodes
/// (hexadecimal masks; empty: all).
HostTopology load(const std::string& name, const std::string& allowed_cores = "",
                  const std::string& allowed_nodes = "") {
  std::ifstream in(std::string(TESSERA_TEST_DATA) + "/topology/" + name + ".xml");
  std::string xml((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_FALSE(xml.empty()) << name;
  const auto allow = [&](const std::string& key, const std::string& mask) {
    if (mask.empty()) return;
    const auto begin = xml.find(key) + key.size();
    xml.replace(begin, xml.find('"', begin) - begin, mask);
  };
  allow("allowed_cpuset=\"", allowed_cores);
  allow("allowed_nodeset=\"", allowed_nodes);
  const Scratch scratch;
  const fs::path file = scratch.path() / (name + ".xml");
  std::ofstream(file) << xml;
  setenv("HWLOC_XMLFILE", file.c_str(), 1);
  HostTopology topology;
  unsetenv("HWLOC_XMLFILE");
  return topology;
}

void expect_near(const HostTopology& topology, PciId pci, int numa_node, const std::string& cpuset,
                 int distance) {
  const auto nearness = topology.nearness(pci);
  EXPECT_EQ(nearness.numa_node, numa_node) << to_string(pci);
  EXPECT_EQ(nearness.near_cpuset, cpuset) << to_string(pci);
  EXPECT_EQ(nearness.distance, distance) << to_string(pci);
}

TEST(HostTopology, ALoadedMachineIsDescribed) {
  const auto host = load("both_sockets").host();
  EXPECT_EQ(host.allowed_cpuset, "0-15");
  EXPECT_EQ(host.allowed_cores, 8);
  EXPECT_EQ(host.allowed_threads, 16);
  EXPECT_EQ(host.numa_nodes, (std::vector{0, 1}));
  EXPECT_EQ(host.cpu_model, "Example CPU @ 2.40GHz");
  EXPECT_EQ(load("one_socket").host().cpu_model, "");
}

TEST(HostTopology, AFileThatIsNoneIsNotTakenForThisMachine) {
  const Scratch scratch;
  const fs::path garbage = scratch.path() / "garbage.xml";
  std::ofstream(garbage) << "garbage\n";
  for (const fs::path& file : {garbage, scratch.path() / "missing.xml", scratch.path()}) {
    setenv("HWLOC_XMLFILE", file.c_str(), 1);
    expect_error(ErrorCode::job_fault, file.string(), [&] { (void)probe_host(); });
    unsetenv("HWLOC_XMLFILE");
  }
}

TEST(HostTopology, OnlyWhatIsAllowedCounts) {
  // Two threads of the first core of package 1, and one thread of the second.
  const auto host = load("both_sockets", "0x00000700").host();
  EXPECT_EQ(host.allowed_cpuset, "8-10");
  EXPECT_EQ(host.allowed_cores, 2);
  EXPECT_EQ(host.allowed_threads, 3);
  EXPECT_EQ(host.numa_nodes, std::vector{1});
}

TEST(Nearness, GpusOnBothSockets) {
  const auto all = load("both_sockets");
  expect_near(all, {0, 0x18, 0}, 0, "0-7", 0);
  expect_near(all, {0, 0xaf, 0}, 1, "8-15", 0);
  const auto first = load("both_sockets", "0x000000ff");
  expect_near(first, {0, 0x18, 0}, 0, "0-7", 0);
  expect_near(first, {0, 0xaf, 0}, 1, "", 1);
  const auto one_core = load("both_sockets", "0x00003000");
  expect_near(one_core, {0, 0x18, 0}, 0, "", 1);
  expect_near(one_core, {0, 0xaf, 0}, 1, "12-13", 0);
}

TEST(Nearness, AGpuBesideCoresAndMemoryOfOthersKeepsItsPlace) {
  const auto first = load("both_sockets", "0x000000ff", "0x00000001");
  EXPECT_EQ(first.host().numa_nodes, std::vector{0});
  expect_near(first, {0, 0xaf, 0}, 1, "", 1);
}

TEST(Nearness, BothGpusOnOneSocket) {
  const auto other = load("one_socket", "0x0000000f");
  expect_near(other, {0, 0xaf, 0}, 1, "", 1);
  expect_near(other, {0, 0xd8, 0}, 1, "", 1);
}

TEST(Nearness, GroupsWithNumaNodesThatAreNotCountedFromZero) {
  const auto all = load("numa_groups");
  EXPECT_EQ(all.host().numa_nodes, (std::vector{0, 8, 1, 9}));
  expect_near(all, {0, 0x41, 0}, 8, "2-3", 0);
  expect_near(all, {1, 0x01, 0}, 1, "4-5", 0);
  // A device below the package is near both its NUMA nodes; the first represents them.
  expect_near(all, {2, 0x01, 0}, 1, "4-7", 0);
}

TEST(Nearness, DistanceGrowsWithEveryLevel) {
  expect_near(load("numa_groups", "0x0000000c"), {0, 0x41, 0}, 8, "2-3", 0);
  expect_near(load("numa_groups", "0x00000003"), {0, 0x41, 0}, 8, "", 1);
  expect_near(load("numa_groups", "0x000000f0"), {0, 0x41, 0}, 8, "", 2);
  expect_near(load("numa_groups", "0x000000f1"), {0, 0x41, 0}, 8, "", 1);
}

TEST(Nearness, BelowAnL3) {
  expect_near(load("l3_slices"), {0, 0xc1, 0}, 0, "8-11", 0);
  expect_near(load("l3_slices", "0x0000000f"), {0, 0xc1, 0}, 0, "", 1);
}

TEST(Nearness, ADomainOtherThanZeroIsNotMistaken) {
  // 0001:41 and 0000:01 do not exist: their locality is unknown, and all cores are equally good.
  expect_near(load("numa_groups"), {1, 0x41, 0}, -1, "0-7", 0);
  expect_near(load("numa_groups", "0x000000f0"), {0, 0x01, 0}, -1, "4-7", 0);
}

TEST(Nearness, BelowTheRootOfAMachineWithTwoNumaNodesNothingIsKnown) {
  expect_near(load("unknown_place"), {0, 0x05, 0}, -1, "0-3", 0);
}

class ThisMachine : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(sched_getaffinity(0, sizeof before_, &before_), 0);
    while (CPU_ISSET(cpu_, &before_) == 0) ++cpu_;
  }
  void TearDown() override { sched_setaffinity(0, sizeof before_, &before_); }

  void bind_to_one() const {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu_, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  }

  cpu_set_t before_{};
  unsigned cpu_ = 0;
};

TEST_F(ThisMachine, ABindingNarrowsWhatIsAllowed) {
  EXPECT_EQ(HostTopology().host().allowed_threads, CPU_COUNT(&before_));
  bind_to_one();
  const auto host = HostTopology().host();
  EXPECT_EQ(host.allowed_cpuset, std::to_string(cpu_));
  EXPECT_EQ(host.allowed_threads, 1);
  EXPECT_EQ(host.allowed_cores, 1);
}

TEST_F(ThisMachine, ABindingSaysNothingOfALoadedTopology) {
  bind_to_one();
  EXPECT_EQ(load("both_sockets").host().allowed_cpuset, "0-15");
}

TEST_F(ThisMachine, TheKernelTellsWhereADeviceIsThatHwlocDoesNotSee) {
  const Scratch scratch;
  const PciId unseen{0xabcd, 0xef, 0x1f};
  const fs::path device = scratch.path() / to_string(unseen);
  fs::create_directories(device);
  std::ofstream(device / "local_cpulist") << cpu_ << '\n';
  std::ofstream(device / "numa_node") << "3\n";
  const HostTopology topology(scratch.path());
  const auto nearness = topology.nearness(unseen);
  EXPECT_EQ(nearness.numa_node, 3);
  EXPECT_EQ(nearness.distance, 0);
  // The covering object may be a core with several threads, which all share it.
  EXPECT_FALSE(nearness.near_cpuset.empty());

  const auto nowhere = topology.nearness({0xabcd, 0xee, 0});
  EXPECT_EQ(nowhere.near_cpuset, topology.host().allowed_cpuset);
  EXPECT_EQ(nowhere.distance, 0);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::detail
