// SPDX-License-Identifier: Apache-2.0
#include "base/cancellation.hpp"
#include "base/hash.hpp"
#include "base/message.hpp"
#include "device/module_format.hpp"
#include "job/state.hpp"
#include "mpi/exception_message.hpp"

#include <tessera/error.hpp>

#include <array>
#include <exception>
#include <map>

namespace TESSERA_NAMESPACE {
namespace {

/// For each compute capability, the rank that compiles: the lowest rank with a GPU of this capability.
std::map<ComputeCapability, int> builders_of(const Inventory& inventory) {
  std::map<ComputeCapability, int> builders;
  for (const InventoryDevice& device : inventory.devices())
    if (!device.host) builders.try_emplace(device.capability, device.rank);
  return builders;
}

using Packed = std::array<std::string, 4>;

Packed packed(const CompileOutcome& outcome) {
  if (const auto* compiled = std::get_if<CompiledModule>(&outcome))
    return {"compiled", compiled->target, compiled->image, compiled->log};
  const auto& failure = std::get<CompileFailure>(outcome);
  return {"failed", failure.target, failure.reason, failure.log};
}

CompileFailure not_compiled(const ModuleSource& source) {
  return {{}, "\"" + source.name + "\" cannot be compiled: " + reason_of(std::current_exception()), {}};
}

CompileOutcome unpacked(const Packed& texts) {
  if (texts[0] == "compiled") return CompiledModule{texts[1], texts[2], texts[3]};
  return CompileFailure{texts[1], texts[2], texts[3]};
}

}  // namespace

std::vector<JobModule> Job::compile(const ModuleSource& source) {
  State& state = this->state();
  state.require_thread();
  if (on_host()) return {};
  const auto builders = builders_of(state.inventory);

  std::map<ComputeCapability, Packed> made;  // outcomes of this rank
  const FunctionRef<void()> check = base::cancellation_check();
  Attempt attempt;
  attempt.run([&] {
    if (source.text.empty())
      throw Error(ErrorCode::usage, "module \"" + source.name + "\" has no source: give it a text");
    run_alive([&] {
      const base::CancellationScope cancellation(check);  // a stop request ends the wait for the compiler
      for (const auto& [capability, builder] : builders) {
        if (builder != comm().rank()) continue;
        try {
          made[capability] = packed(modules().compile(source, capability));
        } catch (const Error& error) {
          if (error.code() == ErrorCode::interrupted) throw;
          made[capability] = packed(not_compiled(source));
        } catch (const std::exception&) {
          made[capability] = packed(not_compiled(source));
        }
      }
    });
  });
  const Ballot decided =
      state.ballots.vote(attempt.ballot(), static_cast<std::int64_t>(base::fnv1a(key_of(source))),
                         state.inventory, "the compilation of \"" + source.name + "\"",
                         [&] { return "the compilation of \"" + source.name + "\""; });
  if (decided.outcome != Outcome::success)
    attempt.end(decided, "the compilation of \"" + source.name + "\"",
                "the ranks compile different sources as \"" + source.name +
                    "\": every rank must give the same source, in the same order of calls");

  const mpi::Purpose purpose(comm(), "the handing out of \"" + source.name + '"');
  std::vector<JobModule> all;
  for (const auto& [capability, builder] : builders) {
    Packed texts = made[capability];
    base::broadcast_values(comm(), builder, texts);
    all.push_back({capability, unpacked(texts)});
    modules().adopt(source, capability, all.back().outcome);
  }
  return all;
}

}  // namespace TESSERA_NAMESPACE
