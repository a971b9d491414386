// SPDX-License-Identifier: Apache-2.0
// A file of the kernel cache is used only if it is the one written for its key.
#include "device/module_files.hpp"
#include "device/module_format.hpp"
#include "fuzz_target.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace {

using tessera::fuzz::require;

constexpr std::string_view key = "a key";

/// A cache with one entry, whose file is changed in place.
class Cache {
 public:
  Cache() : files_({{folder_.path() / "cache", {}, false}}, std::int64_t{1} << 28) {
    files_.write(key, "first");
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      if (!entry.is_regular_file()) continue;
      require(name_.empty(), "one file for one entry");
      name_ = std::filesystem::relative(entry.path(), folder_.path()).string();
    }
    require(!name_.empty(), "a file for an entry");
  }

  void check(std::string_view bytes) {
    folder_.write(name_, bytes);
    const auto found = files_.read(key);
    if (!found.text) return;
    // The entry has exactly this text.
    files_.write(key, *found.text);
    std::ifstream in(folder_ / name_, std::ios::binary);
    require(std::string(std::istreambuf_iterator<char>(in), {}) == bytes,
            "an entry that is taken is as it is written");
    require(files_.read(key).text == found.text, "an entry that is written again is the same");
  }
  /// A written file is accepted.
  void check_text(std::string_view text) {
    files_.write(key, text);
    require(files_.read(key).text == text, "an entry is read as it was written");
  }

 private:
  tessera::fuzz::InputFolder folder_;
  tessera::ModuleFiles files_;
  std::string name_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Cache cache;
  std::string_view input = tessera::fuzz::text_of(data, size);
  constexpr std::string_view text = "text:";
  if (input.starts_with(text))
    cache.check_text(input.substr(text.size()));
  else
    cache.check(input);
  return 0;
}
