// SPDX-License-Identifier: Apache-2.0
// Untrusted checkpoints: their files, the content, and the state of a fit.
#include "base/hash.hpp"
#include "fuzz_target.hpp"
#include "gam/fit/pirls/fit_state.hpp"
#include "job/checkpoint/checkpoint_files.hpp"
#include "job/checkpoint/checkpoint_format.hpp"

#include <filesystem>
#include <variant>

namespace tessera {
namespace {

using fuzz::refusal;
using fuzz::require;

const Fingerprint& fingerprint() {
  static const Fingerprint all{{"program", "tessera-fit 0.1.0"}, {"formula", "y ~ s(x)"}};
  return all;
}

void check_bytes(std::string_view bytes) {
  const auto found = unpack_checkpoint(bytes, fingerprint());
  if (const auto* refused = std::get_if<CheckpointRefusal>(&found)) {
    require(!refused->why.empty(), "a refusal says why");
    return;
  }
  const auto& stored = std::get<StoredState>(found);
  const auto again = unpack_checkpoint(pack_checkpoint(stored, fingerprint()), fingerprint());
  const auto* same = std::get_if<StoredState>(&again);
  require(same != nullptr && same->generation == stored.generation && same->state == stored.state,
          "a state that is read and written again is the same");
}

/// The body of a checkpoint with a matching checksum: `pack_checkpoint` makes the two lines before it.
std::string with_checksum(std::string_view body) {
  const std::string first_line = "tessera checkpoint 1\n";
  return first_line + base::hex(base::fnv1a(body, base::fnv1a(first_line))) + '\n' + std::string(body);
}

void check_state(std::string_view text) {
  gam::FitState state;
  if (refusal([&] { state = gam::state_from(text, "fit.ckpt"); }, {ErrorCode::input})) return;
  require(gam::state_from(gam::to_text(state), "fit.ckpt") == state,
          "a fit's state that is read and written again is the same");
}

/// A start in a folder of files with similar names.
void check_names(std::string_view names) {
  static const fuzz::InputFolder folder;
  std::vector<std::string> made;
  while (!names.empty() && made.size() < 4) {
    const std::size_t end = std::min(names.find('\n'), names.size());
    std::string name = "ckpt" + std::string(names.substr(0, std::min<std::size_t>(end, 100)));
    names.remove_prefix(std::min(end + 1, names.size()));
    if (name.find('/') != std::string::npos || name.find('\0') != std::string::npos) continue;
    folder.write(name, "another start\n");
    made.push_back(std::move(name));
  }
  {
    CheckpointFiles files(folder / "ckpt");
    const auto refused = refusal([&] { files.take_generation(1); }, {ErrorCode::input});
    if (!refused) {
      require(files.generation() >= 1 && files.generation() <= last_generation, "the number of a generation");
      require(files.write("state", true).empty(), "a state that can be written");
      require(read_if_there(files.path()) == "state", "the state that was written");
      files.remove_older_generations();
      files.remove();
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    std::filesystem::remove(entry.path());
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = tessera::fuzz::text_of(data, size);
  switch (tessera::fuzz::take_byte(input)) {
    case 'b': tessera::check_bytes(tessera::with_checksum(input)); break;
    case 'n': tessera::check_names(input); break;
    case 's': tessera::check_state(input); break;
    default: tessera::check_bytes(tessera::fuzz::text_of(data, size));
  }
  return 0;
}
