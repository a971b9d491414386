// SPDX-License-Identifier: Apache-2.0
#include "job/collectives/device_collectives_state.hpp"
#include "mpi/job/job_testing.hpp"
#include "mpi/watchdog.hpp"
#include "support/errors.hpp"
#include "support/on_cpu.hpp"

#include <tessera/error.hpp>

#include <array>
#include <chrono>

namespace tessera::testing {
namespace {

/// A replacement of NCCL: a library that moves host memory with MPI, and fails as scripted.
struct Script {
  int failing_rank = -1;  ///< of MPI; -1: none
  std::string call;       ///< "open", "id", "join", "join-late", "sum", "sum-late", "hang"
  int odd_version_rank = -1;
  std::chrono::milliseconds a_sum_takes{0};
};

/// Counts over all libraries of this process.
struct Seen {
  int joined = 0;
  int left = 0;
  int operations = 0;
  int size = 0;              ///< of the communicator that was last joined
  std::vector<int> numbers;  ///< in it, of this rank's devices
  int root = -1;             ///< of the last broadcast
};

class FakeNccl final : public nccl::Library {
 public:
  FakeNccl(const mpi::Communicator& comm, Script script, Seen& seen, bool has_device)
      : comm_(comm), script_(std::move(script)), seen_(seen), has_device_(has_device) {
    fail_at("open");
  }

  [[nodiscard]] int version() const noexcept override {
    return comm_.rank() == script_.odd_version_rank ? 21500 : 22809;
  }
  [[nodiscard]] nccl::Id make_id() override {
    fail_at("id");
    nccl::Id id;
    id.fill(std::byte{42});
    return id;
  }
  void begin_group() override { EXPECT_FALSE(std::exchange(in_group_, true)); }
  void end_group() override { EXPECT_TRUE(std::exchange(in_group_, false)); }

  void begin_joining(nccl::Member& out, const nccl::Id& id, int size, int number) override {
    EXPECT_TRUE(in_group_);
    EXPECT_EQ(id[127], std::byte{42});
    EXPECT_LT(number, size);
    fail_at("join");
    out = new int(number);
    ++seen_.joined;
    seen_.size = size;
    seen_.numbers.push_back(number);
  }
  void begin_sum(nccl::Member, void* array, std::size_t count, nccl::Type type, StreamView) override {
    EXPECT_TRUE(in_group_);
    fail_at("sum");
    ++seen_.operations;
    sums_.push_back({array, count, type});
    sum_began_ = std::chrono::steady_clock::now();
  }
  void begin_broadcast(nccl::Member, void*, std::size_t, int root, StreamView) override {
    ++seen_.operations;
    seen_.root = root;
  }

  [[nodiscard]] bool is_ready(nccl::Member) override {
    fail_at("join-late");
    if (!sums_.empty()) fail_at("sum-late");
    if (!sums_.empty() && std::chrono::steady_clock::now() - sum_began_ < script_.a_sum_takes) return false;
    // Without the failing rank, the others would wait for ever.
    return script_.failing_rank < 0 || (script_.call != "join-late" && sums_.empty());
  }
  void leave(nccl::Member member) noexcept override {
    if (member != nullptr) ++seen_.left;
    delete static_cast<int*>(member);
  }

 private:
  void fail_at(const std::string& call) const {
    if (comm_.rank() == script_.failing_rank && script_.call == call && has_device_)
      throw Error(ErrorCode::job_fault, "the test fails in " + call);
  }
  struct Sum {
    void* array;
    std::size_t count;
    nccl::Type type;
  };

  const mpi::Communicator& comm_;
  Script script_;
  Seen& seen_;
  bool has_device_;
  bool in_group_ = false;
  std::vector<Sum> sums_;
  std::chrono::steady_clock::time_point sum_began_;
};

/// The arrays of a rank's simulated devices: element i of device d is value(rank, d, i).
template <class T>
class Arrays {
 public:
  Arrays(const Job& job, std::size_t count) {
    const auto devices = job.inventory().devices_of(job.comm().rank());
    for (const InventoryDevice& device : devices) {
      std::vector<T> values;
      for (std::size_t i = 0; i < count; ++i) values.push_back(value(device, i));
      all_.push_back(std::move(values));
    }
    for (auto& values : all_) pointers_.push_back(values.data());
  }
  static T value(const InventoryDevice& device, std::size_t i) {
    return static_cast<T>(1000 * device.rank + 100 * device.index) + static_cast<T>(i);
  }
  /// The expected content of every array after the sum. Integers: exact as doubles too.
  static std::vector<T> sum(const Job& job, std::size_t count) {
    std::vector<T> total(count);
    for (const InventoryDevice& device : job.inventory().devices())
      for (std::size_t i = 0; i < count; ++i) total[i] += value(device, i);
    return total;
  }
  [[nodiscard]] std::span<T* const> pointers() const { return pointers_; }
  [[nodiscard]] const std::vector<std::vector<T>>& all() const { return all_; }
  [[nodiscard]] std::vector<void*> untyped() const { return {pointers_.begin(), pointers_.end()}; }
  void drop_last() { pointers_.pop_back(); }

 private:
  std::vector<std::vector<T>> all_;
  std::vector<T*> pointers_;
};

// Rank 1 has no device.
constexpr const char* uneven = "rank0:2xH200; rank2:T4; rank3:T4; rank4:2xT4";

JobOptions with_timeout(std::chrono::milliseconds timeout) {
  JobOptions options;
  options.collective_timeout = timeout;
  return options;
}

/// A job over simulated devices whose collectives use a library of the test.
struct Scene {
  explicit Scene(const Script& script = {}, std::chrono::milliseconds timeout = std::chrono::minutes(1),
                 const JobOptions& options = {})
      : job(world(), options) {
    CollectiveParts parts;
    parts.comm = &job.comm();
    parts.inventory = &job.inventory();
    parts.pool = &job.devices();
    parts.faults = &faults;
    parts.timeout = timeout;
    parts.nccl_for_simulated = true;
    parts.open_nccl = [this, script] {
      return std::make_unique<FakeNccl>(job.comm(), script, seen, !job.devices().empty());
    };
    state.emplace(std::move(parts));
  }

  ScopedVariable simulate{"TESSERA_SIMULATE", uneven};
  Job job;
  fault::Faults faults;
  Seen seen;
  std::optional<DeviceCollectives::State> state;
  DeviceCollectives collectives = state->view();
};

TEST(DeviceCollectives, SumThroughTheHostsOnSimulatedDevices) {
  const ScopedVariable simulate("TESSERA_SIMULATE", uneven);
  Job job(world());
  DeviceCollectives collectives = job.collectives();
  EXPECT_FALSE(collectives.path());
  for (const std::size_t count : {0u, 1u, 1000u}) {
    const Arrays<double> reals(job, count);
    collectives.sum(reals.pointers(), count);
    for (const auto& array : reals.all()) EXPECT_EQ(array, Arrays<double>::sum(job, count));
    const Arrays<std::int64_t> integers(job, count);
    collectives.sum(integers.pointers(), count);
    for (const auto& array : integers.all()) EXPECT_EQ(array, Arrays<std::int64_t>::sum(job, count));
  }
  EXPECT_FALSE(collectives.path()) << "short sums need none";
  EXPECT_EQ(collectives.open(), DeviceCollectives::Path::hosts);
  EXPECT_EQ(collectives.reason(), "devices are simulated");
}

TEST(DeviceCollectives, GoThroughHostMemoryWhereHostsCompute) {
  JobOptions options;
  options.score_model = ScoreModel::measured;
  options.measure = [](Tile&) { return std::int64_t{1}; };
  options.measure_on_host = [](const HostTile&) { return std::int64_t{1}; };
  options.hosts = true;
  Scene scene({}, std::chrono::minutes(1), options);
  EXPECT_EQ(scene.collectives.open(), DeviceCollectives::Path::hosts);
  EXPECT_EQ(scene.collectives.reason(), "hosts compute together with the devices");
  EXPECT_EQ(scene.seen.joined, 0);
  const Arrays<double> reals(scene.job, 1000);
  scene.collectives.sum(reals.pointers(), 1000);
  for (const auto& array : reals.all()) EXPECT_EQ(array, Arrays<double>::sum(scene.job, 1000));
}

TEST(DeviceCollectives, WhatIsBoundStaysBound) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xT4");
  Job job(world());
  std::array<double, 2> values{1, 2};
  const std::array<double*, 2> arrays{values.data(), values.data() + 1};
  job.collectives().sum(arrays, 1);
  EXPECT_EQ(DeviceContext::bound_to_this_thread(), nullptr);
  const DeviceContext& first = job.devices().context_at(0);
  first.bind();
  job.collectives().sum(arrays, 1);
  EXPECT_EQ(DeviceContext::bound_to_this_thread(), &first);
}

TEST(DeviceCollectives, WhatIsKnownIsAskedOfOneRankAlone) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:1xT4");
  Job job(world());
  if (job.comm().rank() == 0) {
    EXPECT_EQ(job.collectives().path(), std::nullopt);
    EXPECT_EQ(job.collectives().reason(), "");
  }
  job.comm().barrier();
  EXPECT_EQ(job.collectives().open(), DeviceCollectives::Path::hosts);
  EXPECT_EQ(job.collectives().reason(), "devices are simulated");
}

TEST(DeviceCollectives, IntegersWrapAndAreExactAboveTheReachOfDoubles) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "rank0:2xT4");
  Job job(world());
  std::int64_t large = (std::int64_t{1} << 62) + 1;
  std::int64_t larger = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t*> arrays;
  if (job.comm().rank() == 0) arrays = {&large, &larger};
  job.collectives().sum(std::span<std::int64_t* const>(arrays), 1);
  if (job.comm().rank() == 0) {
    const std::int64_t wrapped = std::numeric_limits<std::int64_t>::min() + (std::int64_t{1} << 62);
    EXPECT_EQ(large, wrapped);
    EXPECT_EQ(larger, wrapped);
  }
}

TEST(DeviceCollectives, BroadcastFromAnyDevice) {
  const ScopedVariable simulate("TESSERA_SIMULATE", uneven);
  Job job(world());
  for (const InventoryDevice& root : job.inventory().devices()) {
    const Arrays<double> arrays(job, 7);
    std::vector<double> expected;
    for (std::size_t i = 0; i < 7; ++i) expected.push_back(Arrays<double>::value(root, i));
    job.collectives().broadcast(arrays.untyped(), 7 * sizeof(double), root.rank, root.index);
    for (const auto& array : arrays.all()) EXPECT_EQ(array, expected);
  }
  const Arrays<double> arrays(job, 7);
  const std::string message = error_of(
      ErrorCode::usage, [&] { job.collectives().broadcast(arrays.untyped(), 7 * sizeof(double), 1, 0); });
  EXPECT_EQ(message,
            "a broadcast from device 0 of rank 1: the job does not use this device: give another device");
}

TEST(DeviceCollectives, WithoutADeviceThereIsNothingToDo) {
  Job job(world(), on_cpu());
  job.collectives().sum(std::span<double* const>(), 100);
  job.collectives().broadcast({}, 100);
  EXPECT_EQ(job.collectives().reason(), "the job has no device");
}

TEST(DeviceCollectives, AfterAFallbackThereIsNothingToDo) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:T4");
  const ScopedVariable fault("TESSERA_FAULT", "throw@rank0:pass1");
  Job job(world());
  (void)job.collectives().open();
  const Plan plan = job.plan(100);
  (void)map_units(job, plan);
  if (!job.on_host()) GTEST_SKIP() << "this build has no fault points";
  job.collectives().sum(std::span<double* const>(), 100);
  EXPECT_EQ(job.collectives().reason(), "the job has fallen back to the CPU");
}

TEST(DeviceCollectives, MisuseOnOneRankIsAnErrorOnAllAndTheNextCallWorks) {
  const ScopedVariable simulate("TESSERA_SIMULATE", uneven);
  Job job(world());
  Arrays<double> arrays(job, 5);
  const bool culprit = job.comm().rank() == 0;
  if (culprit) arrays.drop_last();
  const std::string message = error_of(culprit ? ErrorCode::usage : ErrorCode::job_fault,
                                       [&] { job.collectives().sum(arrays.pointers(), 5); });
  EXPECT_NE(message.find("rank 0 gives 1 arrays, but drives 2 devices"), std::string::npos) << message;

  const Arrays<double> whole(job, 5);
  job.collectives().sum(whole.pointers(), 5);
  for (const auto& array : whole.all()) EXPECT_EQ(array, Arrays<double>::sum(job, 5));
}

TEST(DeviceCollectives, RanksThatDoNotMakeTheSameCallAreToldSo) {
  const ScopedVariable simulate("TESSERA_SIMULATE", uneven);
  Job job(world());
  if (job.comm().size() == 1) GTEST_SKIP() << "one rank agrees with itself";
  const Arrays<double> arrays(job, 5);
  const std::size_t count = job.comm().rank() == 0 ? 4 : 5;
  error_of(ErrorCode::usage, [&] { job.collectives().sum(arrays.pointers(), count); });
  for (const auto& array : arrays.all()) EXPECT_NE(array, Arrays<double>::sum(job, 5));
}

TEST(NcclAgreement, AllRanksTakeItOrNone) {
  Scene scene;
  EXPECT_EQ(scene.collectives.open(), DeviceCollectives::Path::nccl) << scene.collectives.reason();
  EXPECT_EQ(scene.collectives.reason(), "");
  const auto mine = static_cast<int>(scene.job.devices().size());
  EXPECT_EQ(scene.seen.joined, mine);
  const Arrays<double> arrays(scene.job, 3);
  scene.collectives.sum(arrays.pointers(), 3);
  scene.collectives.broadcast(arrays.untyped(), 3 * sizeof(double));
  EXPECT_EQ(scene.seen.operations, 2 * mine);
  EXPECT_EQ(scene.seen.left, 0);
  scene.state.reset();
  EXPECT_EQ(scene.seen.left, mine);
}

TEST(NcclAgreement, ShortSumsGoThroughTheHostsUnlessTheCallerHasOpenedAPath) {
  Scene scene;
  const std::size_t most = std::size_t{4096} / 2;  // some rank has two devices
  const Arrays<double> brief(scene.job, most);
  scene.collectives.sum(brief.pointers(), most);
  for (const auto& array : brief.all()) EXPECT_EQ(array, Arrays<double>::sum(scene.job, most));
  EXPECT_FALSE(scene.collectives.path());
  EXPECT_EQ(scene.seen.joined, 0);

  const auto mine = static_cast<int>(scene.job.devices().size());
  const Arrays<double> long_ones(scene.job, most + 1);
  scene.collectives.sum(long_ones.pointers(), most + 1);
  EXPECT_EQ(scene.collectives.path(), DeviceCollectives::Path::nccl) << scene.collectives.reason();
  EXPECT_EQ(scene.seen.operations, mine);
  scene.collectives.sum(brief.pointers(), most);
  EXPECT_EQ(scene.seen.operations, mine);

  EXPECT_EQ(scene.collectives.open(), DeviceCollectives::Path::nccl);
  scene.collectives.sum(brief.pointers(), most);
  EXPECT_EQ(scene.seen.operations, 2 * mine);
}

/// The last rank with a device, or rank 0.
int unlucky_rank() {
  const ScopedVariable simulate("TESSERA_SIMULATE", uneven);
  return Job(world()).inventory().devices().back().rank;
}

class NcclFailure : public ::testing::TestWithParam<const char*> {};

TEST_P(NcclFailure, OnOneRankInTheBeginningTakesAllToTheHosts) {
  const int unlucky = std::string(GetParam()) == "id" ? 0 : unlucky_rank();
  Scene scene({.failing_rank = unlucky, .call = GetParam()});
  EXPECT_EQ(scene.collectives.open(), DeviceCollectives::Path::hosts);
  const Arrays<double> arrays(scene.job, 9);
  scene.collectives.sum(arrays.pointers(), 9);
  for (const auto& array : arrays.all()) EXPECT_EQ(array, Arrays<double>::sum(scene.job, 9));
  const std::string reason = scene.collectives.reason();
  EXPECT_TRUE(reason.starts_with("rank " + std::to_string(unlucky) + " (")) << reason;
  EXPECT_TRUE(reason.ends_with(std::string("failed in nccl: the test fails in ") + GetParam())) << reason;
  expect_same_on_all_ranks(scene.job.comm(), reason);
  EXPECT_EQ(scene.seen.operations, 0);
  EXPECT_EQ(scene.seen.left, scene.seen.joined);
}

INSTANTIATE_TEST_SUITE_P(Calls, NcclFailure, ::testing::Values("open", "id", "join", "join-late"));

class NcclFault : public ::testing::TestWithParam<const char*> {};

TEST_P(NcclFault, InTheMiddleIsTheSameErrorOnAllAndTheHostsGoOn) {
  const int unlucky = unlucky_rank();
  Scene scene({.failing_rank = unlucky, .call = GetParam()});
  ASSERT_EQ(scene.collectives.open(), DeviceCollectives::Path::nccl) << scene.collectives.reason();
  const Arrays<double> arrays(scene.job, 9);
  // No rank waits until its timeout of a minute: the failing rank notifies the others.
  const std::string message =
      error_of(ErrorCode::job_fault, [&] { scene.collectives.sum(arrays.pointers(), 9); });
  EXPECT_TRUE(message.starts_with("rank " + std::to_string(unlucky) + " (")) << message;
  EXPECT_NE(message.find("failed in sum: the test fails in "), std::string::npos) << message;
  expect_same_on_all_ranks(scene.job.comm(), message);
  EXPECT_EQ(scene.collectives.path(), DeviceCollectives::Path::hosts);
  EXPECT_EQ(scene.collectives.reason(), message);
  EXPECT_EQ(scene.seen.left, scene.seen.joined);

  const Arrays<double> again(scene.job, 9);
  scene.collectives.sum(again.pointers(), 9);
  for (const auto& array : again.all()) EXPECT_EQ(array, Arrays<double>::sum(scene.job, 9));
}

INSTANTIATE_TEST_SUITE_P(Calls, NcclFault, ::testing::Values("sum", "sum-late"));

TEST(NcclAgreement, RanksWhoseOperationTakesLongAreAlive) {
  if (world().size() == 1) GTEST_SKIP() << "nobody waits for them";
  constexpr std::chrono::seconds patience{1};
  // Rank 1, which has no device, waits for the others the whole time.
  Scene scene({.call = {}, .a_sum_takes = patience + mpi::detail::Watchdog::grace + patience},
              std::chrono::minutes(1), with_timeout(patience));
  ASSERT_EQ(scene.collectives.open(), DeviceCollectives::Path::nccl) << scene.collectives.reason();
  const Arrays<double> arrays(scene.job, 9);
  scene.collectives.sum(arrays.pointers(), 9);
  EXPECT_EQ(scene.collectives.path(), DeviceCollectives::Path::nccl);
}

TEST(NcclAgreement, AnOperationThatNeverEndsIsGivenUp) {
  Scene scene({.failing_rank = 9999, .call = "hang"}, std::chrono::milliseconds(1500));
  ASSERT_EQ(scene.collectives.open(), DeviceCollectives::Path::nccl) << scene.collectives.reason();
  const Arrays<double> arrays(scene.job, 9);
  const std::string message =
      error_of(ErrorCode::job_fault, [&] { scene.collectives.sum(arrays.pointers(), 9); });
  EXPECT_NE(message.find("an NCCL operation has not completed after 1 s"), std::string::npos) << message;
  expect_same_on_all_ranks(scene.job.comm(), message);
}

TEST(NcclAgreement, DevicesThatAreLeftJoinAgain) {
  Scene scene;
  ASSERT_EQ(scene.collectives.open(), DeviceCollectives::Path::nccl) << scene.collectives.reason();
  // The first device of rank 0, which determines the others' indices, and all of rank 2.
  const Inventory& whole = scene.job.inventory();
  std::vector<InventoryDevice> devices(whole.devices().begin(), whole.devices().end());
  for (InventoryDevice& device : devices)
    device.excluded = (device.rank == 0 && device.index == 0) || device.rank == 2;
  const Inventory remaining({whole.ranks().begin(), whole.ranks().end()}, std::move(devices));
  scene.state->parts.inventory = &remaining;
  scene.state->exclude();
  EXPECT_EQ(scene.seen.left, scene.seen.joined);
  scene.seen = {};

  const Arrays<double> arrays(scene.job, 3);
  scene.collectives.sum(arrays.pointers(), 3);
  EXPECT_EQ(scene.collectives.path(), DeviceCollectives::Path::nccl) << scene.collectives.reason();
  const auto mine = remaining.devices_of(scene.job.comm().rank());
  const auto left = static_cast<int>(std::ranges::count(mine, false, &InventoryDevice::excluded));
  EXPECT_EQ(scene.seen.joined, left);
  EXPECT_EQ(scene.seen.operations, left);
  if (left > 0) {
    EXPECT_EQ(scene.seen.size, std::ranges::count(remaining.devices(), false, &InventoryDevice::excluded));
  }
  // Every number below the size once.
  const auto numbers = scene.job.comm().allgatherv(std::span<const int>(scene.seen.numbers));
  for (int number = 0; number < std::ssize(numbers); ++number)
    EXPECT_EQ(numbers[static_cast<std::size_t>(number)], number);

  scene.collectives.broadcast(arrays.untyped(), 3 * sizeof(double), 0, 1);
  EXPECT_EQ(scene.seen.root, left > 0 ? 0 : -1) << "the second of rank 0 is the first that is left";
  scene.state.reset();
}

TEST(NcclAgreement, TheCallerMayChooseTheHosts) {
  Scene scene;
  EXPECT_EQ(scene.collectives.open(DeviceCollectives::Path::hosts), DeviceCollectives::Path::hosts);
  EXPECT_EQ(scene.seen.joined, 0);
  const Arrays<double> arrays(scene.job, 3);
  scene.collectives.sum(arrays.pointers(), 3);
  for (const auto& array : arrays.all()) EXPECT_EQ(array, Arrays<double>::sum(scene.job, 3));
}

TEST(NcclAgreement, RanksThatChooseDifferentlyAreToldSo) {
  Scene scene;
  if (scene.job.comm().size() == 1) GTEST_SKIP() << "one rank agrees with itself";
  const auto wanted =
      scene.job.comm().rank() == 0 ? DeviceCollectives::Path::hosts : DeviceCollectives::Path::nccl;
  error_of(ErrorCode::usage, [&] { (void)scene.collectives.open(wanted); });
  EXPECT_FALSE(scene.collectives.path());
}

TEST(NcclAgreement, RanksWithDifferentVersionsTakeTheHosts) {
  const int odd = unlucky_rank();
  Scene scene({.failing_rank = -1, .call = {}, .odd_version_rank = odd});
  if (odd == 0) GTEST_SKIP() << "one rank has one version";
  EXPECT_EQ(scene.collectives.open(), DeviceCollectives::Path::hosts);
  EXPECT_EQ(scene.collectives.reason(), "rank 0 has NCCL 22809, rank " + std::to_string(odd) + " has 21500");
}

TEST(NcclAgreement, TheFaultPointMakesOneRankFail) {
  const int unlucky = unlucky_rank();
  Scene scene;
  scene.faults = {fault::parse("nccl@rank" + std::to_string(unlucky)), scene.job.comm().rank()};
  EXPECT_EQ(scene.collectives.open(), DeviceCollectives::Path::hosts);
  EXPECT_TRUE(contains(scene.collectives.reason(), "fault point \"nccl\""));
}

TEST(NcclAgreement, DevicesThatRanksShareGoThroughTheHosts) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200@node");
  JobOptions options;
  options.allow_sharing = true;
  Job job(world(), options);
  if (job.comm().size() == 1) GTEST_SKIP() << "one rank shares with nobody";
  (void)job.collectives().open();
  Arrays<double> arrays(job, 2);
  job.collectives().sum(arrays.pointers(), 2);
  for (const auto& array : arrays.all()) EXPECT_EQ(array, Arrays<double>::sum(job, 2));
  EXPECT_TRUE(job.collectives().reason().starts_with("ranks share the device "))
      << job.collectives().reason();
}

/// The library of this machine, if present: without a driver it refuses, with one line.
TEST(NcclLibrary, OpensOrSaysWhyNot) {
  const auto said = error_if_any(ErrorCode::device_absent, [] { EXPECT_GE(nccl::open()->version(), 21400); });
  EXPECT_TRUE(contains(said.value_or("NCCL"), "NCCL"));
  EXPECT_FALSE(contains(said.value_or(""), "\n"));
}

}  // namespace
}  // namespace tessera::testing
