// SPDX-License-Identifier: Apache-2.0
#include "files/scratch_memory.hpp"

#include "files/node_scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <tessera/error.hpp>
#include <utility>

#include "support/errors.hpp"
#include "temporary_folder.hpp"

namespace tessera::files {
namespace {

constexpr std::size_t bytes = std::size_t{3} << 20;

std::span<std::uint8_t> bytes_of(const ScratchMemory& memory) {
  return {static_cast<std::uint8_t*>(memory.data()), memory.size_bytes()};
}

/// The error for a folder that cannot hold this many bytes.
std::string refusal(const std::string& folder, std::size_t size) {
  return error_of(ErrorCode::input, [&] { const ScratchMemory memory(folder, size); });
}

TEST(ScratchMemory, KeepsWhatItLetsGo) {
  ScratchMemory first(default_scratch_folder(), bytes);
  EXPECT_TRUE(std::ranges::all_of(bytes_of(first), [](std::uint8_t value) { return value == 0; }));
  for (std::size_t i = 0; i < bytes; ++i) bytes_of(first)[i] = static_cast<std::uint8_t>(i * 31 >> 4);
  const ScratchMemory memory = std::move(first);
  // Any part of it, and beyond its end.
  memory.evict(5, 100);
  memory.evict(0, 2 * bytes);
  memory.prepare_to_read(0, 5000);
  memory.prepare_to_read(bytes - 1, 2 * bytes);
  memory.release_written(bytes / 2, bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    ASSERT_EQ(bytes_of(memory)[i], static_cast<std::uint8_t>(i * 31 >> 4)) << i;
}

TEST(ScratchMemory, LeavesNoFile) {
  const TemporaryFolder folder;
  const ScratchMemory memory(folder.path(), bytes);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ScratchMemory, OfNoBytesNeedsNoFolder) {
  EXPECT_EQ(ScratchMemory("/nowhere", 0).size_bytes(), 0U);
}

TEST(ScratchMemory, SaysWhyThereIsNone) {
  EXPECT_EQ(refusal("/nowhere", bytes),
            "/nowhere: no scratch file can be created: No such file or directory: name another folder for "
            "scratch files");
  // More than any file system holds, refused before a byte is written.
  const std::string folder = default_scratch_folder();
  const std::size_t endless = std::numeric_limits<std::int64_t>::max() / 2;
  EXPECT_TRUE(refusal(folder, endless).starts_with(folder + ": has no room for "))
      << refusal(folder, endless);
}

TEST(ScratchMemory, IsNotInMemory) {
  if (!std::filesystem::is_directory("/dev/shm")) GTEST_SKIP() << "there is no /dev/shm";
  EXPECT_EQ(refusal("/dev/shm", bytes),
            "/dev/shm: the folder is in memory (tmpfs): name a folder on a disk for scratch files");
}

TEST(NodeScratch, IsSharedByThoseWhoOpenItUntilItsNameIsForgotten) {
  const TemporaryFolder folder;
  NodeScratch made(folder.path(), bytes);
  const NodeScratch opened = NodeScratch::open(made.path(), bytes);
  static_cast<char*>(made.data())[bytes - 1] = 7;
  EXPECT_EQ(static_cast<const char*>(opened.data())[bytes - 1], 7);
  EXPECT_FALSE(std::filesystem::is_empty(folder.path()));
  const std::string path = made.path();
  made.forget_name();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_EQ(static_cast<const char*>(opened.data())[bytes - 1], 7);
  const auto reopen = [&] { static_cast<void>(NodeScratch::open(path, bytes)); };
  EXPECT_EQ(error_of(ErrorCode::input, reopen),
            path +
                ": the scratch file cannot be opened: No such file or directory: name another folder for "
                "scratch files");
  const auto make = [] { const NodeScratch none("/nowhere", bytes); };
  EXPECT_TRUE(error_of(ErrorCode::input, make).starts_with("/nowhere: no scratch file can be created"));
}

}  // namespace
}  // namespace tessera::files
