// SPDX-License-Identifier: Apache-2.0
// Every class of the library's public headers, moved from: each public member throws Error(usage), or returns
// an empty value. tests/install/moved_from.cmake finds a missing class. A Module needs a GPU:
// tests/gpu/device/module_test.cpp; tessera::gam has tests/unit/gam/model/moved_values_test.cpp.
#include "support/moved_from.hpp"
#include "mpi/job/array_testing.hpp"
#include "support/errors.hpp"

#include <tessera/job/checkpoint.hpp>
#include <tessera/job/device_staging.hpp>
#include <tessera/tessera.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>

namespace tessera::testing {
namespace {

// These cannot be moved.
template <class... Types>
inline constexpr bool stay = (!std::is_move_constructible_v<Types> && ...) &&
                             (!std::is_move_assignable_v<Types> && ...);
static_assert(stay<mpi::Session, mpi::Purpose, Checkpoint, StopRequest, Balancer, DeviceTurn, TraceRange,
                   MemoryUpstream>);
// A move of these is a copy.
template <class... Types>
inline constexpr bool copied_bytes = (std::is_trivially_copyable_v<Types> && ...);
static_assert(copied_bytes<StreamView, EventView, KernelView, DeviceCollectives, FunctionRef<void()>>);
// Classes without data. A Tile is an argument of views and a reason, and an exception has a message.
static_assert(std::is_abstract_v<KernelCompiler> && !std::is_constructible_v<Tile>);
static_assert(std::is_base_of_v<std::runtime_error, Error> && std::is_base_of_v<Error, mpi::Failure> &&
              std::is_base_of_v<Error, mpi::StartRefused>);

DeviceInfo simulated_t4(std::size_t number = 0) {
  return simulated_devices("*:2xT4", 0).at(number);
}

DevicePool pool_of_two() {
  return DevicePool({{.info = simulated_t4(0), .ordinal = Ordinal{0}, .score = 2, .claim_index = 0},
                     {.info = simulated_t4(1), .ordinal = Ordinal{1}, .score = 1, .claim_index = 1}});
}

/// *Collective.*
void expect_mapped(Job& job) {
  const Plan plan = job.plan(10);
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
}

class MovedFrom : public ::testing::Test {
 protected:
  ScopedVariable simulate_{"TESSERA_SIMULATE", "*:T4"};
  mpi::Communicator comm_ = world();
  ModuleSource source_{.name = "nothing", .text = "not compiled", .headers = {}, .options = {}};
};

TEST_F(MovedFrom, Job) {
  Job gone(comm_);
  Job kept = moved_out_of(gone);
  const Plan plan = kept.plan(10);
  std::optional<Array<double>> array(std::in_place, kept, plan);
  std::vector<double> units(10);
  const auto on_device = no_real_device;
  const auto on_host = [](const HostTile&, auto...) {};
  const auto no_partial = [](const HostTile&, std::span<double>) {};
  expect_moved_from(
      "Job",
      {[&] { (void)gone.comm(); }, [&] { (void)gone.options(); }, [&] { (void)gone.inventory(); },
       [&] { (void)gone.devices(); }, [&] { (void)gone.collectives(); }, [&] { (void)gone.buffers(); },
       [&] { (void)gone.threads(); }, [&] { (void)gone.host_threads(); }, [&] { (void)gone.host_team(); },
       [&] { (void)gone.modules(); }, [&] { (void)gone.compile(source_); }, [&] { (void)gone.plan(10); },
       [&] { (void)gone.plan(10, PlanOptions{}); }, [&] { (void)gone.move(units, plan, plan); },
       [&] { (void)gone.plan_for_hosts(10); }, [&] { (void)gone.plan_for_hosts(10, PlanOptions{}); },
       [&] { (void)gone.local_range(plan); }, [&] { (void)gone.on_host(); },
       [&] { (void)gone.last_verdict(); }, [&] { gone.run_alive([] {}); },
       [&] { (void)map_units(gone, plan); }, [&] { gone.scatter(plan, units, on_device, on_host); },
       [&] { (void)reduce_units(gone, plan); }, [&] { (void)gone.reduce(plan, 1, host_only, no_partial); },
       [&] { gone.update(arrays(array->read()), on_device, on_host); },
       [&] {
         (void)gone.reduce(
             arrays(array->read()), 1, [](Tile&, ReproducibleSum&, auto) {},
             [](const HostTile&, std::span<double>, auto) {});
       },
       [&] { gone.download(*array); },
       // Classes that take a job.
       [&] { const Array<double> other(gone, plan); }, [&] { const Balancer balancer(gone, plan); },
       [&] { (void)exercise(gone); }});
  kept.download(*array);
  array.reset();
  expect_moves(std::move(kept), Job(comm_), expect_mapped);
}

/// Includes ArrayBase.
TEST_F(MovedFrom, Array) {
  Job job(comm_);
  const Plan plan = job.plan(10);
  Array<int> gone(job, plan);
  Array<int> kept = moved_out_of(gone);
  expect_moved_from(
      "Array",
      {[&] { (void)gone.plan(); }, [&] { (void)gone.version(); }, [&] { (void)gone.host_version(); },
       [&] { (void)gone.traffic(); }, [&] { gone.move_to(plan); }, [&] { (void)gone.host(); },
       [&] { (void)gone.overwrite(); }, [&] { (void)gone.read(); }, [&] { (void)gone.write(); },
       [&] { (void)gone.modify(); }, [&] { job.download(gone); }, [&] { job.download(kept, gone); }});
  const auto alive = [&](Array<int>& array) {
    const std::int64_t before = array.version();
    const auto add = [](const HostTile&, std::span<int> part) {
      for (int& value : part) ++value;
    };
    job.update(arrays(array.modify()), no_real_device, add);
    job.download(array);
    EXPECT_EQ(array.version(), before + 1);
    for (const int value : array.host()) EXPECT_EQ(value, before + 1);
  };
  alive(kept);
  expect_moves<Array<int>>(std::move(kept), {job, plan}, alive);
}

/// A pass keeps the object that it was given, wherever it is moved meanwhile.
TEST_F(MovedFrom, ArrayInTheMiddleOfAPass) {
  Job job(comm_);
  const Plan plan = job.plan(10);
  Array<int> array(job, plan);
  std::optional<Array<int>> kept;
  job.update(arrays(array.write()), no_real_device, [&](const HostTile&, std::span<int> part) {
    if (!kept) kept = moved_out_of(array);
    for (int& value : part) value = 7;
  });
  expect_moved_from("Array", {[&] { (void)array.host(); }});
  job.download(*kept);
  for (const int value : kept->host()) EXPECT_EQ(value, 7);
}

/// The rest of the pass needs its job.
TEST_F(MovedFrom, JobInTheMiddleOfAPass) {
  Job job(comm_);
  const Plan plan = job.plan(10);
  std::optional<Job> elsewhere;
  std::once_flag once;
  expect_moved_from("Job", {[&] {
                      (void)job.reduce(plan, 1, host_only, [&](const HostTile&, std::span<double>) {
                        std::call_once(once, [&] { elsewhere = moved_out_of(job); });
                      });
                    }});
  ASSERT_TRUE(elsewhere);
  expect_mapped(*elsewhere);
}

TEST_F(MovedFrom, HostTeam) {
  HostTeam gone(2);
  HostTeam kept = moved_out_of(gone);
  EXPECT_EQ(gone.size(), 0);
  const auto work = [](int, Range) {};
  expect_moved_from("HostTeam", {[&] {
                                   (void)gone.for_each_block({0, 10}, 1, work);
                                 },
                                 [&] { (void)gone.for_each_block({}, 1, work); }});
  expect_moves(std::move(kept), HostTeam(2), [&](HostTeam& team) {
    EXPECT_EQ(team.size(), 2);
    EXPECT_TRUE(team.for_each_block({0, 10}, 1, work));
  });
}

TEST_F(MovedFrom, Communicator) {
  mpi::Communicator gone = world();
  mpi::Communicator kept = moved_out_of(gone);
  EXPECT_EQ(gone.rank(), 0);
  EXPECT_EQ(gone.size(), 1);
  EXPECT_EQ(gone.native(), MPI_COMM_NULL);
  gone.set_timeout(std::chrono::milliseconds(5));
  EXPECT_EQ(gone.timeout(), std::chrono::milliseconds(5));
  std::vector<double> values(3);
  const std::vector<std::size_t> counts{3};
  ReproducibleSum sum(1);
  MPI_Request request = MPI_REQUEST_NULL;
  expect_refused(
      "the communicator is empty (default-constructed or moved from): use the communicator of the Session",
      {[&] { (void)gone.duplicate(); }, [&] { (void)gone.duplicate(std::chrono::milliseconds(1)); },
       [&] { gone.alive(); }, [&] { (void)gone.split(0); }, [&] { gone.barrier(); },
       [&] { gone.allreduce(std::span(values), mpi::Reduction::sum); },
       [&] { (void)gone.allreduce(1.0, mpi::Reduction::sum); }, [&] { (void)gone.allgather(1); },
       [&] { (void)gone.allgatherv(std::span<const double>(values)); },
       [&] { (void)gone.allgather_text("text"); },
       [&] { (void)gone.alltoallv(std::span<const double>(values), counts); },
       [&] { gone.broadcast(std::span(values), 0); }, [&] { (void)gone.broadcast_text("text", 0); },
       [&] { gone.wait(request, "a scan"); },
       // Classes that take a communicator.
       [&] { const Job job(gone); }, [&] { const Checkpoint checkpoint(gone, "moved_from.ckpt", {}); },
       [&] { const StopRequest stop(gone); }, [&] { together(gone, [] {}); },
       [&] { together(gone, "a test", [] { throw Error(ErrorCode::input, "no input"); }); },
       [&] { sum.allreduce(gone); }, [&] { (void)find_memory_shortage(gone, 1); },
       [&] { (void)share_memory(gone, 1); }, [&] { (void)claim(gone, Probe{}, false); },
       [&] { (void)gather_inventory(gone, Probe{}, Claim{}, {}); }});
  { const mpi::Purpose purpose(gone, "nothing"); }
  expect_moves(std::move(kept), world(), [&](const mpi::Communicator& comm) {
    EXPECT_EQ(comm.allreduce(1, mpi::Reduction::sum), comm_.size());
  });
}

TEST_F(MovedFrom, DevicePool) {
  DevicePool gone = pool_of_two();
  DevicePool kept = moved_out_of(gone);
  EXPECT_EQ(gone.size(), 0U);
  EXPECT_TRUE(gone.empty());
  EXPECT_TRUE(gone.entries().empty());
  EXPECT_EQ(gone.begin(), gone.end());
  gone.leave_out(0);
  expect_moved_from(
      "DevicePool",
      {[&] { (void)gone.ordinals(); }, [&] { (void)gone.device_at(0); }, [&] { (void)gone.context_at(0); },
       [&] { (void)gone.context_of(Ordinal{0}); }, [&] { (void)gone.memory_budget_bytes(Ordinal{0}); },
       [&] { (void)gone.next_device(); }, [&] { (void)gone.most_free_memory(); }});
  // A pool that is moved from while other objects refer to it.
  DevicePool devices = moved_out_of(kept);
  DeviceBufferPools buffers(devices);
  kept = moved_out_of(devices);
  EXPECT_EQ(buffers.size(), 0U);
  expect_moved_from("DevicePool", {[&] { (void)buffers.pool_at(0); }, [&] { buffers.empty_cache(0); }});
  buffers.empty_cache_all();
  expect_moves(std::move(kept), pool_of_two(), [](DevicePool& pool) {
    EXPECT_EQ(pool.size(), 2U);
    EXPECT_EQ(pool.context_at(1).info().uuid, simulated_t4(1).uuid);
  });
}

TEST_F(MovedFrom, DeviceContext) {
  DeviceContext gone(simulated_t4());
  gone.bind();
  DeviceContext kept = moved_out_of(gone);
  EXPECT_EQ(DeviceContext::bound_to_this_thread(), &kept);
  expect_moved_from(
      "DeviceContext",
      {[&] { (void)gone.info(); }, [&] { (void)gone.ordinal(); }, [&] { gone.bind(); },
       [&] { (void)gone.stream(); }, [&] { gone.synchronize(); }, [&] { (void)gone.modules(); },
       [&] { (void)gone.free_memory_bytes(); },
       // Classes that take a context.
       [&] { const Stream stream(gone); }, [&] { const Event event(gone); },
       [&] { const PinnedMemory memory(16, gone); }, [&] { const PinnedBuffer<double> memory(0, gone); },
       [&] { (void)make_upstream(gone); }, [&] { DeviceStaging(gone, 1).upload(nullptr, nullptr, 1, {}); }});
  EXPECT_EQ(DeviceContext::bound_to_this_thread(), &kept) << "a call that was refused has changed it";
  EXPECT_EQ(probe_backend("test").device, &kept);
  expect_moves(std::move(kept), DeviceContext(simulated_t4()), [](const DeviceContext& context) {
    context.bind();
    EXPECT_EQ(DeviceContext::bound_to_this_thread(), &context);
    EXPECT_EQ(context.info().uuid, simulated_t4().uuid);
  });
}

TEST_F(MovedFrom, StreamAndEvent) {
  const DeviceContext context(simulated_t4());
  Stream gone(context);
  Stream kept = moved_out_of(gone);
  expect_moved_from("Stream", {[&] { (void)gone.view(); }, [&] { (void)gone.native(); },
                               [&] { (void)StreamView(gone); }, [&] { gone.synchronize(); }});
  expect_moves(std::move(kept), Stream(context), [](const Stream& stream) { stream.synchronize(); });

  Event over(context);
  Event event = moved_out_of(over);
  expect_moved_from("Event",
                    {[&] { (void)over.view(); }, [&] { over.record({}); }, [&] { (void)over.ready(); },
                     [&] { over.make_wait({}); }, [&] { over.synchronize(); }});
  expect_moves(std::move(event), Event(context), [](const Event& its) { EXPECT_TRUE(its.ready()); });
}

TEST_F(MovedFrom, ModuleCache) {
  const ModuleCacheOptions in_memory{.compiler = nullptr, .directory = std::string()};
  ModuleCache gone(in_memory);
  ModuleCache kept = moved_out_of(gone);
  const ComputeCapability capability{9, 0};
  expect_moved_from("ModuleCache", {[&] { (void)gone.compile(source_, capability); },
                                    [&] { gone.adopt(source_, capability, CompileFailure{}); },
                                    [&] { (void)gone.load(source_, capability); },
                                    [&] { (void)gone.statistics(); }, [&] { (void)gone.disk(); }});
  expect_moves(std::move(kept), ModuleCache(in_memory), [&](ModuleCache& cache) {
    const std::int64_t before = cache.statistics().adopted;
    cache.adopt({"failure " + std::to_string(before), "none", {}, {}}, capability, CompileFailure{});
    EXPECT_EQ(cache.statistics().adopted, before + 1);
  });
}

template <class Pool, class Take>
void expect_pool_moves(Pool kept, Take take) {
  expect_moves(std::move(kept), Pool(make_host_upstream(1 << 20)), [&](Pool& pool) {
    const std::uint64_t before = pool.statistics().returns;
    { const MemoryLease lease = take(pool); }
    EXPECT_EQ(pool.statistics().returns, before + 1);
  });
}

TEST_F(MovedFrom, BufferPool) {
  BufferPool gone(make_host_upstream(1 << 20));
  const Buffer<double> out = gone.take<double>(3, {});
  BufferPool kept = moved_out_of(gone);
  expect_moved_from("BufferPool",
                    {[&] { (void)gone.take<double>(1, {}); }, [&] { (void)gone.take<double>(0, {}); },
                     [&] { (void)gone.take_bytes(8, {}, Fill::zero); }, [&] { gone.release_stream({}); },
                     [&] { (void)gone.statistics(); }, [&] { (void)gone.memory_info(); },
                     [&] { (void)Arena(gone, {}).take_bytes(8); }});
  gone.empty_cache();
  gone.reset_statistics();
  EXPECT_NE(out.data(), nullptr);
  expect_pool_moves(std::move(kept), [](BufferPool& pool) { return pool.take_bytes(8, {}); });
}

TEST_F(MovedFrom, WorkspacePool) {
  WorkspacePool gone(make_host_upstream(1 << 20));
  WorkspacePool kept = moved_out_of(gone);
  expect_moved_from("WorkspacePool", {[&] { (void)gone.take(8, {}); }, [&] { (void)gone.take(0, {}); },
                                      [&] { gone.release_stream({}); }, [&] { (void)gone.statistics(); }});
  gone.empty_cache();
  gone.reset_statistics();
  expect_pool_moves(std::move(kept), [](WorkspacePool& pool) { return pool.take(8, {}); });
}

TEST_F(MovedFrom, DeviceBufferPools) {
  DevicePool devices = pool_of_two();
  DeviceBufferPools gone(devices);
  DeviceBufferPools kept = moved_out_of(gone);
  EXPECT_EQ(gone.size(), 0U);
  expect_moved_from("DeviceBufferPools", {[&] { (void)gone.pool_at(0); }, [&] { gone.empty_cache(0); }});
  gone.empty_cache_all();
  expect_moves(std::move(kept), DeviceBufferPools(devices),
               [](DeviceBufferPools& pools) { (void)pools.pool_at(1).take<int>(1, {}); });
}

TEST_F(MovedFrom, Arena) {
  BufferPool pool(make_host_upstream(1 << 20));
  Arena gone(pool, {}, 1024);
  (void)gone.take<double>(3);
  Arena kept = moved_out_of(gone);
  expect_moved_from("Arena", {[&] { (void)gone.take<double>(3); }, [&] { (void)gone.take_bytes(8); },
                              [&] { (void)gone.take_bytes(0); }});
  EXPECT_EQ(gone.used_bytes(), 0U);
  EXPECT_EQ(gone.capacity_bytes(), 0U);
  EXPECT_EQ(gone.slabs(), 0U);
  EXPECT_EQ(gone.stream(), StreamView());
  gone.reset();
  EXPECT_EQ(kept.used_bytes(), 24U);
  expect_moves(std::move(kept), Arena(pool, {}, 1024), [](Arena& arena) {
    auto* const number = arena.take<double>(1);
    *number = 1;
    EXPECT_GE(arena.used_bytes(), sizeof *number);
  });
}

TEST_F(MovedFrom, DeviceStaging) {
  const DeviceContext context(simulated_t4());
  DeviceStaging gone(context, 1);
  DeviceStaging kept = moved_out_of(gone);
  const int from = 7;
  int to = 0;
  expect_moved_from(
      "DeviceStaging",
      {[&] { gone.upload(&to, &from, sizeof to, {}); }, [&] { gone.upload(&to, &from, 0, {}); },
       [&] { gone.download(&to, &from, sizeof to, {}); }, [&] { gone.download(&to, &from, 0, {}); }});
  expect_moves(std::move(kept), DeviceStaging(context, 1), [&](DeviceStaging& staging) {
    to = 0;
    staging.upload(&to, &from, sizeof to, {});
    EXPECT_EQ(to, from);
  });
}

TEST_F(MovedFrom, MemoryUpstream) {
  auto gone = make_host_upstream(1 << 20);
  const BufferPool pool(moved_out_of(gone));
  const char* const problem = ": the upstream is null: give each pool a separate upstream";
  expect_refused(std::string("buffer pool") + problem, {[&] { const BufferPool other(moved_out_of(gone)); }});
  expect_refused(std::string("workspace pool") + problem,
                 {[&] { const WorkspacePool other(moved_out_of(gone)); }});
}

/// Leases report by themselves whether there is memory.
TEST_F(MovedFrom, MemoryIsNone) {
  BufferPool pool(make_host_upstream(1 << 20));
  MemoryLease lease = pool.take_bytes(8, {});
  MemoryLease kept_lease = moved_out_of(lease);
  EXPECT_EQ(lease.data(), nullptr);
  EXPECT_EQ(lease.size_bytes(), 0U);
  EXPECT_FALSE(lease);
  EXPECT_EQ(lease.stream(), StreamView());
  lease.record_stream({});
  lease.reset();
  expect_moves(std::move(kept_lease), pool.take_bytes(8, {}), [](MemoryLease& its) { EXPECT_TRUE(its); });

  Buffer<double> buffer = pool.take<double>(3, {});
  Buffer<double> kept_buffer = moved_out_of(buffer);
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.size(), 0U);
  EXPECT_EQ(buffer.size_bytes(), 0U);
  EXPECT_FALSE(buffer);
  EXPECT_EQ(buffer.stream(), StreamView());
  buffer.record_stream({});
  buffer.reset();
  expect_moves(std::move(kept_buffer), pool.take<double>(3, {}),
               [](Buffer<double>& its) { EXPECT_EQ(its.size(), 3U); });
  EXPECT_EQ(pool.statistics().in_use_bytes, 0U);

  const DeviceContext context(simulated_t4());
  PinnedMemory memory(16, context);
  PinnedMemory kept_memory = moved_out_of(memory);
  EXPECT_EQ(memory.data(), nullptr);
  EXPECT_EQ(memory.size_bytes(), 0U);
  EXPECT_FALSE(memory.pinned());
  EXPECT_FALSE(memory.near_device());
  expect_moves(std::move(kept_memory), PinnedMemory(16, context),
               [](PinnedMemory& its) { EXPECT_EQ(its.size_bytes(), 16U); });

  PinnedBuffer<int> numbers(4, context);
  PinnedBuffer<int> kept_numbers = moved_out_of(numbers);
  EXPECT_EQ(numbers.data(), nullptr);
  EXPECT_EQ(numbers.size(), 0U);
  EXPECT_EQ(numbers.size_bytes(), 0U);
  EXPECT_EQ(numbers.begin(), numbers.end());
  EXPECT_TRUE(numbers.span().empty());
  EXPECT_EQ(numbers.memory().data(), nullptr);
  expect_moves(std::move(kept_numbers), PinnedBuffer<int>(4, context),
               [](PinnedBuffer<int>& its) { EXPECT_EQ(its[3], 0); });
}

/// Values with vectors are empty.
TEST_F(MovedFrom, ValuesAreEmpty) {
  Job job(comm_);
  Plan plan = job.plan(10);
  Plan kept = moved_out_of(plan);
  EXPECT_EQ(plan.ranks(), 0);
  EXPECT_TRUE(plan.tiles().empty());
  (void)(plan.units() + plan.block() + static_cast<int>(plan.on_devices()) +
         static_cast<std::int64_t>(plan.fingerprint()));
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { (void)plan.tiles_of(0); }, [&] { (void)plan.range_of(0); }, [&] { (void)plan.share_of(0); },
           [&] { (void)map_units(job, plan); }, [&] { (void)job.local_range(plan); },
           [&] { (void)job.move(std::vector<int>(), plan, plan); },
           [&] { const Array<int> array(job, plan); }}) {
    error_of(ErrorCode::usage, call);
  }
  Balancer balancer(job, plan);
  EXPECT_FALSE(balancer.rebalance());
  expect_moves(std::optional<Plan>(kept), std::optional<Plan>(kept),
               [](const std::optional<Plan>& its) { EXPECT_TRUE(its); });
  expect_mapped(job);

  Inventory inventory = job.inventory();
  const Inventory kept_inventory = moved_out_of(inventory);
  EXPECT_TRUE(inventory.ranks().empty());
  EXPECT_TRUE(inventory.devices().empty());
  (void)inventory.nodes();
  EXPECT_THROW((void)inventory.devices_of(0), Error);
  EXPECT_THROW((void)inventory.plan(10), Error);
  EXPECT_EQ(kept_inventory.plan(10).fingerprint(), job.plan(10).fingerprint());

  ReproducibleSum sum(2);
  sum.add(std::vector<double>{1, 2});
  ReproducibleSum kept_sum = moved_out_of(sum);
  EXPECT_EQ(sum.width(), 0U);
  EXPECT_TRUE(sum.values().empty());
  EXPECT_THROW(sum.add(std::vector<double>{1, 2}), Error);
  EXPECT_THROW(sum.merge(kept_sum), Error);
  EXPECT_THROW(kept_sum.merge(sum), Error);
  EXPECT_THROW(sum.merge(std::vector<std::int32_t>{0}, std::vector<std::int64_t>{0}, 1), Error);
  sum.prepare_allreduce();
  sum.allreduce(comm_);
  sum = moved_out_of(kept_sum);
  EXPECT_EQ(sum.values(), (std::vector<double>{1, 2}));
}

/// Shared, immutable state stays shared with the moved-from object.
TEST_F(MovedFrom, SharedValuesStay) {
  auto counter = std::make_shared<int>(0);
  SharedFunction<int()> function = [counter] { return ++*counter; };
  { const SharedFunction<int()> other = moved_out_of(function); }
  ASSERT_TRUE(function);
  EXPECT_EQ(function(), 1);

  PlanWeights weights = std::vector<int>{1, 2, 3};
  { const PlanWeights other = moved_out_of(weights); }
  EXPECT_TRUE(weights);
  EXPECT_EQ(weights.size(), 3);
  EXPECT_EQ(weights(2), 3);

  CudaLibrary library("no_such_library");
  const CudaLibrary other = moved_out_of(library);
  EXPECT_FALSE(library.found());
  EXPECT_EQ(library.why_not(), other.why_not());
  EXPECT_EQ(library.file(), other.file());
  void (*entry)() = nullptr;
  EXPECT_FALSE(library.find(entry, "symbol"));
}

}  // namespace
}  // namespace tessera::testing
