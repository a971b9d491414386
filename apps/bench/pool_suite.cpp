// SPDX-License-Identifier: Apache-2.0
#include "pool_suite.hpp"

#include "allocators.hpp"
#include "bench_devices.hpp"

#include <fmt/core.h>

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>
#include <tessera/memory/buffer_pool.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <latch>
#include <random>
#include <thread>
#include <unordered_map>

namespace tessera::bench {
namespace {

constexpr int calls_in_a_row = 1000;

std::string size_name(std::size_t bytes) {
  return bytes < (1u << 20) ? fmt::format("{} KiB", bytes >> 10) : fmt::format("{} MiB", bytes >> 20);
}

/// Takes and returns, many times over.
void cycle(BufferPool& pool, std::size_t bytes, StreamView stream) {
  for (int call = 0; call < calls_in_a_row; ++call) (void)pool.take_bytes(bytes, stream);
}

void cycle(Allocator& allocator, std::size_t bytes, StreamView stream) {
  for (int call = 0; call < calls_in_a_row; ++call) {
    void* memory = allocator.take(bytes, stream);
    if (memory == nullptr)
      throw Error(ErrorCode::job_fault, fmt::format("there are not even {} bytes", bytes));
    allocator.give_back(memory, stream);
  }
}

std::vector<double> per_call(std::vector<double> values) {
  for (double& value : values) value /= calls_in_a_row;
  return values;
}

/// Take and return of memory that is there, one thread, one stream.
std::vector<Measurement> hits(const mpi::Communicator& comm, const SuiteOptions& options,
                              BenchDevices& devices) {
  const int repeats = options.repeats.value_or(20);
  constexpr int calls = 20;
  std::vector<Measurement> all;
  const bool takes_part = devices.size() > 0;
  for (const std::size_t bytes : {1ul << 10, 64ul << 10, 1ul << 20, 64ul << 20}) {
    const std::string name = "hit, " + size_name(bytes);
    const auto measure = [&](const std::string& what, auto&& allocator) {
      all.push_back(in_microseconds({"pool", name, what, "s", per_call(seconds_of(comm, repeats, calls, [&] {
                                       if (takes_part) cycle(*allocator, bytes, devices.stream(0));
                                     }))}));
      return all.back();
    };
    std::unique_ptr<BufferPool> pool;
    together(comm, [&] {
      if (!takes_part) return;
      devices.bind(0);
      pool = std::make_unique<BufferPool>(devices.upstream(0));
    });
    const Measurement ours = measure("tessera", pool);
    pool.reset();
    if (devices.on_host() || !options.peer) continue;
    for (const PeerAllocator& kind : peers_that_keep()) {
      std::unique_ptr<Allocator> peer;
      together(comm, [&] {
        if (takes_part) peer = kind.make();
      });
      all.push_back(ratio_of(ours, measure(kind.name, peer)));
    }
  }
  return all;
}

/// The same from a thread each on the first `count` devices, all at once: seconds a call of the slowest.
std::vector<double> hits_at_once(const mpi::Communicator& comm, int repeats, std::size_t count,
                                 const std::function<void(std::size_t)>& work) {
  constexpr int calls = 1000;
  std::vector<double> seconds;
  for (int repeat = -1; repeat < repeats; ++repeat) {
    std::vector<double> took(count);
    std::vector<std::exception_ptr> faults(count);
    std::latch start(static_cast<std::ptrdiff_t>(count));
    const auto measure = [&](std::size_t i) {
      try {
        work(i);
      } catch (...) {
        faults[i] = std::current_exception();
      }
      start.arrive_and_wait();
      if (faults[i]) return;
      const auto begin = std::chrono::steady_clock::now();
      for (int call = 0; call < calls; ++call) work(i);  // as it went once, it goes again
      took[i] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    together(comm, [&] {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < count; ++i) threads.emplace_back(measure, i);
      threads.clear();
      for (const std::exception_ptr& fault : faults) {
        if (fault) std::rethrow_exception(fault);
      }
    });
    const double slowest = comm.allreduce(took.empty() ? 0.0 : std::ranges::max(took), mpi::Reduction::max);
    if (repeat >= 0) seconds.push_back(slowest / calls / calls_in_a_row);
  }
  return seconds;
}

std::vector<Measurement> threads(const mpi::Communicator& comm, const SuiteOptions& options,
                                 BenchDevices& devices) {
  const int repeats = options.repeats.value_or(20);
  constexpr std::size_t bytes = 64 << 10;
  std::vector<BufferPool> pools;
  together(comm, [&] {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      devices.bind(i);
      pools.emplace_back(devices.upstream(i));
    }
  });
  // On the host, threads that wait for a core would be measured instead.
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t every = devices.on_host() ? std::min(devices.size(), cores) : devices.size();
  const std::size_t one = std::min<std::size_t>(1, every);
  const auto measure = [&](const std::string& what, std::size_t count,
                           const std::function<void(std::size_t)>& work) {
    const auto most = comm.allreduce(static_cast<std::int64_t>(count), mpi::Reduction::max);
    return in_microseconds({"pool", fmt::format("hit, {}, {} at once", size_name(bytes), most), what, "s",
                            hits_at_once(comm, repeats, count, work)});
  };
  const auto ours = [&](std::size_t i) { cycle(pools[i], bytes, devices.stream(i)); };
  std::vector<Measurement> all;
  all.push_back(measure("tessera", one, ours));
  all.push_back(measure("tessera", every, ours));
  all.push_back(ratio_of(all[1], all[0]));
  all.back().what = "tessera / one alone";
  if (devices.on_host() || !options.peer) return all;
  for (const PeerAllocator& kind : peers_that_keep()) {
    std::vector<std::unique_ptr<Allocator>> peers;
    together(comm, [&] {
      for (std::size_t i = 0; i < devices.size(); ++i) {
        devices.bind(i);
        peers.push_back(kind.make());
      }
    });
    all.push_back(measure(kind.name, every, [&](std::size_t i) {
      devices.bind(i);
      cycle(*peers[i], bytes, devices.stream(i));
    }));
    all.push_back(ratio_of(all[1], all.back()));
  }
  return all;
}

/// The buffer pool as one of the allocators.
class Pool final : public Allocator {
 public:
  Pool(std::unique_ptr<MemoryUpstream> upstream, BufferPoolOptions options)
      : pool_(std::move(upstream), options) {}

  void* take(std::size_t bytes, StreamView stream) override {
    try {
      MemoryLease lease = pool_.take_bytes(bytes, stream);
      void* memory = lease.data();
      leases_.emplace(memory, std::move(lease));
      return memory;
    } catch (const Error&) {
      return nullptr;  // its message has the figures
    }
  }
  void give_back(void* memory, StreamView) override { leases_.erase(memory); }
  [[nodiscard]] std::size_t peak_reserved_bytes() const override {
    return pool_.statistics().reserved_high_water_bytes;
  }

 private:
  BufferPool pool_;
  std::unordered_map<void*, MemoryLease> leases_;
};

struct TraceFigures {
  double reserved = 0;   ///< peak reserved / peak live, as the allocator says
  double on_device = 0;  ///< the same, by what the device had free; 0 on the host
  double step_us = 0;
  int failures = 0;
};

/// Buffers of all sizes from 2^-17 to 2^-5 of the card, all scales alike, on eight streams, so that 95 % of
/// the card is in use; which one goes next is random. Given up after a minute.
class Trace {
 public:
  Trace(BenchDevices& devices, std::string what, Allocator& allocator)
      : devices_(devices), what_(std::move(what)), allocator_(allocator) {}

  TraceFigures run() {
    const std::size_t free_before = devices_.free_bytes();
    std::size_t least_free = free_before;
    std::size_t peak_live = 0;
    for (int step = 0; step < steps; ++step) {
      take_one(step);
      peak_live = std::max(peak_live, live_bytes_);
      least_free = std::min(least_free, devices_.free_bytes());
    }
    while (!live_.empty()) give_back_one();
    const auto to_live = [&](std::size_t bytes) {
      return static_cast<double>(bytes) / static_cast<double>(peak_live);
    };
    return {.reserved = to_live(allocator_.peak_reserved_bytes()),
            .on_device = to_live(free_before - least_free),
            .step_us = 1e6 * elapsed_.count() / steps,
            .failures = failures_};
  }

 private:
  static constexpr int steps = 3000;

  struct Live {
    void* memory;
    std::size_t bytes;
    StreamView stream;
  };

  void take_one(int step) {
    const double scale = static_cast<double>(random_() >> 11) * 0x1p-53;
    const auto bytes = static_cast<std::size_t>(card_ * std::exp2(-17.0 + 12.0 * scale));
    const StreamView stream = streams_[random_() % streams_.size()];
    const auto begin = std::chrono::steady_clock::now();
    void* const memory = memory_for(bytes, stream);
    elapsed_ += std::chrono::steady_clock::now() - begin;
    if (elapsed_ > std::chrono::minutes(1))
      throw Error(ErrorCode::job_fault,
                  fmt::format("{}: the trace has come to step {} of {} in a minute, and "
                              "{} takes found no memory: it is given up",
                              what_, step, steps, failures_));
    if (memory == nullptr)
      throw Error(
          ErrorCode::job_fault,
          fmt::format("{}: the trace has given back everything at step {}, and yet {} bytes are not to be "
                      "had: the device has {} free",
                      what_, step, bytes, devices_.free_bytes()));
    if (!devices_.on_host()) touch(memory, std::min<std::size_t>(bytes, 4096), stream);
    live_.push_back({memory, bytes, stream});
    live_bytes_ += bytes;
  }

  /// Gives back what is in the way; null if there is no memory even then.
  void* memory_for(std::size_t bytes, StreamView stream) {
    while (live_bytes_ + bytes > full_) give_back_one();
    void* memory = allocator_.take(bytes, stream);
    while (memory == nullptr && !live_.empty()) {
      ++failures_;
      give_back_one();
      memory = allocator_.take(bytes, stream);
    }
    if (memory != nullptr || devices_.on_host()) return memory;
    // Nothing is live: what is missing was given back on streams that have not come to it.
    wait_for_device();
    return allocator_.take(bytes, stream);
  }

  void give_back_one() {
    std::swap(live_[random_() % live_.size()], live_.back());
    allocator_.give_back(live_.back().memory, live_.back().stream);
    live_bytes_ -= live_.back().bytes;
    live_.pop_back();
  }

  BenchDevices& devices_;
  std::string what_;
  Allocator& allocator_;
  std::vector<StreamView> streams_ = devices_.streams_of_first(8);
  double card_ = static_cast<double>(devices_.total_bytes());
  std::size_t full_ = static_cast<std::size_t>(0.95 * card_);
  std::mt19937_64 random_{1};
  std::vector<Live> live_;
  std::size_t live_bytes_ = 0;
  std::chrono::duration<double> elapsed_{};
  int failures_ = 0;
};

std::vector<Measurement> traces(const mpi::Communicator& comm, const SuiteOptions& options,
                                BenchDevices& devices) {
  std::vector<Measurement> all;
  const auto measure = [&](const std::string& what, const std::function<std::unique_ptr<Allocator>()>& make) {
    TraceFigures figures;
    bool measured = false;
    // One rank is enough: every other would have a GPU of its own and find the same.
    try {
      together(comm, [&] {
        if (comm.rank() != 0 || devices.size() == 0) return;
        devices.bind(0);
        const auto allocator = make();
        figures = Trace(devices, what, *allocator).run();
        measured = true;
      });
    } catch (const Error& error) {  // an answer about this allocator; the others' figures count
      note(comm, "pool", error.what());
      return;
    }
    together(comm, [&] {
      // The next one finds the card empty.
      if (measured && !devices.on_host()) wait_for_device();
    });
    if (!measured) return;
    const std::string name = "trace to 95 % of the card";
    all.push_back({"pool", name, what + ", peak reserved / peak live", "1", {figures.reserved}});
    if (figures.on_device > 0)
      all.push_back({"pool", name, what + ", peak of the device / peak live", "1", {figures.on_device}});
    all.push_back({"pool", name, what + ", a step", "us", {figures.step_us}});
    if (figures.failures > 0)
      note(comm, "pool", fmt::format("{}: {} takes of the trace found no memory", what, figures.failures));
  };
  measure("tessera", [&]() -> std::unique_ptr<Allocator> {
    const auto limit = static_cast<std::size_t>(0.99 * static_cast<double>(devices.free_bytes()));
    return std::make_unique<Pool>(devices.upstream(0), BufferPoolOptions{.limit_bytes = limit});
  });
  if (devices.on_host() || !options.peer) return all;
  for (const PeerAllocator& kind : peers_that_fill()) measure(kind.name, kind.make);
  return all;
}

std::vector<Measurement> run_pool_suite(const mpi::Communicator& comm, const SuiteOptions& options) {
  BenchDevices devices(comm, options, "pool");
  std::vector<Measurement> all = hits(comm, options, devices);
  std::ranges::move(threads(comm, options, devices), std::back_inserter(all));
  std::ranges::move(traces(comm, options, devices), std::back_inserter(all));
  return all;
}

}  // namespace

Suite pool_suite() {
  return {"pool",
          "The buffer pool, beside cudaMallocAsync, cub::CachingDeviceAllocator and PyTorch's",
          run_pool_suite,
          {}};
}

}  // namespace tessera::bench
