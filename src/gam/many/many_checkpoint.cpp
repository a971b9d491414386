// SPDX-License-Identifier: Apache-2.0
#include "gam/many/many_checkpoint.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/data/row_pieces.hpp"

#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "files/input_file.hpp"
#include "files/json_file.hpp"
#include "files/output_file.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Magic bytes of a batch's file.
constexpr std::string_view batch_header = "tessera many models, a batch\n";

/// Whether the path is an existing file that is not a batch.
bool is_of_others(const std::string& path) {
  std::error_code unreadable;
  if (!std::filesystem::exists(path, unreadable)) return false;
  std::string begin(batch_header.size(), '\0');
  return files::InputFile(path).read_at(0, begin) != begin.size() || begin != batch_header;
}

}  // namespace

ManyCheckpoint::ManyCheckpoint(const mpi::Communicator& comm, const std::string& path,
                               const Fingerprint& fingerprint, std::string hardware,
                               std::size_t numbers_of_response, FitObserver& observer)
    : comm_(comm),
      path_(path),
      hardware_(std::move(hardware)),
      numbers_of_response_(numbers_of_response),
      observer_(observer),
      checkpoint_(std::make_unique<Checkpoint>(comm, path, fingerprint)) {
  for (const std::string& remark : checkpoint_->remarks()) observer.note(remark);
  if (checkpoint_->state()) together(comm, [&] { read_state(*checkpoint_->state()); });
}

void ManyCheckpoint::read_state(const std::string& state) {
  try {
    const files::JsonFile file = files::JsonFile::parsed(state, path_, "the state of many models");
    const files::JsonField json = file.root();
    uses_devices_ = json.at("devices").truth();
    for (const files::JsonField& one : json.at("batches").elements()) {
      const std::int64_t begin = kept();
      batches_.push_back({begin, one.at("end").whole<std::int64_t>(begin + 1), one.at("crc32").text()});
    }
    const std::string before = json.at("hardware").text();
    if (before == hardware_) return;
    observer_.note(
        fmt::format("{} was begun on {}, and this run is on {}: starting over", path_, before, hardware_));
    uses_devices_ = true;
    drop(0);
  } catch (const Error& fault) {
    throw base::input_error("{}: remove it", fault.what());
  }
}

std::string ManyCheckpoint::state() const {
  auto batches = nlohmann::ordered_json::array();
  for (const Batch& one : batches_) batches.push_back({{"end", one.end}, {"crc32", one.checksum}});
  return nlohmann::ordered_json{{"hardware", hardware_}, {"devices", uses_devices_}, {"batches", batches}}
      .dump();
}

std::vector<Range> ManyCheckpoint::batches() const {
  std::vector<Range> ranges;
  for (const Batch& one : batches_) ranges.push_back({one.begin, one.end});
  return ranges;
}

std::string ManyCheckpoint::file_of(const Batch& batch) const {
  return fmt::format("{}.batch-{}", path_, batch.begin);
}

std::optional<std::vector<double>> ManyCheckpoint::read(std::size_t batch) {
  const Batch& wanted = batches_[batch];
  std::vector<double> numbers(at(wanted.end - wanted.begin) * numbers_of_response_);
  int found = 0;
  if (comm_.rank() == 0) {
    const std::size_t bytes = batch_header.size() + numbers.size() * sizeof(double);
    try {
      const std::string text = files::read_text(file_of(wanted), static_cast<std::int64_t>(bytes));
      if (text.size() == bytes && files::checksum_of(text) == wanted.checksum) {
        std::memcpy(numbers.data(), text.data() + batch_header.size(), numbers.size() * sizeof(double));
        found = 1;
      }
    } catch (const Error&) {
    }
  }
  if (comm_.allreduce(found, mpi::Reduction::max) == 0) {
    observer_.note(
        fmt::format("{}: is missing or damaged: its responses and all later responses are fitted again",
                    file_of(wanted)));
    drop(batch);
    return std::nullopt;
  }
  comm_.broadcast(std::span(numbers), 0);
  return numbers;
}

void ManyCheckpoint::keep(Range responses, const Plan& plan, std::span<const double> numbers,
                          bool uses_devices) {
  if (failed_) return;
  std::string text(batch_header);
  constexpr std::int64_t numbers_at_once = 1 << 18;
  write_in_row_order(
      comm_, plan,
      std::max<std::int64_t>(1, numbers_at_once / static_cast<std::int64_t>(numbers_of_response_)),
      [&](Range some) {
        const auto part =
            numbers.subspan(at(some.begin) * numbers_of_response_, at(some.size()) * numbers_of_response_);
        return std::string(reinterpret_cast<const char*>(part.data()), part.size_bytes());
      },
      [&](std::string_view bytes) { text += bytes; });
  Batch batch{responses.begin, responses.end, comm_.rank() == 0 ? files::checksum_of(text) : std::string()};
  int failed = 0;
  if (comm_.rank() == 0) {
    try {
      const std::string path = file_of(batch);
      if (is_of_others(path))
        throw base::input_error("{}: is not a batch of the checkpoint: rename it", path);
      files::OutputFile file(path);
      file.write(text);
      file.flush();
      static_cast<void>(file.commit());
    } catch (const Error& error) {
      failed = 1;
      observer_.note(fmt::format("the fit continues without further checkpoints: {}", error.what()));
    }
  }
  failed_ = comm_.allreduce(failed, mpi::Reduction::max) != 0;
  if (failed_) return;
  batches_.push_back(std::move(batch));
  uses_devices_ = uses_devices;
  save();
}

void ManyCheckpoint::save() {
  const std::string problem = checkpoint_->save(state());
  if (problem.empty()) return;
  observer_.note(problem);
  failed_ = !checkpoint_->is_saved();
}

void ManyCheckpoint::remove_file(const Batch& batch) const noexcept {
  if (comm_.rank() != 0) return;
  try {
    const std::string path = file_of(batch);
    if (!is_of_others(path)) std::filesystem::remove(path);
  } catch (const std::exception&) {
    // The file stays until a later batch with this name replaces it.
  }
}

void ManyCheckpoint::drop(std::size_t first) {
  for (std::size_t i = first; i < batches_.size(); ++i) remove_file(batches_[i]);
  batches_.resize(first);
}

void ManyCheckpoint::start_over(bool uses_devices) {
  drop(0);
  uses_devices_ = uses_devices;
  if (!failed_) save();
}

void ManyCheckpoint::remove() noexcept {
  for (const Batch& one : batches_) remove_file(one);
  checkpoint_->remove();
}

}  // namespace TESSERA_NAMESPACE::gam
