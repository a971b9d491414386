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

/// A size in powers of 1024, as Slurm's are.
class SizeArgument {
 public:
  void add_to(CLI::App& app, const std::string& name, const std::string& description) {
    app.add_option(name, bytes_, description)
        ->transform(CLI::AsSizeValue(false).description(""))
        ->type_name("SIZE");
  }
  [[nodiscard]] std::optional<std::int64_t> bytes() const {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    if (!bytes_) return std::nullopt;
    return static_cast<std::int64_t>(std::min(*bytes_, most));
  }

 private:
  std::optional<std::uint64_t> bytes_;
};

/// `--memory SIZE`, `--scratch DIR` and `--device-memory SIZE`.
struct MemoryArguments {
  SizeArgument node;
  std::string scratch;
  SizeArgument device;

  void add_to(CLI::App& app) {
    node.add_to(
        app, "--memory",
        "What columns may take of a node's memory, of all its ranks, such as 2G; others are in scratch "
        "files (else 3/4 of what is free)");
    app.add_option("--scratch", scratch, "Folder of scratch files, on a disk (else $TMPDIR or /var/tmp)")
        ->type_name("DIR");
    device.add_to(
        app, "--device-memory",
        "What columns and scratch may take of a GPU's memory; others come there in each pass (else half)");
  }
  [[nodiscard]] gam::MemoryOptions options() const {
    return {.node_bytes = node.bytes(), .scratch = scratch, .device_bytes = device.bytes()};
  }
};

}  // namespace tessera::apps
