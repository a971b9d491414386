// SPDX-License-Identifier: Apache-2.0
#include "c/handles.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <span>
#include <string_view>

namespace tessera::c {
namespace {

Fingerprint fingerprint_of(const tessera_fingerprint_entry* entries, std::int32_t count) {
  if (count < 0)
    throw Error(ErrorCode::usage,
                "tessera_checkpoint_open was given " + std::to_string(count) + " entries: give 0 or more");
  if (count > 0) require(entries, "tessera_checkpoint_open", "fingerprint");
  Fingerprint fingerprint;
  for (const tessera_fingerprint_entry& entry : std::span(entries, static_cast<std::size_t>(count))) {
    require(entry.name, "tessera_checkpoint_open", "a name of the fingerprint");
    require(entry.value, "tessera_checkpoint_open", "a value of the fingerprint");
    fingerprint.emplace_back(entry.name, entry.value);
  }
  return fingerprint;
}

}  // namespace
}  // namespace tessera::c

using tessera::c::require;
using tessera::c::status_of;

int tessera_checkpoint_open(const tessera_job* job, const char* path,
                            const tessera_fingerprint_entry* fingerprint, int32_t count,
                            tessera_checkpoint** checkpoint) {
  return status_of([&] {
    require(job, "tessera_checkpoint_open", "job");
    const tessera::mpi::Communicator& comm = job->job.comm();
    tessera::Fingerprint entries;
    tessera::together(comm, [&] {
      require(checkpoint, "tessera_checkpoint_open", "checkpoint");
      *checkpoint = nullptr;
      require(path, "tessera_checkpoint_open", "path");
      entries = tessera::c::fingerprint_of(fingerprint, count);
    });
    // NOLINTNEXTLINE(modernize-make-unique): a checkpoint can be neither copied nor moved
    *checkpoint =
        new tessera_checkpoint{comm.duplicate(), tessera::Checkpoint(comm, path, std::move(entries))};
  });
}
void tessera_checkpoint_close(tessera_checkpoint* checkpoint) {
  delete checkpoint;
}
const void* tessera_checkpoint_state(const tessera_checkpoint* checkpoint, size_t* bytes) {
  const std::optional<std::string>& state = checkpoint->checkpoint.state();
  if (bytes != nullptr) *bytes = state ? state->size() : 0;
  return state ? state->data() : nullptr;
}
const char* tessera_checkpoint_remark(const tessera_checkpoint* checkpoint, int32_t index) {
  const std::span<const std::string> remarks = checkpoint->checkpoint.remarks();
  if (index < 0 || static_cast<std::size_t>(index) >= remarks.size()) return nullptr;
  return remarks[static_cast<std::size_t>(index)].c_str();
}
int64_t tessera_checkpoint_generation(const tessera_checkpoint* checkpoint) {
  return checkpoint->checkpoint.generation();
}
int tessera_checkpoint_save(tessera_checkpoint* checkpoint, const void* state, size_t bytes) {
  return status_of([&] {
    require(checkpoint, "tessera_checkpoint_save", "checkpoint");
    std::string_view saved;  // empty except on rank 0
    tessera::together(checkpoint->comm, [&] {
      if (checkpoint->comm.rank() != 0) return;
      if (bytes > 0) require(state, "tessera_checkpoint_save", "state");
      saved = {static_cast<const char*>(state), bytes};
    });
    const std::string problem = checkpoint->checkpoint.save(saved);
    if (!problem.empty()) throw tessera::Error(tessera::ErrorCode::input, problem);
  });
}
int32_t tessera_checkpoint_is_saved(const tessera_checkpoint* checkpoint) {
  return checkpoint->checkpoint.is_saved() ? 1 : 0;
}
void tessera_checkpoint_remove(tessera_checkpoint* checkpoint) {
  checkpoint->checkpoint.remove();
}
