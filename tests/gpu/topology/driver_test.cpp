// SPDX-License-Identifier: Apache-2.0
// The probe agrees with the driver: with nvidia-smi, and with the devices that CUDA enumerates.
#include "topology/driver/cuda_visibility.hpp"
#include "topology/driver/parse_uuid.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <tessera/topology/probe.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace tessera {
namespace {

/// One line of nvidia-smi.
struct Listed {
  Uuid uuid;
  std::string bus_id;
  std::string capability;
  std::int64_t total_mib = 0;
  bool mig_mode = false;
};

std::string output_of(const char* command) {
  std::string out;
  FILE* pipe = popen(command, "r");
  if (pipe == nullptr) return out;
  std::array<char, 4096> part{};
  while (std::fgets(part.data(), part.size(), pipe) != nullptr) out += part.data();
  return pclose(pipe) == 0 ? out : std::string();
}

std::vector<Listed> nvidia_smi() {
  std::istringstream lines(
      output_of("nvidia-smi --query-gpu=uuid,pci.bus_id,compute_cap,memory.total,mig.mode.current "
                "--format=csv,noheader,nounits 2>/dev/null"));
  std::vector<Listed> listed;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string uuid, bus_id, capability, total, mig;
    for (std::string* field : {&uuid, &bus_id, &capability, &total, &mig}) {
      std::getline(fields >> std::ws, *field, ',');
    }
    if (const auto parsed = detail::parse_uuid(uuid))
      listed.push_back({*parsed, bus_id, capability, std::atoll(total.c_str()), mig == "Enabled"});
  }
  return listed;
}

/// A separate program that calls CUDA: this process must not, like a probe.
std::vector<std::string> cuda_enumerates() {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return {"no pipe"};
  const pid_t child = fork();
  if (child == 0) {
    FILE* out = fdopen(ends[1], "w");
    void* cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (cuda == nullptr || out == nullptr) _exit(1);
    auto* init = reinterpret_cast<int (*)(unsigned)>(dlsym(cuda, "cuInit"));
    auto* count = reinterpret_cast<int (*)(int*)>(dlsym(cuda, "cuDeviceGetCount"));
    auto* uuid = reinterpret_cast<int (*)(std::uint8_t*, int)>(dlsym(cuda, "cuDeviceGetUuid_v2"));
    int devices = 0;
    if (init(0) == 0 && count(&devices) != 0) _exit(1);
    for (int i = 0; i < devices; ++i) {
      Uuid found;
      if (uuid(found.bytes.data(), i) != 0) _exit(1);
      std::fprintf(out, "%s\n", to_string(found).c_str());
    }
    std::fclose(out);
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = read(ends[0], part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) return {"CUDA failed"};
  std::vector<std::string> uuids;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) uuids.push_back(line);
  return uuids;
}

std::vector<std::string> probe_enumerates() {
  std::vector<std::string> uuids;
  for (const auto& device : probe().devices) {
    Uuid uuid = device.info.uuid;
    uuid.mig = false;  // CUDA's own UUIDs do not say
    uuids.push_back(to_string(uuid));
  }
  return uuids;
}

class Driver : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "TESSERA_SIMULATE"}) unsetenv(name);
    listed_ = nvidia_smi();
    if (listed_.empty()) GTEST_SKIP() << "nvidia-smi lists no GPU on this machine";
    here_ = probe();
    if (here_.absence && here_.absence->reason == Absence::Reason::not_built)
      GTEST_SKIP() << here_.absence->message;
    ASSERT_FALSE(here_.absence) << here_.absence->message;
  }
  void TearDown() override {
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("CUDA_DEVICE_ORDER");
  }

  std::vector<Listed> listed_;
  Probe here_;
};

TEST_F(Driver, TheProbeFindsWhatNvidiaSmiLists) {
  for (const auto& gpu : listed_) {
    if (gpu.mig_mode) continue;
    const auto found = std::find_if(here_.devices.begin(), here_.devices.end(),
                                    [&](const auto& device) { return device.info.uuid == gpu.uuid; });
    ASSERT_NE(found, here_.devices.end()) << to_string(gpu.uuid);
    const auto& info = found->info;
    // nvidia-smi always writes eight digits of domain, in capitals.
    std::string bus_id = gpu.bus_id.substr(gpu.bus_id.size() - to_string(info.pci).size());
    std::transform(bus_id.begin(), bus_id.end(), bus_id.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    EXPECT_EQ(to_string(info.pci), bus_id);
    EXPECT_EQ(std::to_string(info.capability.major) + "." + std::to_string(info.capability.minor),
              gpu.capability);
    EXPECT_EQ(info.total_memory_bytes >> 20, gpu.total_mib);
    EXPECT_GT(info.free_memory_bytes, 0);
    EXPECT_GT(info.multiprocessors, 0);
    EXPECT_GT(info.sm_clock_mhz, 0);
    EXPECT_GE(found->distance, 0);
  }
  const auto whole =
      std::count_if(listed_.begin(), listed_.end(), [](const auto& gpu) { return !gpu.mig_mode; });
  EXPECT_EQ(std::count_if(here_.devices.begin(), here_.devices.end(),
                          [](const auto& device) { return !device.info.mig(); }),
            whole);
}

TEST_F(Driver, TheRulesOfVisibleDevicesAreCudas) {
  const std::string first = to_string(listed_.front().uuid);
  const std::string last = to_string(listed_.back().uuid);
  const std::string last_index = std::to_string(listed_.size() - 1);
  for (const char* order : {"FASTEST_FIRST", "PCI_BUS_ID"}) {
    setenv("CUDA_DEVICE_ORDER", order, 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    EXPECT_EQ(probe_enumerates(), cuda_enumerates()) << order << ", all";
  }
  for (const std::string& visible : {std::string(),
                                     std::string("-1"),
                                     std::string("NoDevFiles"),
                                     last_index,
                                     last_index + ",0",
                                     "0," + last_index,
                                     std::string("0,0"),
                                     std::string("0,-1,1"),
                                     std::string("0,99,1"),
                                     std::string("0,,1"),
                                     std::string(" 0 "),
                                     std::string("0x"),
                                     first,
                                     last,
                                     last + "," + first,
                                     first + "," + first,
                                     last.substr(0, 12),
                                     "0," + last,
                                     last + ",0",
                                     first + ",GPU-zzzz," + last}) {
    setenv("CUDA_VISIBLE_DEVICES", visible.c_str(), 1);
    EXPECT_EQ(probe_enumerates(), cuda_enumerates()) << "CUDA_VISIBLE_DEVICES=\"" << visible << '"';
  }
}

TEST_F(Driver, CudaNumbersClaimedDevicesInClaimOrder) {
  Claim claim;
  std::vector<std::string> wanted;
  for (auto device = here_.devices.rbegin(); device != here_.devices.rend(); ++device) {
    claim.devices.push_back({device->info, 1});
    Uuid uuid = device->info.uuid;
    uuid.mig = false;
    wanted.push_back(to_string(uuid));
  }
  {
    const detail::CudaVisibility shown(claim);
    EXPECT_TRUE(shown.ordinal_of(claim.devices.front().info)) << "the probe must not have started CUDA";
    EXPECT_EQ(cuda_enumerates(), wanted);
  }
  EXPECT_EQ(cuda_enumerates().size(), listed_.size());
}

}  // namespace
}  // namespace tessera
