// SPDX-License-Identifier: Apache-2.0
#include "job/exercise/exercised_device.hpp"

#include "base/seconds_since.hpp"
#include "job/state.hpp"
#include "job/threads/device_threads.hpp"
#include "mpi/exception_message.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace TESSERA_NAMESPACE {
namespace {

/// Size of each array; larger than the caches of a GPU.
constexpr std::int64_t bytes_on_device = std::int64_t{128} << 20;
constexpr std::size_t numbers_on_host = 1024;
/// A prime, so that the values do not repeat at a power-of-two stride.
constexpr std::size_t distinct_numbers = 1021;
constexpr int rounds = 1024;
constexpr double parameter = 1.9;
/// Device-to-device copies that are timed together, because the time of a single one is mostly latency.
constexpr int copies_within = 16;
constexpr int timed_runs = 3;

double starting_number(std::size_t i) {
  return static_cast<double>(i % distinct_numbers + 1) / (distinct_numbers + 1);
}

double iterated(double x) {
  for (int k = 0; k < rounds; ++k) x = std::fma(-x, x, parameter);
  return x;
}

double specified_bandwidth(const DeviceInfo& device) {
  return 2e6 * device.memory_clock_mhz * device.memory_bus_bits / 8;
}

}  // namespace

ModuleSource exercise_source() {
  return {.name = "exercise",
          .text = R"(extern "C" __global__ void iterate(double* numbers, unsigned long long count, int rounds,
                                   double parameter) {
  const unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  if (i >= count) return;
  double x = numbers[i];
  for (int k = 0; k < rounds; ++k) x = fma(-x, x, parameter);
  numbers[i] = x;
}
)",
          .headers = {},
          .options = {}};
}

std::vector<double> exercise_results() {
  std::vector<double> results(distinct_numbers);
  for (std::size_t i = 0; i < distinct_numbers; ++i) results[i] = iterated(starting_number(i));
  return results;
}

ExercisedDevice::ExercisedDevice(Job& job, const fault::Faults& faults, const std::vector<double>& results,
                                 int device)
    : job_(job), faults_(faults), results_(results), device_(device) {}

void ExercisedDevice::open() {
  faults_.throw_if_hit(fault::Stage::bind, device_, 0);
  const InventoryDevice& known =
      job_.inventory().devices_of(job_.comm().rank())[static_cast<std::size_t>(device_)];
  if (known.excluded)
    throw Error(ErrorCode::job_fault, "not exercised: the job excluded this device after a failure");
  const std::size_t index = pool_index_of_claimed(job_.devices(), device_);
  bind_this_thread_near(job_.devices().device_at(index));
  const auto start = std::chrono::steady_clock::now();
  context_ = &job_.devices().context_at(index);
  context_->bind();
  const bool has_cuda = !context_->info().has_host_memory();
  if (has_cuda) found_.open_seconds = seconds_since(start);

  stage_ = "allocate";
  faults_.throw_if_hit(fault::Stage::allocate, device_, 0);
  const std::size_t count =
      has_cuda ? static_cast<std::size_t>(std::min(bytes_on_device, known.memory_budget_bytes / 8)) /
                     sizeof(double)
               : numbers_on_host;
  BufferPool& pool = job_.buffers().pool_at(index);
  host_ = PinnedMemory(count * sizeof(double), *context_);
  from_ = pool.take_bytes(count * sizeof(double), context_->stream());
  to_ = pool.take_bytes(count * sizeof(double), context_->stream());

  stage_ = "kernel";
  if (has_cuda)
    kernel_ = context_->modules().load(exercise_source(), context_->info().capability).kernel("iterate");
  DeviceExercise warm_up;
  run(warm_up);
}

void ExercisedDevice::measure() {
  for (int i = 0; i < timed_runs; ++i) run(found_);
}

void ExercisedDevice::failed(const std::exception_ptr& thrown) {
  failed(std::string(stage_) + ": " + reason_of(thrown));
}

void ExercisedDevice::failed(const std::string& failure) {
  found_.failure += (found_.failure.empty() ? "" : "; ") + failure;
}

void ExercisedDevice::run(DeviceExercise& found) {
  const std::size_t bytes = host_.size_bytes();
  const auto numbers = on_host<double>();
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = starting_number(i);
  stage_ = "copy";
  time(found.to_device, static_cast<double>(bytes),
       [&] { copy_async(*context_, from_.data(), host_.data(), bytes); });
  time(found.memory, 2.0 * copies_within * static_cast<double>(bytes), [&] {
    for (int i = 0; i < copies_within; ++i) copy_async(*context_, to_.data(), from_.data(), bytes);
  });
  stage_ = "kernel";
  time(found.arithmetic, 2.0 * rounds * static_cast<double>(count()), [&] { compute(); });
  stage_ = "copy";
  time(found.from_device, static_cast<double>(bytes),
       [&] { copy_async(*context_, host_.data(), to_.data(), bytes); });
  stage_ = "check";
  if (faults_.hit(fault::Stage::wrong, device_, 0)) numbers[0] = -numbers[0];
  check<double>(count(), [&](std::size_t i) { return results_[i % distinct_numbers]; });
}

void ExercisedDevice::time(ExerciseRate& rate, double amount, FunctionRef<void()> submit) {
  const auto start = std::chrono::steady_clock::now();
  submit();
  context_->synchronize();
  const double seconds = std::max(seconds_since(start), 1e-9);  // a coarse clock may not have advanced
  const double slowness = faults_.hit(fault::Stage::slow, device_, 0) ? 4 : 1;
  if (!context_->info().has_host_memory())
    rate.value = std::max(rate.value, amount / (slowness * seconds));
  else if (&rate == &found_.memory)
    rate.value = specified_bandwidth(context_->info()) / slowness;
}

void ExercisedDevice::compute() {
  if (context_->info().has_host_memory()) {
    const std::span<double> numbers(static_cast<double*>(to_.data()), count());
    std::ranges::transform(numbers, numbers.begin(), iterated);
    return;
  }
  constexpr unsigned threads = 256;
  const auto blocks = static_cast<unsigned>((count() + threads - 1) / threads);
  launch(kernel_, {blocks}, {threads}, 0, context_->stream(), to_.data(),
         static_cast<unsigned long long>(count()), rounds, parameter);
}

void ExercisedDevice::write_summand(std::uint64_t factor) {
  stage_ = "sum over devices";
  context_->bind();
  const auto elements = on_host<std::uint64_t>();
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = (i + 1) * factor;
  copy_async(*context_, to_.data(), host_.data(), host_.size_bytes());
  context_->synchronize();
}

void ExercisedDevice::check_sum(std::uint64_t factor, std::size_t count) {
  context_->bind();
  copy_async(*context_, host_.data(), to_.data(), host_.size_bytes());
  context_->synchronize();
  check<std::uint64_t>(count, [&](std::size_t i) { return (i + 1) * factor; });
}

template <class T, class Right>
void ExercisedDevice::check(std::size_t count, const Right& right) {
  const auto found = on_host<T>().first(count);
  std::size_t wrong = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i] != right(i) && wrong++ == 0) first = i;
  if (wrong > 0)
    throw Error(ErrorCode::job_fault,
                std::to_string(wrong) + " of " + std::to_string(found.size()) +
                    " results are wrong, the first at index " + std::to_string(first) +
                    ", counted from 0: do not use this GPU before the hardware has been checked");
}

}  // namespace TESSERA_NAMESPACE
