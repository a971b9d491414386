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

/// A size in powers of 1024, as in Slurm.
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
    node.add_to(app, "--memory",
                "Memory limit per node for columns, such as 2G; the rest is kept in scratch files "
                "(default: 3/4 of free memory)");
    app.add_option("--scratch", scratch, "Folder for scratch files, on a disk (default: $TMPDIR or /var/tmp)")
        ->type_name("DIR");
    device.add_to(
        app, "--device-memory",
        "Memory limit per GPU for columns and workspace; the rest is uploaded in each pass (default: half)");
  }
  [[nodiscard]] gam::MemoryOptions options() const {
    return {.node_bytes = node.bytes(), .scratch = scratch, .device_bytes = device.bytes()};
  }
};

}  // namespace tessera::apps
