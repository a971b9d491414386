// SPDX-License-Identifier: Apache-2.0
#include "c/handles.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

namespace tessera::c {
namespace {

StopOptions stop_options_of(const std::int32_t* signals, std::int32_t count, double time_limit_seconds) {
  StopOptions options;
  options.time_limit = milliseconds_of(time_limit_seconds, "tessera_stop_open has no valid time limit");
  if (signals == nullptr) return options;
  if (count < 0)
    throw Error(ErrorCode::usage,
                "tessera_stop_open was given " + std::to_string(count) + " signals: give 0 or more");
  options.signals.assign(signals, signals + count);
  return options;
}

}  // namespace
}  // namespace tessera::c

using tessera::c::require;
using tessera::c::status_of;

int tessera_stop_open(MPI_Comm comm, const int32_t* signals, int32_t count, double time_limit_seconds,
                      tessera_stop** stop) {
  return status_of([&] {
    require(stop, "tessera_stop_open", "stop");
    *stop = nullptr;
    const auto own = tessera::mpi::Communicator::duplicate_of(comm);
    tessera::StopOptions options;
    tessera::together(own,
                      [&] { options = tessera::c::stop_options_of(signals, count, time_limit_seconds); });
    // NOLINTNEXTLINE(modernize-make-unique): a request can be neither copied nor moved
    *stop = new tessera_stop{tessera::StopRequest(own, options)};
  });
}
int tessera_stop_open_fortran(MPI_Fint comm, const int32_t* signals, int32_t count, double time_limit_seconds,
                              tessera_stop** stop) {
  return tessera_stop_open(MPI_Comm_f2c(comm), signals, count, time_limit_seconds, stop);
}
void tessera_stop_close(tessera_stop* stop) {
  delete stop;
}
int tessera_stop_request(tessera_stop* stop, const char* cause) {
  return status_of([&] {
    require(stop, "tessera_stop_request", "stop");
    stop->request.request(cause != nullptr ? cause : "");
  });
}
int32_t tessera_stop_requested(const tessera_stop* stop) {
  return stop->request.requested() ? 1 : 0;
}
int tessera_stop_poll(tessera_stop* stop) {
  return status_of([&] {
    require(stop, "tessera_stop_poll", "stop");
    stop->request.poll();
  });
}
int tessera_stop_agree(tessera_stop* stop, int32_t* agreed) {
  return status_of([&] {
    require(stop, "tessera_stop_agree", "stop");
    const bool stops = stop->request.agree();
    require(agreed, "tessera_stop_agree", "agreed");
    *agreed = stops ? 1 : 0;
  });
}
const char* tessera_stop_cause(const tessera_stop* stop) {
  return stop->request.cause().c_str();
}
