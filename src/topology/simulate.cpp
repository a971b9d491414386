// SPDX-License-Identifier: Apache-2.0
#include <tessera/error.hpp>
#include <tessera/topology/simulate.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/hash.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "topology/linux/host_identity.hpp"

namespace TESSERA_NAMESPACE {
namespace {

struct Model {
  std::string_view name;
  std::string_view full_name;
  ComputeCapability capability;
  int multiprocessors;
  int threads_per_multiprocessor;
  int shared_memory_per_block_kib;
  int l2_kib;
  int memory_gib;
  int sm_clock_mhz;
  int memory_clock_mhz;
  int memory_bus_bits;
};

/// From NVIDIA's data sheets and architecture white papers; clocks are NVML's maximum clocks.
constexpr std::array<Model, 6> models{{
    {"H200", "Simulated NVIDIA H200", {9, 0}, 132, 2048, 227, 51200, 141, 1980, 3201, 6144},
    {"H100", "Simulated NVIDIA H100 80GB HBM3", {9, 0}, 132, 2048, 227, 51200, 80, 1980, 2619, 5120},
    {"A100", "Simulated NVIDIA A100-SXM4-80GB", {8, 0}, 108, 2048, 163, 40960, 80, 1410, 1593, 5120},
    {"L40S", "Simulated NVIDIA L40S", {8, 9}, 142, 1536, 99, 98304, 48, 2520, 9001, 384},
    {"V100", "Simulated Tesla V100-SXM2-32GB", {7, 0}, 80, 2048, 96, 6144, 32, 1530, 877, 4096},
    {"T4", "Simulated Tesla T4", {7, 5}, 40, 1024, 64, 4096, 16, 1590, 5001, 256},
}};

constexpr int max_devices = 1024;  // per rank; a larger number is a typing error

std::string quoted(std::string_view text) {
  return '"' + std::string(text) + '"';
}

[[noreturn]] void refuse(std::string_view entry, const std::string& why) {
  throw Error(ErrorCode::usage, "TESSERA_SIMULATE: cannot read " + quoted(entry) + ": " + why);
}

/// Removes and returns the text before `separator`, or all text if there is none.
std::string_view take_until(std::string_view& text, char separator) {
  const auto at = text.find(separator);
  const auto part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return part;
}

std::optional<int> parse_count(std::string_view text) {
  const auto value = base::parse_number<int>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

/// Two 64-bit FNV-1a hashes of `key`, the second started from the first.
Uuid uuid_of(std::string_view key) {
  Uuid uuid;
  std::uint64_t hash = base::fnv1a_start;
  for (std::size_t half = 0; half < 2; ++half) {
    hash = base::fnv1a(key, hash);
    for (std::size_t i = 0; i < 8; ++i)
      uuid.bytes[8 * half + i] = static_cast<std::uint8_t>(hash >> (56 - 8 * i));
  }
  return uuid;
}

DeviceInfo make_device(const Model& model, const std::string& owner, int index) {
  DeviceInfo device;
  device.uuid = uuid_of(owner + " device " + std::to_string(index));
  device.pci = {0, static_cast<std::uint32_t>(index / 32), static_cast<std::uint32_t>(index % 32)};
  device.name = model.full_name;
  device.capability = model.capability;
  device.multiprocessors = model.multiprocessors;
  device.threads_per_multiprocessor = model.threads_per_multiprocessor;
  device.shared_memory_per_block_bytes = std::int64_t{model.shared_memory_per_block_kib} << 10;
  device.l2_bytes = std::int64_t{model.l2_kib} << 10;
  device.total_memory_bytes = std::int64_t{model.memory_gib} << 30;
  device.free_memory_bytes = device.total_memory_bytes;
  device.sm_clock_mhz = model.sm_clock_mhz;
  device.memory_clock_mhz = model.memory_clock_mhz;
  device.memory_bus_bits = model.memory_bus_bits;
  device.ecc = true;
  device.simulated = true;
  return device;
}

/// An entry of TESSERA_SIMULATE.
struct Entry {
  std::optional<int> rank;  ///< every rank if empty
  bool of_node = false;
  struct Term {
    const Model* model;
    int count;
  };
  std::vector<Term> terms;
};

Entry::Term parse_term(std::string_view entry, std::string_view text) {
  int count = 1;
  if (const auto x = text.find('x'); x != std::string_view::npos) {
    const auto parsed = parse_count(base::trimmed(text.substr(0, x)));
    if (!parsed || *parsed < 1 || *parsed > max_devices)
      refuse(entry, "the number of devices must be a whole number from 1 to " + std::to_string(max_devices));
    count = *parsed;
    text = base::trimmed(text.substr(x + 1));
  }
  const auto* model =
      std::find_if(models.begin(), models.end(), [&](const Model& known) { return known.name == text; });
  if (model == models.end())
    refuse(entry, quoted(text) + " is not a GPU model: give H200, H100, A100, L40S, V100 or T4");
  return {model, count};
}

Entry parse_entry(std::string_view text) {
  Entry entry;
  std::string_view rest = text;
  const auto whom = base::trimmed(take_until(rest, ':'));
  if (whom != "*") {
    if (!whom.starts_with("rank") || !(entry.rank = parse_count(whom.substr(4))))
      refuse(text, "the entry must begin with rankN: or *:");
  }
  rest = base::trimmed(rest);
  if (constexpr std::string_view node = "@node"; rest.ends_with(node)) {
    entry.of_node = true;
    rest.remove_suffix(node.size());
  }
  for (bool more = true; more;) {
    more = rest.find('+') != std::string_view::npos;
    entry.terms.push_back(parse_term(text, base::trimmed(take_until(rest, '+'))));
  }
  return entry;
}

}  // namespace

std::vector<DeviceInfo> simulated_devices(std::string_view text, int rank) {
  // Parses entries for other ranks too, so that all ranks report the same error.
  std::optional<Entry> mine;
  std::string owner;
  for (int number = 0; !text.empty(); ++number) {
    const auto part = base::trimmed(take_until(text, ';'));
    if (part.empty()) continue;
    Entry entry = parse_entry(part);
    if (mine || (entry.rank && *entry.rank != rank)) continue;
    owner = (entry.of_node ? "node " + detail::this_hostname() : "rank " + std::to_string(rank)) + " entry " +
            std::to_string(number);
    mine = std::move(entry);
  }
  std::vector<DeviceInfo> devices;
  if (!mine) return devices;
  for (const auto& term : mine->terms)
    for (int i = 0; i < term.count; ++i)
      devices.push_back(make_device(*term.model, owner, static_cast<int>(devices.size())));
  for (DeviceInfo& device : devices) device.simulated_for_rank = !mine->of_node;
  return devices;
}

}  // namespace TESSERA_NAMESPACE
