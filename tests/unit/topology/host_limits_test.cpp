// SPDX-License-Identifier: Apache-2.0
// The limits of fake machines: trees of /proc and of cgroups in a folder.
#include "temporary_folder.hpp"

#include <gtest/gtest.h>
#include <tessera/topology/host_limits.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t mib = 1 << 20;

/// A machine of 8 GiB, 6 GiB of it available, without swap or limits.
class Machine : public ::testing::Test {
 protected:
  void SetUp() override {
    write("proc/meminfo",
          "MemTotal:        8388608 kB\nMemFree:          100000 kB\nMemAvailable:    6291456 kB\n"
          "SwapCached:            7 kB\nSwapFree:              0 kB\n");
  }

  void write(const fs::path& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  /// Version 2, as systemd and Slurm have it: this process in /system.slice/job_7/task_0.
  void version_2() {
    write("proc/self/cgroup", "0::/system.slice/job_7/task_0\n");
    write("proc/self/mountinfo",
          "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
          "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  }
  /// Version 1: cpu and cpuacct in one hierarchy, memory in another.
  void version_1() {
    write("proc/self/cgroup",
          "5:cpuset:/\n4:cpu,cpuacct:/job_7\n3:memory:/job_7/task_0\n1:name=systemd:/\n0::/\n");
    write("proc/self/mountinfo",
          "31 23 0:27 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n"
          "32 31 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
          "33 31 0:29 / /sys/fs/cgroup/memory rw shared:10 master:2 - cgroup cgroup rw,memory\n"
          "34 31 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  }

  [[nodiscard]] HostLimits limits() const { return host_limits(root_.path()); }
  [[nodiscard]] const MemoryLimit* cgroup_memory(const HostLimits& limits, std::size_t place = 0) const {
    for (const MemoryLimit& limit : limits.memory)
      if (limit.scope == MemoryLimit::Scope::cgroup && place-- == 0) return &limit;
    return nullptr;
  }
  void expect_no_cgroup_limit() const {
    EXPECT_TRUE(limits().cpu.empty());
    EXPECT_EQ(cgroup_memory(limits()), nullptr);
  }

  TemporaryFolder root_;
};

TEST_F(Machine, OfAbsurdNumbersHasNoNegativeMemory) {
  const std::string most = "9223372036854775807";
  version_2();
  write("proc/meminfo",
        "MemTotal: " + most + " kB\nMemAvailable: " + most + " kB\nSwapFree: " + most + " kB\n");
  write("proc/self/statm", most + " 1 1 1 1 " + most + " 0\n");
  write("proc/self/limits", "Max data size 5 5 bytes\nMax address space -5 -5 bytes\n");
  write("sys/fs/cgroup/system.slice/job_7/memory.max", "5\n");
  write("sys/fs/cgroup/system.slice/job_7/memory.current", "-9223372036854775808\n");
  write("sys/fs/cgroup/system.slice/job_7/memory.stat",
        "active_file " + most + "\ninactive_file " + most + "\n");
  write("sys/fs/cgroup/system.slice/job_7/memory.swap.max", most + "\n");
  write("sys/fs/cgroup/system.slice/job_7/memory.swap.current", "-5\n");
  const auto found = limits();
  ASSERT_EQ(found.memory.size(), 3U);
  for (const MemoryLimit& limit : found.memory) {
    EXPECT_GE(limit.limit_bytes, 5) << limit.source;
    EXPECT_GE(limit.free_bytes, 0) << limit.source;
  }
  EXPECT_EQ(found.memory[0].free_bytes, 0);  // the process has more than its limit
  EXPECT_GE(found.memory[2].free_bytes, std::int64_t{1} << 60);
}

TEST_F(Machine, WithoutLimitsHasWhatTheNodeHas) {
  const auto found = limits();
  EXPECT_TRUE(found.cpu.empty());
  EXPECT_EQ(found.tightest_cpu(), nullptr);
  ASSERT_EQ(found.memory.size(), 1U);
  EXPECT_EQ(found.memory[0].scope, MemoryLimit::Scope::node);
  EXPECT_EQ(found.memory[0].limit_bytes, 8192 * mib);
  EXPECT_EQ(found.memory[0].free_bytes, 6144 * mib);
  EXPECT_EQ(found.memory[0].source, "/proc/meminfo");
  EXPECT_EQ(found.tightest_memory(), &found.memory.front());
}

TEST_F(Machine, AnOldKernelTellsOnlyItsMemory) {
  write("proc/meminfo", "MemTotal:        8388608 kB\nSwapFree:        1048576 kB\n");
  ASSERT_EQ(limits().memory.size(), 1U);
  EXPECT_EQ(limits().memory[0].free_bytes, (8192 + 1024) * mib);
}

TEST_F(Machine, ThatTellsNothingHasNoLimit) {
  fs::remove_all(root_ / "proc");
  EXPECT_TRUE(limits().cpu.empty());
  EXPECT_TRUE(limits().memory.empty());
  EXPECT_EQ(limits().tightest_memory(), nullptr);
}

TEST_F(Machine, AFractionOfACoreIsOneThread) {
  version_2();
  write("sys/fs/cgroup/system.slice/job_7/task_0/cpu.max", "150000 100000\n");
  const auto found = limits();
  ASSERT_EQ(found.cpu.size(), 1U);
  EXPECT_EQ(found.cpu[0].cores, 1.5);
  EXPECT_EQ(found.cpu[0].threads(), 1);
  EXPECT_EQ(found.cpu[0].source, "/sys/fs/cgroup/system.slice/job_7/task_0/cpu.max");
  EXPECT_EQ((CpuQuota{0.25, {}, {}}.threads()), 1);
  EXPECT_EQ((CpuQuota{4, {}, {}}.threads()), 4);
  EXPECT_EQ((CpuQuota{3.99, {}, {}}.threads()), 3);
  EXPECT_EQ((CpuQuota{1e300, {}, {}}.threads()), 1000000000);
}

TEST_F(Machine, AllLimitsUpToTheRootCount) {
  version_2();
  write("sys/fs/cgroup/system.slice/job_7/task_0/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/system.slice/job_7/cpu.max", "400000 100000\n");
  write("sys/fs/cgroup/system.slice/cpu.max", "80000 10000\n");
  write("sys/fs/cgroup/cpu.max", "400000 100000\n");
  const auto found = limits();
  ASSERT_EQ(found.cpu.size(), 3U);
  EXPECT_EQ(found.cpu[0].cores, 4);
  EXPECT_EQ(found.cpu[1].cores, 8);
  // Ties: the one that more processes share.
  ASSERT_NE(found.tightest_cpu(), nullptr);
  EXPECT_EQ(found.tightest_cpu()->source, "/sys/fs/cgroup/cpu.max");
  EXPECT_NE(found.cpu[0].group, found.cpu[1].group);
  EXPECT_EQ(found.cpu[0].group, limits().cpu[0].group);
}

TEST_F(Machine, MemoryInVersion2) {
  version_2();
  const fs::path job = "sys/fs/cgroup/system.slice/job_7";
  write(job / "task_0/memory.max", "max\n");
  write(job / "task_0/memory.high", "max\n");
  write(job / "memory.max", "4294967296\n");
  write(job / "memory.high", "3221225472\n");
  write(job / "memory.current", "2147483648\n");
  // A fourth of the used memory would be reclaimed.
  write(job / "memory.stat",
        "anon 1610612736\ninactive_file 134217728\nactive_file 134217728\nslab_reclaimable 268435456\n");
  const auto found = limits();
  const MemoryLimit* most = cgroup_memory(found, 0);
  const MemoryLimit* high = cgroup_memory(found, 1);
  ASSERT_NE(most, nullptr);
  ASSERT_NE(high, nullptr);
  EXPECT_EQ(most->limit_bytes, 4096 * mib);
  EXPECT_EQ(most->free_bytes, (4096 - 1536) * mib);
  EXPECT_EQ(high->limit_bytes, 3072 * mib);
  EXPECT_EQ(high->free_bytes, (3072 - 1536) * mib);
  EXPECT_EQ(most->group, high->group);
  EXPECT_EQ(found.tightest_memory(), high);
  EXPECT_EQ(high->source, "/sys/fs/cgroup/system.slice/job_7/memory.high");
}

TEST_F(Machine, SwapIsMemoryWhereTheCgroupMayHaveIt) {
  version_2();
  const fs::path task = "sys/fs/cgroup/system.slice/job_7/task_0";
  write(task / "memory.max", "1073741824\n");
  write(task / "memory.current", "0\n");
  EXPECT_EQ(cgroup_memory(limits())->free_bytes, 1024 * mib);
  write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 6291456 kB\nSwapFree: 2097152 kB\n");
  EXPECT_EQ(cgroup_memory(limits())->free_bytes, (1024 + 2048) * mib);
  write(task / "memory.swap.max", "1073741824\n");
  write(task / "memory.swap.current", "536870912\n");
  EXPECT_EQ(cgroup_memory(limits())->free_bytes, (1024 + 512) * mib);
  write(task / "memory.swap.max", "0\n");
  EXPECT_EQ(cgroup_memory(limits())->free_bytes, 1024 * mib);
  EXPECT_EQ(limits().memory.back().free_bytes, (6144 + 2048) * mib);
}

TEST_F(Machine, Version1) {
  version_1();
  write("sys/fs/cgroup/cpu,cpuacct/job_7/cpu.cfs_quota_us", "250000\n");
  write("sys/fs/cgroup/cpu,cpuacct/job_7/cpu.cfs_period_us", "50000\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  const fs::path memory = "sys/fs/cgroup/memory";
  write(memory / "job_7/task_0/memory.limit_in_bytes", "9223372036854771712\n");
  write(memory / "job_7/memory.limit_in_bytes", "2147483648\n");
  write(memory / "job_7/memory.usage_in_bytes", "1073741824\n");
  write(memory / "job_7/memory.stat",
        "cache 5\nactive_file 1\ninactive_file 1\ntotal_inactive_file 268435456\ntotal_active_file "
        "268435456\n");
  write(memory / "memory.limit_in_bytes", "9223372036854771712\n");
  const auto found = limits();
  ASSERT_EQ(found.cpu.size(), 1U);
  EXPECT_EQ(found.cpu[0].cores, 5);
  EXPECT_EQ(found.cpu[0].source, "/sys/fs/cgroup/cpu,cpuacct/job_7/cpu.cfs_quota_us");
  const MemoryLimit* limit = cgroup_memory(found);
  ASSERT_NE(limit, nullptr);
  EXPECT_EQ(limit->limit_bytes, 2048 * mib);
  EXPECT_EQ(limit->free_bytes, (2048 - 512) * mib);
  EXPECT_EQ(limit->source, "/sys/fs/cgroup/memory/job_7/memory.limit_in_bytes");
  EXPECT_EQ(cgroup_memory(found, 1), nullptr);
}

TEST_F(Machine, SwapInVersion1) {
  version_1();
  write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 6291456 kB\nSwapFree: 2097152 kB\n");
  write("sys/fs/cgroup/memory/job_7/memory.limit_in_bytes", "1073741824\n");
  write("sys/fs/cgroup/memory/job_7/memory.memsw.limit_in_bytes", "1610612736\n");
  EXPECT_EQ(cgroup_memory(limits())->free_bytes, (1024 + 512) * mib);
}

TEST_F(Machine, InVersion1AParentMayLetItsChildrenGo) {
  version_1();
  write("sys/fs/cgroup/memory/job_7/memory.limit_in_bytes", "1073741824\n");
  write("sys/fs/cgroup/memory/job_7/memory.use_hierarchy", "0\n");
  EXPECT_EQ(cgroup_memory(limits()), nullptr);
  write("sys/fs/cgroup/memory/job_7/memory.use_hierarchy", "1\n");
  EXPECT_NE(cgroup_memory(limits()), nullptr);
}

TEST_F(Machine, BothVersionsAtOnce) {
  version_1();
  write("proc/self/cgroup", "4:cpu,cpuacct:/job_7\n0::/job_7\n");
  write("sys/fs/cgroup/cpu,cpuacct/job_7/cpu.cfs_quota_us", "200000\n");
  write("sys/fs/cgroup/cpu,cpuacct/job_7/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/unified/job_7/memory.max", "1073741824\n");
  const auto found = limits();
  ASSERT_EQ(found.cpu.size(), 1U);
  EXPECT_EQ(found.cpu[0].cores, 2);
  ASSERT_NE(cgroup_memory(found), nullptr);
  EXPECT_EQ(cgroup_memory(found)->source, "/sys/fs/cgroup/unified/job_7/memory.max");
}

TEST_F(Machine, AContainerSeesItsOwnCgroupAsTheRoot) {
  // Without a namespace of cgroups the path is the host's, and the mount begins at it.
  write("proc/self/cgroup", "0::/docker/0123\n");
  write("proc/self/mountinfo", "40 39 0:26 /docker/0123 /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  write("sys/fs/cgroup/cpu.max", "300000 100000\n");
  ASSERT_EQ(limits().cpu.size(), 1U);
  EXPECT_EQ(limits().cpu[0].cores, 3);
  // With a namespace of cgroups both are "/".
  write("proc/self/cgroup", "0::/\n");
  write("proc/self/mountinfo", "40 39 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  EXPECT_EQ(limits().cpu.size(), 1U);
}

TEST_F(Machine, TheMountThatShowsMostCounts) {
  write("proc/self/cgroup", "0::/job_7/task_0\n");
  write("proc/self/mountinfo",
        "40 39 0:26 /job_7/task_0 /mnt/task rw - cgroup2 cgroup rw\n"
        "41 39 0:26 / /mnt/a\\040blank rw - cgroup2 cgroup rw\n");
  write("mnt/a blank/job_7/cpu.max", "200000 100000\n");
  ASSERT_EQ(limits().cpu.size(), 1U);
  EXPECT_EQ(limits().cpu[0].source, "/mnt/a blank/job_7/cpu.max");
}

TEST_F(Machine, WhatIsNotMountedIsNoLimit) {
  version_2();
  write("sys/fs/cgroup/cpu.max", "300000 100000\n");
  // Outside the namespace; outside the mount; not mounted at all.
  write("proc/self/cgroup", "0::/../job_8\n");
  expect_no_cgroup_limit();
  write("proc/self/cgroup", "0::/job_70\n");
  write("proc/self/mountinfo", "40 39 0:26 /job_7 /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
  expect_no_cgroup_limit();
  write("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
  expect_no_cgroup_limit();
}

TEST_F(Machine, WhatCannotBeReadIsNoLimit) {
  version_2();
  const fs::path task = "sys/fs/cgroup/system.slice/job_7/task_0";
  for (const char* text : {"", "max", "0 100000", "-5 100000", "100000", "100000 0", "1e5 100000",
                           "many 100000", "99999999999999999999 100000"}) {
    write(task / "cpu.max", text);
    EXPECT_TRUE(limits().cpu.empty()) << text;
  }
  for (const char* text : {"", "max", "-1", "1G", "99999999999999999999", "9223372036854771712"}) {
    write(task / "memory.max", text);
    EXPECT_EQ(cgroup_memory(limits()), nullptr) << text;
  }
  for (const char* text : {"", "0", ":", "0:", "0::", "nonsense\n0:x", "0::relative"}) {
    write("proc/self/cgroup", text);
    expect_no_cgroup_limit();
  }
  version_2();
  for (const char* text :
       {"", "-", "1 2 3", "1 2 3 / /sys/fs/cgroup rw", "1 2 3 / /sys/fs/cgroup rw - cgroup2"}) {
    write("proc/self/mountinfo", text);
    expect_no_cgroup_limit();
  }
}

TEST_F(Machine, UlimitsAreOfThisProcessAlone) {
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  write("proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max data size             1073741824           unlimited            bytes     \n"
        "Max address space         unlimited            unlimited            bytes     \n");
  write("proc/self/statm", "5000 2000 1000 10 0 3000 0\n");
  const auto found = limits();
  ASSERT_EQ(found.memory.size(), 2U);
  EXPECT_EQ(found.memory[0].scope, MemoryLimit::Scope::process);
  EXPECT_EQ(found.memory[0].limit_bytes, 1024 * mib);
  EXPECT_EQ(found.memory[0].free_bytes, 1024 * mib - 3000 * page);
  EXPECT_EQ(found.memory[0].source, "ulimit -d");
  EXPECT_EQ(found.tightest_memory(), &found.memory.front());
  write("proc/self/limits",
        "Max address space         2000000              unlimited            bytes     \n");
  EXPECT_EQ(limits().memory[0].source, "ulimit -v");
  EXPECT_EQ(limits().memory[0].free_bytes, 0);  // never below
}

TEST(HostLimits, ThisMachineTellsItsMemory) {
  const auto found = host_limits();
  ASSERT_FALSE(found.memory.empty());
  EXPECT_EQ(found.memory.back().scope, MemoryLimit::Scope::node);
  EXPECT_GT(found.memory.back().free_bytes, 0);
}

}  // namespace
}  // namespace tessera
