// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target on the given files, and on those of folders: without libFuzzer, for any compiler.
#include "fuzz_target.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;

/// The files below a path, in order.
std::set<fs::path> files_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::set<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) files.insert(entry.path());
  return files;
}

}  // namespace

int main(int count, char** arguments) {
  int inputs = 0;
  for (int i = 1; i < count; ++i) {
    for (const fs::path& file : files_of(arguments[i])) {
      std::ifstream in(file, std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(in), {}};
      // Printed before it runs: the last name is that of the input that ended the process.
      std::printf("%s\n", file.c_str());
      std::fflush(stdout);
      (void)LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
      ++inputs;
    }
  }
  std::printf("%d inputs held\n", inputs);
  return inputs > 0 ? 0 : 1;
}
