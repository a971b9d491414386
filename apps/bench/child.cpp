// SPDX-License-Identifier: Apache-2.0
#include "child.hpp"

#include "device_work.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string_view>
#include <tessera/device/pool.hpp>
#include <tessera/error.hpp>
#include <tessera/topology/probe.hpp>
#include <thread>

#include "base/number.hpp"
#include "base/shared_library.hpp"
#include "files/standard_error.hpp"
#include "files/standard_output.hpp"

namespace tessera::bench {
namespace {

double seconds_alone(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void initialise_cuda() {
  const base::SharedLibrary library("libcuda.so.1", base::SharedLibrary::Opening::kept_open);
  if (!library.is_open()) throw Error(ErrorCode::device_absent, "there is no driver (libcuda.so.1)");
  int (*init)(unsigned) = nullptr;
  const int status = library.find(init, "cuInit") ? init(0) : -1;
  if (status != 0) throw Error(ErrorCode::job_fault, fmt::format("cuInit gives error {}", status));
}

std::vector<DeviceInfo> visible_devices() {
  const Probe here = probe();
  if (here.absence) throw Error(ErrorCode::device_absent, here.absence->message);
  std::vector<DeviceInfo> devices;
  for (const ProbedDevice& device : here.devices) devices.push_back(device.info);
  return devices;
}

double open_contexts(bool at_once) {
  const std::vector<DeviceInfo> devices = visible_devices();
  std::vector<DevicePool::Entry> entries;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const int index = static_cast<int>(i);
    entries.push_back({.info = devices[i], .ordinal = Ordinal{index}, .score = 1, .claim_index = index});
  }
  DevicePool pool(std::move(entries));
  initialise_cuda();
  return seconds_alone([&] {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < pool.size(); ++i) {
      if (at_once) {
        threads.emplace_back([&pool, i] { (void)pool.context_at(i); });
      } else {
        (void)pool.context_at(i);
      }
    }
  });
}

double run_first_kernel(const std::string& uuid) {
  const std::vector<DeviceInfo> devices = visible_devices();
  const auto wanted =
      std::ranges::find_if(devices, [&](const DeviceInfo& device) { return to_string(device.uuid) == uuid; });
  if (wanted == devices.end())
    throw Error(ErrorCode::device_absent, "the device " + uuid + " is not visible");
  return seconds_alone([&] {
    initialise_cuda();
    const DeviceContext context(*wanted);
    launch_empty_kernel(context.stream());
    context.synchronize();
  });
}

double run_what(const std::string& what, const std::string& device) {
  if (what == child::probe) return seconds_alone([] { (void)tessera::probe(); });
  if (what == child::cu_init) return seconds_alone(initialise_cuda);
  if (what == child::contexts_in_turn) return open_contexts(false);
  if (what == child::contexts_at_once) return open_contexts(true);
  if (what == child::first_kernel) return run_first_kernel(device);
  throw Error(ErrorCode::usage, "there is no child '" + what + "'");
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

constexpr std::string_view child_word = "--child";

}  // namespace

std::optional<double> seconds_in_child(const std::string& what, const std::optional<std::string>& visible,
                                       const std::string& device) {
  const std::string command =
      fmt::format("env -u TESSERA_SIMULATE {} {} {} {} {}",
                  visible ? quoted("CUDA_VISIBLE_DEVICES=" + *visible) : "-u CUDA_VISIBLE_DEVICES",
                  quoted(std::filesystem::read_symlink("/proc/self/exe").string()), child_word, what, device);
  const Output output = output_of(command);
  std::string_view printed = output.text;
  return output.status == 0 ? base::take_number<double>(printed) : std::nullopt;
}

Output output_of(const std::string& command) {
  Output output;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {{}, -1};
  std::array<char, 4096> part{};
  while (std::fgets(part.data(), part.size(), pipe) != nullptr) output.text += part.data();
  output.status = pclose(pipe);
  return output;
}

bool is_child(int argc, char** argv) {
  return argc >= 3 && argv[1] == child_word;
}

int run_child(int argc, char** argv) {
  try {
    files::write_output(fmt::format("{:.9f}\n", run_what(argv[2], argc > 3 ? argv[3] : "")));
    files::flush_output();
    return EXIT_SUCCESS;
  } catch (const Error& error) {
    files::say_line({"tessera-bench: ", argv[2], " cannot be measured: ", error.what()});
    return exit_status(error.code());
  }
}

}  // namespace tessera::bench
