// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "suite.hpp"

#include <tessera/device/context.hpp>
#include <tessera/memory/upstream.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tessera::bench {

/// Where a suite of memory pools works: this rank's GPUs, or the host if the job has none.
class BenchDevices {
 public:
  /// *Collective.* Opens the devices.
  BenchDevices(const mpi::Communicator& comm, const SuiteOptions& options, const std::string& suite);

  [[nodiscard]] bool on_host() const { return on_host_; }
  /// How many this rank has: 0 if other ranks drive all GPUs, eight "devices" on the host.
  [[nodiscard]] std::size_t size() { return on_host_ ? host_streams_.size() : job_.devices().size(); }
  /// Makes device `i` current on this thread.
  void bind(std::size_t i);
  /// A stream of device `i`; on the host one of a few that differ by address alone.
  [[nodiscard]] StreamView stream(std::size_t i);
  /// Further streams of device 0.
  [[nodiscard]] std::vector<StreamView> streams_of_first(std::size_t count);
  [[nodiscard]] std::unique_ptr<MemoryUpstream> upstream(std::size_t i);
  /// Of device 0; what the host stands in with is not much.
  [[nodiscard]] std::size_t total_bytes();
  [[nodiscard]] std::size_t free_bytes();

 private:
  static constexpr std::size_t host_bytes_ = std::size_t{4} << 30;

  Job job_;
  bool on_host_;
  std::vector<Stream> streams_;
  std::array<std::byte, 8> host_streams_{};
};

}  // namespace tessera::bench
