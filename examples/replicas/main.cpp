// SPDX-License-Identifier: Apache-2.0
// Devices outside of passes: a table on all of a job's devices, and tasks spread over those of each rank.
#include <tessera/tessera.hpp>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <span>
#include <vector>

#include "copy.hpp"

/// Through pinned memory, on a stream of its own: the device may be doing other work.
void upload(tessera::BufferPool& pool, tessera::Buffer<double>& to, std::span<const double> from,
            const tessera::DeviceContext& context) {
  tessera::PinnedBuffer<double> staged(from.size(), context);
  std::ranges::copy(from, staged.begin());
  const tessera::Stream uploads(context);
  to.record_stream(uploads);  // the memory is not reused before the copy is done
  tessera::Event event(context);
  event.record(to.stream());  // the copy waits for earlier work on the memory …
  event.make_wait(uploads);
  copy(to.data(), staged.data(), staged.size_bytes(), uploads);
  event.record(uploads);  // … and later work waits for the copy
  event.make_wait(to.stream());
  uploads.synchronize();
  pool.release_stream(uploads);  // before the stream is destroyed
}

/// A task that needs scratch memory on the device.
void run_task(const tessera::MemoryLease& workspace) {
  // Here a library would be given workspace.data() and workspace.stream().
  (void)workspace;
}

int main(int argc, char** argv) {
  tessera::mpi::Session session(argc, argv);
  tessera::Job job(session.world());
  if (job.on_host()) {
    if (session.is_root()) std::cout << "no replicas: " << job.last_verdict() << '\n';
    return 0;
  }

  // A table and a counter on each of this rank's devices, from its buffer pool. Collectives go by the order
  // in which the rank has claimed its devices; the pool's own is that of their scores.
  tessera::DevicePool& devices = job.devices();
  constexpr std::size_t rows = 1'000'000;
  std::vector<tessera::Buffer<double>> tables(devices.size());
  std::vector<tessera::Buffer<std::int64_t>> counters(devices.size());
  std::vector<void*> replicas(devices.size());
  std::vector<std::int64_t*> counts(devices.size());
  for (std::size_t index = 0; index < devices.size(); ++index) {
    const auto claimed = static_cast<std::size_t>(devices.entries()[index].claim_index);
    const tessera::StreamView stream = devices.context_at(index).stream();  // opens the device
    tessera::BufferPool& pool = job.buffers().pool_at(index);
    tables[claimed] = pool.take<double>(rows, stream);
    counters[claimed] = pool.take<std::int64_t>(1, stream, tessera::Fill::zero);
    replicas[claimed] = tables[claimed].data();
    counts[claimed] = counters[claimed].data();
  }

  // The host gives the table to one device, and that one to all others of the job.
  const tessera::InventoryDevice& first = job.inventory().devices().front();
  const bool has_first = job.comm().rank() == first.rank;
  if (has_first) {
    const auto entry = std::ranges::find(devices, first.index, &tessera::DevicePool::Entry::claim_index);
    upload(job.buffers().pool_at(static_cast<std::size_t>(entry - devices.begin())),
           tables[static_cast<std::size_t>(first.index)], std::vector<double>(rows, 0.5),
           devices.context_of(entry->ordinal));
  }
  job.collectives().broadcast(replicas, rows * sizeof(double), first.rank, first.index);

  // Tasks go to the devices in turn, but those that need much memory to the device with the most free memory.
  std::map<tessera::Ordinal, tessera::WorkspacePool> workspaces;
  std::map<tessera::Ordinal, std::int64_t> tasks;
  for (int task = 0; task < 8 && !devices.empty(); ++task) {
    const bool is_large = task % 4 == 0;
    const tessera::Ordinal ordinal = is_large ? devices.most_free_memory() : devices.next_device();
    const tessera::DeviceContext& context = devices.context_of(ordinal);
    auto& pool = workspaces.try_emplace(ordinal, tessera::make_upstream(context)).first->second;
    if (is_large) {
      const tessera::Stream stream(context);  // of its own, beside which small tasks run
      run_task(pool.take(std::size_t{64} << 20, stream));
      pool.release_stream(stream);
    } else {
      run_task(pool.take(std::size_t{1} << 20, context.stream()));
    }
    ++tasks[ordinal];
  }

  // Each device gets its count, and then all have the sum of all.
  for (const tessera::DevicePool::Entry& entry : devices) {
    const tessera::DeviceContext& context = devices.context_of(entry.ordinal);
    context.bind();
    copy(counts[static_cast<std::size_t>(entry.claim_index)], &tasks[entry.ordinal], sizeof(std::int64_t),
         context.stream());
    context.synchronize();
  }
  job.collectives().sum(counts, 1);
  if (has_first) {
    std::int64_t all = 0;
    const tessera::DeviceContext& context = devices.context_at(0);  // the fastest
    copy(&all, counts[static_cast<std::size_t>(devices.entries()[0].claim_index)], sizeof all,
         context.stream());
    context.synchronize();
    std::cout << all << " tasks on " << job.inventory().devices().size() << " replicas, data through "
              << (job.collectives().path() == tessera::DeviceCollectives::Path::nccl ? "NCCL" : "the hosts: ")
              << job.collectives().reason() << '\n';
  }
}
