// SPDX-License-Identifier: Apache-2.0
// For builds without MPI: a communicator is either serial or empty.
#include "mpi/abort.hpp"
#include "mpi/communicator_access.hpp"

#include <tessera/error.hpp>
#include <tessera/mpi/communicator.hpp>
#include <tessera/mpi/fail_together.hpp>

namespace TESSERA_NAMESPACE::mpi {
namespace {

[[noreturn]] void refuse() {
  throw Error(
      ErrorCode::usage,
      "the communicator is empty (default-constructed or moved from): use the communicator of the Session");
}

}  // namespace

namespace detail {

void abort_mpi(int /*status*/) noexcept {}

void CommunicatorAccess::receive_empty(const Communicator& /*comm*/, int /*from*/, int /*tag*/,
                                       std::string_view /*purpose*/) {
  refuse();
}
void CommunicatorAccess::send_empty(const Communicator& /*comm*/, int /*to*/, int /*tag*/) {
  refuse();
}
std::optional<int> CommunicatorAccess::sender_of_empty(const Communicator& /*comm*/, int /*tag*/) {
  refuse();
}
bool CommunicatorAccess::have_same_ranks(const Communicator& one, const Communicator& other) {
  one.require_usable();
  other.require_usable();
  return true;
}
int CommunicatorAccess::rank_in_world(const Communicator& /*comm*/) {
  return 0;
}
void CommunicatorAccess::require_threads(const Communicator& /*comm*/) {}

}  // namespace detail

void Communicator::mpi_require_usable() const {
  refuse();
}
void Communicator::allreduce_elements(void* /*data*/, std::size_t /*count*/, detail::Number /*number*/,
                                      Reduction /*how*/, std::size_t /*piece*/) const {
  refuse();
}
void Communicator::broadcast_bytes(void* /*data*/, std::size_t /*bytes*/, int /*root*/,
                                   std::size_t /*piece*/) const {
  refuse();
}
std::vector<std::size_t> Communicator::gathered_offsets(std::size_t /*my_bytes*/) const {
  refuse();
}
void Communicator::allgatherv_bytes(std::span<const std::byte> /*mine*/,
                                    std::span<const std::size_t> /*offsets*/, std::byte* /*out*/,
                                    std::size_t /*piece*/) const {
  refuse();
}
std::vector<std::size_t> Communicator::incoming_counts(std::span<const std::size_t> /*counts*/,
                                                       std::size_t /*total*/) const {
  refuse();
}
void Communicator::alltoallv_bytes(const std::byte* /*outgoing*/, std::span<const std::size_t> /*counts*/,
                                   std::span<const std::size_t> /*incoming*/, std::byte* /*out*/,
                                   std::size_t /*piece*/) const {
  refuse();
}
Communicator Communicator::mpi_duplicate(std::chrono::milliseconds /*timeout*/) const {
  refuse();
}
Communicator Communicator::mpi_split(int /*color*/) const {
  refuse();
}
void Communicator::mpi_barrier() const {
  refuse();
}
void Communicator::mpi_alive() const {
  refuse();
}
std::string Communicator::mpi_name() const {
  refuse();
}
void Communicator::mpi_free() noexcept {}

void fail_together(const Communicator& /*comm*/, FunctionRef<void()> work) {
  work();
}

Purpose::Purpose(const Communicator& /*comm*/, std::string /*what*/) {}
Purpose::~Purpose() = default;

}  // namespace TESSERA_NAMESPACE::mpi
