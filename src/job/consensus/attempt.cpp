// SPDX-License-Identifier: Apache-2.0
#include "job/consensus/attempt.hpp"

#include "mpi/check.hpp"
#include "mpi/exception_message.hpp"

#include <new>

namespace TESSERA_NAMESPACE {

void Attempt::fatal(std::exception_ptr thrown) noexcept {
  ballot_.outcome = is_misuse(thrown) ? Outcome::misuse : Outcome::fatal;
  ballot_.failure = {};
  ballot_.failure.reason = reason_of(thrown);
  thrown_ = std::move(thrown);
}

void Attempt::device_failed(Verdict::Failure failure) noexcept {
  try {
    device_failures_.push_back(failure);
  } catch (const std::bad_alloc&) {
    // Out of memory: drops this failure. The vote needs no memory.
  }
  if (!ok()) return;
  ballot_.outcome = Outcome::device_failed;
  ballot_.failure = std::move(failure);
}

void Attempt::end(const Ballot& decided, const std::string& what, const std::string& differs) const {
  if (decided.outcome == Outcome::disagreement)
    throw Error(ErrorCode::usage, differs + ": " + decided.failure.reason);
  const bool misuse = decided.outcome == Outcome::misuse;
  if (thrown_ && (!misuse || ballot_.outcome == Outcome::misuse)) std::rethrow_exception(thrown_);
  throw Error(misuse ? ErrorCode::usage : ErrorCode::job_fault, failure_in(what, decided));
}

std::string failure_in(const std::string& what, const Ballot& decided) {
  return "rank " + std::to_string(decided.failure.rank) + " (" + decided.failure.hostname + ") failed in " +
         what + ": " + decided.failure.reason;
}

bool is_misuse(const std::exception_ptr& thrown) noexcept {
  try {
    std::rethrow_exception(thrown);
  } catch (const Misuse&) {
    return true;
  } catch (const mpi::detail::WrongThread&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace TESSERA_NAMESPACE
