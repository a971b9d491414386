// SPDX-License-Identifier: Apache-2.0
#include "mpi/check.hpp"
#include "mpi/clamped_time.hpp"
#include "mpi/communicator_access.hpp"
#include "mpi/fork.hpp"
#include "mpi/launcher.hpp"
#include "mpi/process_owner.hpp"

#include <tessera/mpi/communicator.hpp>

#include <numeric>

namespace TESSERA_NAMESPACE::mpi {
namespace detail {

WrongThread::WrongThread()
    : Error(ErrorCode::usage,
            "a collective call, for example Job::run, was made outside the main thread that initialised MPI: "
            "make collective calls on the main thread, between passes (functions of a pass run on other "
            "threads)") {
  ++wrong_calls();
}

int& wrong_calls() noexcept {
  thread_local int count = 0;
  return count;
}

ForkedChild::ForkedChild()
    : Error(ErrorCode::usage,
            "a collective call, for example Job::run, was made in a forked child process that is not a rank "
            "of the job: make the call in the parent process, or start another program in the child (exec)") {
}

Communicator CommunicatorAccess::serial_of_program() {
  Communicator comm = Communicator::serial();
  comm.self_.owns_process = true;
  has_ranks_or_session = true;
  return comm;
}

std::string CommunicatorAccess::name_of_rank(const Communicator& comm) {
  return comm.is_serial() ? "rank 0 (" + host_name() + ")" : comm.mpi_name();
}

}  // namespace detail

Communicator Communicator::serial() {
  Communicator comm;
  comm.self_.serial = true;
  comm.self_.forks = detail::forks();
  return comm;
}

void Communicator::require_usable() const {
  if (!is_serial()) {
    mpi_require_usable();
  } else if (self_.forks != detail::forks()) {
    throw Error(ErrorCode::usage,
                "this job was created before a fork, but its threads exist only in the parent process: "
                "create a new communicator and a new job in the child");
  }
}

void Communicator::check_counts(std::span<const std::size_t> counts, std::size_t total) const {
  const auto ranks = static_cast<std::size_t>(size());
  if (counts.size() != ranks)
    throw Error(ErrorCode::usage, "alltoallv needs a count for each of " + std::to_string(ranks) +
                                      " ranks, not " + std::to_string(counts.size()));
  if (const auto sum = std::reduce(counts.begin(), counts.end()); sum != total)
    throw Error(ErrorCode::usage, "alltoallv counts add up to " + std::to_string(sum) + ", but " +
                                      std::to_string(total) +
                                      " elements are given: give counts whose sum is the number of elements");
}

void Communicator::check_color(int least) {
  if (least < 0)
    throw Error(ErrorCode::usage, "split: a rank gives the color " + std::to_string(least) +
                                      ": give 0 or more; MPI_UNDEFINED is not supported, so give a separate "
                                      "color to a rank without a group");
}

Communicator Communicator::duplicate(std::chrono::milliseconds timeout) const {
  if (!is_serial()) return mpi_duplicate(timeout);
  Communicator duplicate;
  duplicate.self_ = self_;
  duplicate.self_.progress = {};
  duplicate.set_timeout(timeout);
  return duplicate;
}

Communicator Communicator::split(int color) const {
  if (!is_serial()) return mpi_split(color);
  check_color(color);
  return duplicate();
}

Communicator::Communicator(Communicator&& other) noexcept : self_(std::exchange(other.self_, {})) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  // Safe for self-assignment. The destructor of `old` frees the former communicator.
  Communicator old(std::move(other));
  std::swap(self_, old.self_);
  return *this;
}

Communicator::~Communicator() {
  if (!is_serial()) mpi_free();
}

void Communicator::set_timeout(std::chrono::milliseconds timeout) noexcept {
  self_.timeout = detail::clamped_time(timeout);
}

void Communicator::barrier() const {
  if (!is_serial()) mpi_barrier();
}

void Communicator::alive() const {
  if (!is_serial()) mpi_alive();
}

std::vector<std::string> Communicator::allgather_text(std::string_view mine) const {
  std::vector<std::size_t> offsets;
  const auto all = allgatherv(std::span(mine.data(), mine.size()), &offsets);
  std::vector<std::string> texts;
  texts.reserve(offsets.size() - 1);
  for (std::size_t r = 0; r + 1 < offsets.size(); ++r)
    texts.emplace_back(all.data() + offsets[r], offsets[r + 1] - offsets[r]);
  return texts;
}

std::string Communicator::broadcast_text(std::string_view text, int root) const {
  std::uint64_t length = text.size();
  broadcast(std::span(&length, 1), root);
  std::string out = rank() == root ? std::string(text) : std::string(length, '\0');
  broadcast(std::span(out), root);
  return out;
}

}  // namespace TESSERA_NAMESPACE::mpi
