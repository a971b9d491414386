// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/verdict.hpp>
#include <tessera/printable.hpp>

#include <array>
#include <cstdio>
#include <ostream>

#include "base/pluralised.hpp"

namespace TESSERA_NAMESPACE {
namespace {

/// Empty if the imbalance is below 1.1, rounded to one decimal.
std::string imbalance_of(const Verdict& verdict) {
  if (verdict.imbalance < 1.05) return {};
  std::array<char, 32> times{};
  (void)std::snprintf(times.data(), times.size(), "%.1f", verdict.imbalance);
  return ", unevenly (by a plan for devices rank " + std::to_string(verdict.busiest_rank) + " had " +
         times.data() + " times an even share)";
}

std::string shares_of(const Verdict& verdict) {
  return verdict.shares == 0 ? std::string() : " in " + base::pluralised(verdict.shares, "share");
}

std::string hosts_of(const Verdict& verdict) {
  if (verdict.hosts == 0) return {};
  return " and " + base::pluralised(verdict.hosts, "host");
}

std::string exclusion_of(const Verdict& verdict) {
  if (verdict.excluded.empty()) return {};
  const auto count = verdict.excluded.size();
  return ", without " + (verdict.shares == 0 ? std::to_string(count) : base::pluralised(count, "share")) +
         " that failed" + (count > 1 ? ", the first: " : ": ") + to_string(verdict.excluded.front());
}

}  // namespace

std::string to_string(const Verdict::Failure& failure) {
  std::string text = "rank " + std::to_string(failure.rank) + " (" + failure.hostname + ") device " +
                     std::to_string(failure.device);
  if (!failure.uuid.empty()) text += ' ' + failure.uuid;
  return text + " failed in " + failure.stage + ": " + failure.reason;
}

std::string to_string(const Verdict& verdict) {
  switch (verdict.ran) {
    case Verdict::Ran::devices:
      return "computed on " +
             base::pluralised(verdict.devices, verdict.simulated ? "simulated device" : "device") +
             shares_of(verdict) + hosts_of(verdict) + exclusion_of(verdict);
    case Verdict::Ran::host: return "computed on the CPU" + imbalance_of(verdict) + ": " + verdict.absence;
    case Verdict::Ran::fallback:
      return "computed on the CPU" + imbalance_of(verdict) + ": " + to_string(verdict.failure);
    case Verdict::Ran::none: return "not computed: " + verdict.reason;
  }
  return {};
}

std::ostream& operator<<(std::ostream& out, const Verdict& verdict) {
  return out << printable(to_string(verdict));
}

}  // namespace TESSERA_NAMESPACE
