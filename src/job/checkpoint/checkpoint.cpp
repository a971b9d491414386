// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/checkpoint.hpp>

#include "job/checkpoint/checkpoint_files.hpp"
#include "job/checkpoint/checkpoint_format.hpp"
#include "mpi/time_limit.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include "base/list_text.hpp"
#include "base/message.hpp"

#include <algorithm>
#include <functional>

namespace TESSERA_NAMESPACE {
namespace {

/// *Collective.* Runs `work` on rank 0; every rank returns its result or throws its error.
std::string on_root(const mpi::Communicator& comm, const std::function<std::string()>& work) {
  std::string text;
  together(comm, [&] {
    if (comm.rank() == 0) text = work();
  });
  return comm.broadcast_text(text, 0);
}

}  // namespace

struct Checkpoint::State {
  State(const mpi::Communicator& from, std::string path, Fingerprint print)
      : comm(from.duplicate()), files(std::move(path)), fingerprint(std::move(print)) {
    files.set_faults(fault::Faults::from_environment(comm.rank()));
  }

  /// Reads both files and chooses a state: sets `found`, `remarks` and `keep_previous`. Throws
  /// `Error(input)`.
  void choose();
  /// The state in a file; if it is invalid, adds the reason to `remarks`.
  [[nodiscard]] std::optional<StoredState> look_at(const std::string& path);

  mpi::Communicator comm;
  CheckpointFiles files;
  Fingerprint fingerprint;
  std::optional<std::string> found;
  std::int64_t found_generation = 0;
  std::vector<std::string> remarks;
  std::string refusal;  // remark about the first file that is refused but not corrupt; empty: none
  bool keep_previous = true;
  bool is_saved = false;
  int saves = 0;
};

std::optional<StoredState> Checkpoint::State::look_at(const std::string& path) {
  const auto bytes = read_if_there(path);
  if (!bytes) return std::nullopt;
  auto unpacked = unpack_checkpoint(*bytes, fingerprint);
  if (auto* stored = std::get_if<StoredState>(&unpacked)) return std::move(*stored);
  const auto& refused = std::get<CheckpointRefusal>(unpacked);
  remarks.push_back(path + ' ' + refused.why);
  if (refused.kind != CheckpointRefusal::Kind::torn && refusal.empty()) refusal = remarks.back();
  return std::nullopt;
}

void Checkpoint::State::choose() {
  remarks.clear();
  refusal.clear();
  auto stored = look_at(files.path());
  // An invalid state must not replace a valid previous one.
  keep_previous = stored.has_value();
  const std::vector<std::string> strangers = files.strangers();
  if (!strangers.empty())
    remarks.push_back(
        base::staying(strangers, "named like checkpoint files, but perhaps not written by a checkpoint"));
  if (!stored && std::ranges::find(strangers, files.previous_path()) == strangers.end()) {
    stored = look_at(files.previous_path());
    if (stored) remarks.push_back(files.previous_path() + " is used instead");
  }
  if (!stored && !refusal.empty()) throw Error(ErrorCode::input, refusal);
  if (stored) found_generation = stored->generation;
  found.reset();
  if (stored) found = std::move(stored->state);
}

Checkpoint::Checkpoint(const mpi::Communicator& comm, std::string path, Fingerprint fingerprint)
    : state_(std::make_unique<State>(comm, std::move(path), std::move(fingerprint))) {
  State& state = *state_;
  const mpi::Purpose purpose(state.comm, "the opening of the checkpoint");
  std::int64_t generation = 0;
  const std::string found = on_root(state.comm, [&] {
    const mpi::detail::TimeLimit limit(state.comm, "the files of the checkpoint");
    // `choose` must throw before a generation is taken, because another job may use the refused file.
    state.choose();
    state.files.take_generation(state.found_generation + 1);
    state.choose();
    state.files.remove_older_generations();
    generation = state.files.generation();
    return state.found.value_or("");
  });
  bool is_found = state.found.has_value();
  base::broadcast_values(state.comm, 0, generation, is_found, state.remarks);
  state.found_generation = generation;
  if (is_found) state.found = found;
}

Checkpoint::~Checkpoint() = default;

const std::optional<std::string>& Checkpoint::state() const noexcept {
  return state_->found;
}
std::span<const std::string> Checkpoint::remarks() const noexcept {
  return state_->remarks;
}
std::int64_t Checkpoint::generation() const noexcept {
  return state_->found_generation;
}
const std::string& Checkpoint::path() const noexcept {
  return state_->files.path();
}

std::string Checkpoint::save(std::string_view state) {
  State& own = *state_;
  ++own.saves;
  const mpi::Purpose purpose(own.comm, "the saving of the checkpoint");
  std::string problem = on_root(own.comm, [&] {
    const std::string packed = pack_checkpoint({own.files.generation(), std::string(state)}, own.fingerprint);
    std::string found = own.files.write(packed, own.keep_previous, own.saves);
    if (own.files.is_written()) own.keep_previous = true;
    return found;
  });
  own.is_saved = problem.empty() || own.files.is_written();
  if (!problem.empty()) own.comm.broadcast(std::span(&own.is_saved, 1), 0);
  return problem;
}

bool Checkpoint::is_saved() const noexcept {
  return state_->is_saved;
}

void Checkpoint::remove() noexcept {
  if (state_->comm.rank() == 0) state_->files.remove();
}

}  // namespace TESSERA_NAMESPACE
