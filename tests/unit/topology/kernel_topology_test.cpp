// SPDX-License-Identifier: Apache-2.0
#include "topology/linux/kernel_topology.hpp"

#include "support/cpus_of.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace TESSERA_NAMESPACE::detail {
namespace {

namespace fs = std::filesystem;

TEST(CpuList, IsReadAndWrittenAsTheKernelDoes) {
  for (const std::string list : {"", "0", "0-3", "0-3,8,10-11", "8191"}) {
    const auto cpus = parse_cpu_list(list);
    ASSERT_TRUE(cpus) << list;
    EXPECT_EQ(list_text(*cpus), list);
  }
  EXPECT_EQ(list_text(parse_cpu_list("3,0-1,2").value()), "0-3");
  for (const char* const wrong :
       {"a", "-1", "1-", "3-1", "0,", ",0", "0 1", "8192", "0-99999999999999999999"})
    EXPECT_FALSE(parse_cpu_list(wrong)) << wrong;
}

/// A machine of two packages, each with two cores of two threads and a NUMA node, and a device near the
/// second.
class TwoPackages : public ::testing::Test {
 protected:
  TwoPackages() {
    for (int cpu = 0; cpu < 8; ++cpu) {
      const int first = cpu / 2 * 2;
      write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
            std::to_string(first) + '-' + std::to_string(first + 1));
    }
    write("sys/devices/system/node/online", "0-2");
    write("sys/devices/system/node/node0/cpulist", "0-3");
    write("sys/devices/system/node/node1/cpulist", "4-7");
    write("sys/devices/system/node/node2/cpulist", "");  // memory of a GPU
    write("proc/cpuinfo",
          "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Example CPU @ 2.40GHz\n\nprocessor\t: 1");
    write("sys/bus/pci/devices/0000:af:00.0/local_cpulist", "4-7");
    write("sys/bus/pci/devices/0000:af:00.0/numa_node", "1");
  }

  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((root_.path() / file).parent_path());
    std::ofstream(root_.path() / file) << text << '\n';
  }
  [[nodiscard]] KernelTopology allowed(std::string_view cpus) const {
    return KernelTopology(root_.path(), parse_cpu_list(cpus).value());
  }

  TemporaryFolder root_;
};

TEST_F(TwoPackages, OnlyWhatIsAllowedCounts) {
  const HostInfo all = allowed("0-7").host();
  EXPECT_EQ(all.allowed_cpuset, "0-7");
  EXPECT_EQ(all.allowed_threads, 8);
  EXPECT_EQ(all.allowed_cores, 4);
  EXPECT_EQ(all.numa_nodes, (std::vector{0, 1}));
  EXPECT_EQ(all.cpu_model, "Example CPU @ 2.40GHz");
  const HostInfo some = allowed("4-6").host();
  EXPECT_EQ(some.allowed_threads, 3);
  EXPECT_EQ(some.allowed_cores, 2);
  EXPECT_EQ(some.numa_nodes, std::vector{1});
}

TEST_F(TwoPackages, ADeviceHasItsPlace) {
  const PciId device{0, 0xaf, 0};
  const Nearness beside = allowed("3-5").nearness(device);
  EXPECT_EQ(beside.numa_node, 1);
  EXPECT_EQ(beside.near_cpuset, "4-5");
  EXPECT_EQ(beside.distance, 0);
  const Nearness far = allowed("0-1").nearness(device);
  EXPECT_EQ(far.numa_node, 1);
  EXPECT_EQ(far.near_cpuset, "");
  EXPECT_EQ(far.distance, 1);
  const Nearness unknown = allowed("0-1").nearness({0, 0x18, 0});
  EXPECT_EQ(unknown.numa_node, -1);
  EXPECT_EQ(unknown.near_cpuset, "0-1");
  EXPECT_EQ(unknown.distance, 0);
}

TEST(KernelTopology, WithoutFilesThereAreTheCpusOfTheThread) {
  const TemporaryFolder empty;
  const HostInfo host = KernelTopology(empty.path()).host();
  EXPECT_EQ(host.allowed_threads, static_cast<int>(tessera::testing::cpus_of(0).size()));
  EXPECT_EQ(host.allowed_cores, host.allowed_threads);
  EXPECT_EQ(host.numa_nodes, std::vector{0});
  EXPECT_EQ(host.cpu_model, "");
}

TEST(KernelTopology, ABindingOfTheThreadNarrowsWhatIsAllowed) {
  std::thread([] {
    const int cpu = *tessera::testing::cpus_of(0).begin();
    ASSERT_TRUE(bind_this_thread(parse_cpu_list(std::to_string(cpu)).value()));
    const HostInfo host = KernelTopology().host();
    EXPECT_EQ(host.allowed_cpuset, std::to_string(cpu));
    EXPECT_EQ(host.allowed_cores, 1);
  }).join();
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::detail
