// SPDX-License-Identifier: Apache-2.0
#include "c/handles.hpp"

#include <tessera/error.hpp>

#include <array>
#include <cstdint>

namespace tessera::c {
namespace {

/// Converts an enumeration value from C, which may be any number, by its index in `values`.
template <class Value, std::size_t count>
Value chosen(const std::array<Value, count>& values, std::int32_t number, const char* what) {
  if (number < 0 || number >= static_cast<std::int32_t>(count))
    throw Error(ErrorCode::usage, "tessera_options has the " + std::string(what) + ' ' +
                                      std::to_string(number) + ": give a value of its enumeration");
  return values[static_cast<std::size_t>(number)];
}

void read_version_2(JobOptions& options, const tessera_options& given) {
  options.memory_fraction = given.memory_fraction;
  options.parts_in_flight = given.parts_in_flight;
}

void read_version_3(JobOptions& options, const tessera_options& given) {
  constexpr std::array models = {ScoreModel::spec, ScoreModel::throughput, ScoreModel::measured};
  options.may_move_units = given.may_move_units != 0;
  options.hosts = given.hosts != 0;
  options.score_model = chosen(models, given.score_model, "score model");
  void* const context = given.measure_context;
  if (given.measure != nullptr)
    options.measure = [measure = given.measure, context](Tile& tile) {
      return measure(handle_of(tile), context);
    };
  if (given.measure_on_host != nullptr)
    options.measure_on_host = [measure = given.measure_on_host, context](const HostTile& tile) {
      const tessera_host_tile host_tile = handle_of(tile);
      return measure(&host_tile, context);
    };
  if (given.stop != nullptr) options.stop = &given.stop->request;
}

}  // namespace

std::chrono::milliseconds milliseconds_of(double seconds, const char* what) {
  if (!(seconds >= 0 && seconds < 3.2e9))
    throw Error(ErrorCode::usage, std::string(what) + ": give seconds, or 0 for no limit");
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

JobOptions options_of(const tessera_options* given) {
  if (given == nullptr) return {};
  if (given->version < 1 || given->version > TESSERA_C_VERSION)
    throw Error(
        ErrorCode::usage,
        "tessera_options has version " + std::to_string(given->version) +
            ", but this library supports versions 1 to " + std::to_string(TESSERA_C_VERSION) +
            ": initialise tessera_options with TESSERA_DEFAULT_OPTIONS, or link with a newer library");
  constexpr std::array policies = {Policy::automatic, Policy::gpu, Policy::cpu};
  constexpr std::array actions = {OnDeviceFailure::cpu, OnDeviceFailure::error, OnDeviceFailure::exclude};
  JobOptions options;
  options.collective_timeout =
      milliseconds_of(given->collective_timeout_seconds, "tessera_options has no valid collective timeout");
  options.policy = chosen(policies, given->policy, "policy");
  options.on_device_failure = chosen(actions, given->on_device_failure, "action on a device's failure");
  options.allow_sharing = given->allow_sharing != 0;
  options.threads = given->threads;
  if (given->version >= 2)
    read_version_2(options, *given);  // earlier versions of the structure lack these members
  if (given->version >= 3) read_version_3(options, *given);
  return options;
}

}  // namespace tessera::c
