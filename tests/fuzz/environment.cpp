// SPDX-License-Identifier: Apache-2.0
// Untrusted environments: the variables of Tessera, CUDA, OpenMP and launchers, options that are lists, and
// the kernel's files about cgroups and memory.
#include "device/module_files.hpp"
#include "device/module_shelf.hpp"
#include "fuzz_target.hpp"
#include "gam/design/knots.hpp"
#include "info/scores.hpp"
#include "job/fault/fault.hpp"
#include "topology/claim/device_locks.hpp"
#include "topology/driver/parse_uuid.hpp"
#include "topology/driver/visible_devices.hpp"
#include "unit/topology/fake_gpus.hpp"

#include <tessera/job/host_threads.hpp>
#include <tessera/partition/plan.hpp>
#include <tessera/topology/host_limits.hpp>
#include <tessera/topology/simulate.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <vector>

namespace {

using namespace tessera;
using fuzz::refusal;
using fuzz::require;
using Settings = std::map<std::string, std::string, std::less<>>;

/// "== NAME
/// " before the text of each, so that an input can be read and written as text.
Settings settings_of(std::string_view input) {
  Settings all;
  std::string* value = nullptr;
  while (!input.empty()) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    const std::string_view line = input.substr(0, end);
    input.remove_prefix(std::min(end + 1, input.size()));
    if (line.starts_with("== "))
      value = &(all[std::string(line.substr(3))] = {});
    else if (value != nullptr)
      (*value += value->empty() ? "" : "\n") += line;
  }
  return all;
}

void check_faults(const std::string& text) {
  static_cast<void>(refusal([&] { static_cast<void>(fault::parse(text)); }, {ErrorCode::usage}));
}

void check_simulated(const std::string& text) {
  for (const int rank : {0, 1}) {
    std::vector<DeviceInfo> devices;
    if (refusal([&] { devices = simulated_devices(text, rank); }, {ErrorCode::usage})) continue;
    for (const DeviceInfo& device : devices) {
      require(device.simulated && device.multiprocessors > 0, "a device that is simulated");
      require(detail::parse_uuid(to_string(device.uuid)) == device.uuid,
              "an identity is read as it is written");
      const std::string name = detail::lock_name(device, text, text);
      require(name.find('/') == std::string::npos && name.size() < 255,
              "the name of a lock is that of a file:", name);
    }
  }
}

void check_visible(const std::optional<std::string>& visible, const std::optional<std::string>& order) {
  using testing::h200;
  static const std::vector<detail::Gpu> gpus{
      h200(0x89000000, {0, 1, 0}), h200(0x89ab0000, {0, 2, 0}),
      testing::in_mig_mode(h200(0x12000000, {0, 3, 0}), {0x55000000, 0x66000000})};
  const auto devices = detail::visible_devices(gpus, {visible, order});
  require(devices.size() <= 4, "no more devices than there are");
  for (std::size_t i = 0; i < devices.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) require(devices[i].uuid != devices[j].uuid, "each device once");
}

void check_threads(const Settings& settings) {
  for (const char* name : {"OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"}) {
    const auto found = settings.find(name);
    if (found == settings.end())
      ::unsetenv(name);
    else
      ::setenv(name, found->second.c_str(), 1);
  }
  InventoryRank rank;
  rank.usable_threads = 8;
  rank.fair_threads = 3;
  const HostThreads threads = choose_threads(0, rank);
  require(threads.count >= 1 && threads.count <= 8, "as many threads as can run");
}

void check_folders(const Settings& settings) {
  for (const char* name : {"XDG_CACHE_HOME", "HOME", "TMPDIR", "TESSERA_CACHE_DIR"}) {
    const auto found = settings.find(name);
    if (found == settings.end())
      ::unsetenv(name);
    else
      ::setenv(name, found->second.c_str(), 1);
  }
  const bool is_own = settings.contains("TESSERA_CACHE_DIR");
  for (const ModuleFolder& folder : default_module_folders())
    require(is_own || folder.path.is_absolute(), "no folder of the working directory:", folder.path.native());
}

void check_cache_limit(const std::string& text) {
  if (text.find('\0') != std::string::npos) return;
  ::setenv("TESSERA_CACHE_MIB", text.c_str(), 1);
  require(module_cache_limit() >= 0, "a limit is no less than nothing");
}

/// The kernel's files, below a folder that stands for the root.
void check_limits(const Settings& settings, const fuzz::InputFolder& root) {
  static const bool made = [&] {
    for (const char* folder :
         {"proc/self", "sys/fs/cgroup/job/step", "sys/fs/cgroup/memory/job", "sys/fs/cgroup/cpu/job"})
      std::filesystem::create_directories(root.path() / folder);
    return true;
  }();
  require(made, "folders");
  std::vector<std::string> written;
  for (const auto& [name, text] : settings) {
    const bool is_file = name.starts_with("proc/") || name.starts_with("sys/fs/cgroup/");
    if (!is_file || name.find("..") != std::string::npos || name.find('\0') != std::string::npos) continue;
    const std::filesystem::path path = root.path() / name;
    std::error_code failed;
    if (!std::filesystem::is_directory(path.parent_path(), failed) || path.filename().empty() ||
        std::filesystem::is_directory(path, failed) || name.size() > 100)
      continue;
    root.write(name, text);
    written.push_back(name);
  }
  const HostLimits limits = host_limits(root.path());
  for (const MemoryLimit& limit : limits.memory)
    require(limit.free_bytes >= 0, "memory that is free is no less than none:", limit.source);
  for (const CpuQuota& quota : limits.cpu)
    require(quota.cores > 0 && std::isfinite(quota.cores) && quota.threads() >= 1,
            "a quota of time:", quota.source);
  for (const std::string& name : written) std::filesystem::remove(root.path() / name);
}

void check_knots(const std::string& text) {
  static_cast<void>(refusal(
      [&] {
        const auto [variable, knots] = gam::parse_knots(text);
        require(!variable.empty() && knots.size() >= 2 && knots.front() < knots.back(),
                "knots of a variable");
      },
      {ErrorCode::usage}));
}

void check_scores(const std::string& text) {
  info::Scores scores;
  if (refusal([&] { scores = info::parse_scores(text); }, {ErrorCode::usage})) return;
  require(scores.rank_offsets.front() == 0 &&
              std::is_sorted(scores.rank_offsets.begin(), scores.rank_offsets.end()) &&
              scores.rank_offsets.back() == static_cast<std::int64_t>(scores.of_devices.size()),
          "each score is one rank's");
  constexpr std::int64_t units = 1000;
  Plan plan;
  // Sums beyond 64 bits are refused.
  if (refusal([&] { plan = Plan::over_devices(units, scores.of_devices, scores.rank_offsets); },
              {ErrorCode::usage}))
    return;
  std::int64_t planned = 0;
  for (const auto& tile : plan.tiles()) planned += tile.units.size();
  require(!plan.on_devices() || planned == units, "each unit is planned once");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Constructed before the variables that name its folder are set.
  static const tessera::fuzz::InputFolder root;
  const Settings settings = settings_of(tessera::fuzz::text_of(data, size));
  const auto given = [&](std::string_view name) -> std::optional<std::string> {
    const auto found = settings.find(name);
    return found == settings.end() ? std::nullopt : std::optional(found->second);
  };
  if (const auto text = given("TESSERA_FAULT")) check_faults(*text);
  if (const auto text = given("TESSERA_SIMULATE")) check_simulated(*text);
  if (const auto text = given("TESSERA_CACHE_MIB")) check_cache_limit(*text);
  if (const auto text = given("--knots")) check_knots(*text);
  if (const auto text = given("--scores")) check_scores(*text);
  check_visible(given("CUDA_VISIBLE_DEVICES"), given("CUDA_DEVICE_ORDER"));
  check_threads(settings);
  check_folders(settings);
  check_limits(settings, root);
  return 0;
}
