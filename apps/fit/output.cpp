// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <tessera/error.hpp>
#include <utility>

namespace tessera::fit {
namespace {

namespace fs = std::filesystem;

/// A path in the one spelling that it has from the root on, links followed as far as it exists.
fs::path spelt_out(const std::string& path) {
  std::error_code unreadable;
  const fs::path from_root = fs::absolute(path, unreadable);
  const fs::path spelt = fs::weakly_canonical(from_root, unreadable);
  return unreadable ? from_root.lexically_normal() : spelt;
}

bool same_file(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  std::error_code absent;
  return fs::equivalent(a, b, absent) || spelt_out(a) == spelt_out(b);
}

}  // namespace

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)), temporary_(fmt::format("{}.{}.tmp", path_, ::getpid())) {
  if (path_.empty()) throw Error(ErrorCode::input, "a file to be written has an empty name");
  // A rename would put a regular file into the place of a device.
  struct stat status {};
  if (::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    throw Error(ErrorCode::input,
                fmt::format("{}: {}: give the name of a file", path_,
                            S_ISDIR(status.st_mode) ? "is a directory" : "is no regular file"));
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("cannot be created");
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
  }
}

void OutputFile::fail(const char* what) const {
  throw Error(ErrorCode::input, fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
}

void OutputFile::write_bytes(const char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t written = ::write(descriptor_, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot be written");
    bytes += written;
    count -= static_cast<std::size_t>(written);
  }
}

void OutputFile::write(std::string_view text) {
  write_bytes(text.data(), text.size());
}

void OutputFile::write(std::span<const double> values) {
  write_bytes(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

void OutputFile::flush() {
  // Some file systems report a full disk only here.
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail("cannot be written");
}

void OutputFile::commit() {
  flush();
  const int descriptor = std::exchange(descriptor_, -1);
  const bool closed = ::close(descriptor) == 0;
  if (!closed || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int reason = errno;
    ::unlink(temporary_.c_str());
    errno = reason;
    fail("cannot be written");
  }
}

void refuse_to_overwrite(std::initializer_list<WrittenFile> written,
                         std::initializer_list<std::string> read) {
  for (auto file = written.begin(); file != written.end(); ++file) {
    const auto refuse = [&](const std::string& other) {
      throw Error(ErrorCode::usage,
                  fmt::format("{} {} is a file {}: give it another name", file->option, file->path, other));
    };
    for (const std::string& path : read) {
      if (same_file(file->path, path)) refuse("that is read");
    }
    for (auto before = written.begin(); before != file; ++before) {
      // The files of one option are its own affair: a checkpoint links its own to each other.
      if (before->option != file->option && same_file(file->path, before->path))
        refuse(fmt::format("of {} too", before->option));
    }
  }
}

std::string read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  const auto fail = [&] {
    throw Error(ErrorCode::input, fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  };
  if (!file) fail();
  std::string text;
  char buffer[65536];
  std::size_t count = 0;
  while ((count = std::fread(buffer, 1, sizeof buffer, file.get())) > 0) text.append(buffer, count);
  if (std::ferror(file.get()) != 0) fail();
  return text;
}

}  // namespace tessera::fit
