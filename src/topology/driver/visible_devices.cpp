// SPDX-License-Identifier: Apache-2.0
#include "topology/driver/visible_devices.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "topology/driver/architecture.hpp"

namespace TESSERA_NAMESPACE::detail {
namespace {

struct Candidate {
  const Gpu* gpu = nullptr;
  const MigInstance* instance = nullptr;

  [[nodiscard]] const DeviceInfo& info() const { return instance != nullptr ? instance->info : gpu->info; }
  [[nodiscard]] bool operator==(const Candidate&) const = default;
};

/// The device that an entry naming the GPU selects; empty for a GPU in MIG mode without instances.
std::optional<Candidate> usable(const Gpu& gpu) {
  if (!gpu.mig_mode) return Candidate{&gpu, nullptr};
  if (gpu.instances.empty()) return std::nullopt;
  return Candidate{&gpu, &gpu.instances.front()};
}

std::vector<const Gpu*> numbered(std::span<const Gpu> gpus, const CudaEnvironment& env) {
  std::vector<const Gpu*> order;
  for (const Gpu& gpu : gpus) order.push_back(&gpu);
  const auto by_pci = [](const Gpu* a, const Gpu* b) { return a->info.pci < b->info.pci; };
  std::sort(order.begin(), order.end(), by_pci);
  if (env.device_order == "PCI_BUS_ID") return order;
  const auto rate = [](const Gpu* gpu) {
    return std::int64_t{gpu->info.multiprocessors} * cores_per_multiprocessor(gpu->info.capability) *
           gpu->info.sm_clock_mhz;
  };
  std::stable_sort(order.begin(), order.end(), [&](auto* a, auto* b) { return rate(a) > rate(b); });
  return order;
}

enum class Kind { index, gpu_uuid, mig_uuid };

Kind kind_of(std::string_view entry) {
  if (entry.starts_with("GPU-")) return Kind::gpu_uuid;
  if (entry.starts_with("MIG-")) return Kind::mig_uuid;
  return Kind::index;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// Whether `prefix` has at least one digit and is a case-insensitive prefix of the UUID's text.
bool begins(const Uuid& uuid, std::string_view prefix) {
  constexpr std::size_t marker = 4;
  return prefix.size() > marker && lower(to_string(uuid)).starts_with(lower(prefix));
}

std::optional<Candidate> by_index(std::string_view entry, std::span<const Gpu* const> order) {
  std::size_t at = 0;
  bool negative = false;
  if (!entry.empty() && (entry[0] == '-' || entry[0] == '+')) negative = entry[at++] == '-';
  const std::size_t first_digit = at;
  std::size_t index = 0;
  for (; at < entry.size() && entry[at] >= '0' && entry[at] <= '9'; ++at)
    index = std::min(index * 10 + static_cast<std::size_t>(entry[at] - '0'), order.size());
  if (at == first_digit || index >= order.size() || (negative && index != 0)) return std::nullopt;
  return usable(*order[index]);
}

std::optional<Candidate> by_gpu_uuid(std::string_view entry, std::span<const Gpu* const> order) {
  const Gpu* named = nullptr;
  for (const Gpu* gpu : order) {
    if (!begins(gpu->info.uuid, entry)) continue;
    if (named != nullptr) return std::nullopt;  // ambiguous
    named = gpu;
  }
  return named != nullptr ? usable(*named) : std::nullopt;
}

std::optional<Candidate> by_mig_uuid(std::string_view entry, std::span<const Gpu* const> order) {
  std::optional<Candidate> named;
  for (const Gpu* gpu : order) {
    for (const MigInstance& instance : gpu->instances) {
      const std::string old_name = "mig-" + lower(to_string(gpu->info.uuid)) + "/" +
                                   std::to_string(instance.gpu_instance) + "/" +
                                   std::to_string(instance.compute_instance);
      if (!begins(instance.info.uuid, entry) && lower(entry) != old_name) continue;
      if (named) return std::nullopt;  // ambiguous
      named = Candidate{gpu, &instance};
    }
  }
  return named;
}

std::optional<Candidate> named_by(std::string_view entry, Kind kind, std::span<const Gpu* const> order) {
  switch (kind) {
    case Kind::index: return by_index(entry, order);
    case Kind::gpu_uuid: return by_gpu_uuid(entry, order);
    case Kind::mig_uuid: return by_mig_uuid(entry, order);
  }
  return std::nullopt;
}

std::vector<Candidate> listed(std::string_view list, std::span<const Gpu* const> order) {
  std::vector<Candidate> named;
  std::optional<Kind> kind;
  for (const std::string_view part : base::split(list, ',')) {
    const std::string_view entry = base::trimmed(part);
    if (!kind) kind = kind_of(entry);
    if (kind_of(entry) != *kind) break;
    const auto candidate = named_by(entry, *kind, order);
    if (!candidate) break;
    if (std::find(named.begin(), named.end(), *candidate) != named.end()) return {};
    named.push_back(*candidate);
  }
  return named;
}

std::vector<Candidate> everything(std::span<const Gpu* const> order) {
  std::vector<Candidate> all;
  for (const Gpu* gpu : order) {
    if (!gpu->mig_mode) all.push_back({gpu, nullptr});
    for (const MigInstance& instance : gpu->instances) all.push_back({gpu, &instance});
  }
  return all;
}

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace

CudaEnvironment CudaEnvironment::current() {
  return {environment_variable("CUDA_VISIBLE_DEVICES"), environment_variable("CUDA_DEVICE_ORDER")};
}

std::vector<DeviceInfo> visible_devices(std::span<const Gpu> gpus, const CudaEnvironment& env) {
  const auto order = numbered(gpus, env);
  const auto candidates = env.visible_devices ? listed(*env.visible_devices, order) : everything(order);
  std::vector<DeviceInfo> devices;
  std::vector<std::pair<const Gpu*, unsigned>> gpu_instances;
  for (const Candidate& candidate : candidates) {
    if (candidate.instance != nullptr) {
      const std::pair parent(candidate.gpu, candidate.instance->gpu_instance);
      if (std::find(gpu_instances.begin(), gpu_instances.end(), parent) != gpu_instances.end()) continue;
      gpu_instances.push_back(parent);
    }
    devices.push_back(candidate.info());
  }
  return devices;
}

}  // namespace TESSERA_NAMESPACE::detail
