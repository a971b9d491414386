// SPDX-License-Identifier: Apache-2.0
#include "mpi/communicator_access.hpp"
#include "mpi/exception_message.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <cstdint>
#include <exception>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <utility>

namespace TESSERA_NAMESPACE {
namespace {

/// An exception as sent to other ranks.
struct Report {
  ErrorCode code = ErrorCode::job_fault;
  /// True for an `Error`, whose message needs no name of a rank.
  bool names_its_cause = false;
  std::string reason;
};

Report report_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return {error.code(), true, reason_of(thrown)};
  } catch (const std::bad_alloc&) {
    return {.reason = "out of memory"};  // short enough to need no allocation
  } catch (...) {
    return {.reason = reason_of(thrown)};
  }
}

/// The message of the `Error` on all ranks; only the reason if memory is short.
std::string message_of(Report report, const mpi::Communicator& comm, const std::string& purpose) {
  try {
    if (!purpose.empty())
      return mpi::detail::CommunicatorAccess::name_of_rank(comm) + " failed in " + purpose + ": " +
             report.reason;
    if (!report.names_its_cause) return "rank " + std::to_string(comm.rank()) + ": " + report.reason;
  } catch (const std::bad_alloc&) {
  }
  return std::move(report.reason);
}

}  // namespace

void together(const mpi::Communicator& comm, const std::string& purpose, FunctionRef<void()> work) {
  std::optional<mpi::Purpose> here;
  if (!purpose.empty()) here.emplace(comm, purpose);
  std::optional<Report> mine;
  try {
    work();
  } catch (...) {
    mine = report_of(std::current_exception());
  }
  constexpr auto nobody = std::numeric_limits<std::int32_t>::max();
  const auto first = comm.allreduce<std::int32_t>(mine ? comm.rank() : nobody, mpi::Reduction::min);
  if (first == nobody) return;
  Report report = std::move(mine).value_or(Report{});
  comm.broadcast(std::span(&report.code, 1), first);
  const bool is_first = comm.rank() == first;
  throw Error(
      report.code,
      comm.broadcast_text(is_first ? message_of(std::move(report), comm, purpose) : std::string(), first));
}

void together(const mpi::Communicator& comm, FunctionRef<void()> work) {
  together(comm, {}, work);
}

}  // namespace TESSERA_NAMESPACE
