// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/table_options.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace tessera::apps {

/// `--memory SIZE`, `--scratch DIR` and `--device-memory SIZE`. Sizes are in powers of 1024, as Slurm's are.
struct MemoryArguments {
  std::optional<std::uint64_t> node_bytes;
  std::string scratch;
  std::optional<std::uint64_t> device_bytes;

  void add_to(CLI::App& app) {
    add_size(app, "--memory", node_bytes,
             "What columns may take of a node's memory, of all its ranks, such as 2G; others are in scratch "
             "files (else 3/4 of what is free)");
    app.add_option("--scratch", scratch, "Folder of scratch files, on a disk (else $TMPDIR or /var/tmp)")
        ->type_name("DIR");
    add_size(
        app, "--device-memory", device_bytes,
        "What columns and scratch may take of a GPU's memory; others come there in each pass (else half)");
  }
  [[nodiscard]] gam::MemoryOptions options() const {
    return {.node_bytes = to_signed(node_bytes), .scratch = scratch, .device_bytes = to_signed(device_bytes)};
  }

 private:
  static void add_size(CLI::App& app, const std::string& name, std::optional<std::uint64_t>& bytes,
                       const std::string& description) {
    app.add_option(name, bytes, description)
        ->transform(CLI::AsSizeValue(false).description(""))
        ->type_name("SIZE");
  }
  static std::optional<std::int64_t> to_signed(const std::optional<std::uint64_t>& bytes) {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    if (!bytes) return std::nullopt;
    return static_cast<std::int64_t>(std::min(*bytes, most));
  }
};

}  // namespace tessera::apps
