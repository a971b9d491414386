// SPDX-License-Identifier: Apache-2.0
#include "mpi/reason.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <cstdint>
#include <exception>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <utility>

namespace tessera::inline TESSERA_ABI {

void together(const mpi::Communicator& comm, const std::function<void()>& work) {
  std::string message;
  ErrorCode code = ErrorCode::job_fault;
  bool failed = true;
  try {
    work();
    failed = false;
  } catch (const Error& error) {
    message = error.what();
    code = error.code();
  } catch (const std::bad_alloc&) {
    message = "rank " + std::to_string(comm.rank()) + " is out of memory";
  } catch (...) {
    message = "rank " + std::to_string(comm.rank()) + ": " + reason_of(std::current_exception());
  }
  constexpr auto nobody = std::numeric_limits<std::int32_t>::max();
  const auto first = comm.allreduce<std::int32_t>(failed ? comm.rank() : nobody, mpi::Reduction::min);
  if (first == nobody) return;
  comm.broadcast(std::span(&code, 1), first);
  throw Error(code, comm.broadcast_text(message, first));
}

void together(const mpi::Communicator& comm, std::string purpose, const std::function<void()>& work) {
  const mpi::Purpose here(comm, std::move(purpose));
  together(comm, work);
}

}  // namespace tessera::inline TESSERA_ABI
