// SPDX-License-Identifier: Apache-2.0
#include "bench_devices.hpp"

#include <tessera/job/together.hpp>

namespace tessera::bench {

BenchDevices::BenchDevices(const mpi::Communicator& comm, const SuiteOptions& options,
                           const std::string& suite)
    : job_(comm, job_options(options)), on_host_(job_.on_host() || job_.inventory().devices()[0].simulated) {
  if (on_host_) {
    note(comm, suite, "there is no GPU to use: the pools have the host's memory, and no peers");
    return;
  }
  together(comm, [&] {
    for (std::size_t i = 0; i < size(); ++i) (void)job_.devices().context_at(i);
  });
}

void BenchDevices::bind(std::size_t i) {
  if (!on_host_) job_.devices().context_at(i).bind();
}

StreamView BenchDevices::stream(std::size_t i) {
  return on_host_ ? StreamView(&host_streams_.at(i)) : job_.devices().context_at(i).stream();
}

std::vector<StreamView> BenchDevices::streams_of_first(std::size_t count) {
  std::vector<StreamView> views;
  for (std::size_t i = 0; i < count; ++i) {
    if (!on_host_ && streams_.size() == i) streams_.emplace_back(job_.devices().context_at(0));
    views.push_back(on_host_ ? stream(i) : streams_[i].view());
  }
  return views;
}

std::unique_ptr<MemoryUpstream> BenchDevices::upstream(std::size_t i) {
  return on_host_ ? make_host_upstream(host_bytes_) : make_upstream(job_.devices().context_at(i));
}

std::size_t BenchDevices::total_bytes() {
  return on_host_ ? host_bytes_
                  : static_cast<std::size_t>(job_.devices().context_at(0).info().total_memory_bytes);
}

std::size_t BenchDevices::free_bytes() {
  return on_host_ ? host_bytes_ : static_cast<std::size_t>(job_.devices().context_at(0).free_memory_bytes());
}

}  // namespace tessera::bench
