// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

/// Checks a dataset's header against the bytes in the file.
namespace TESSERA_NAMESPACE::gam {

/// An HDF5 identifier that is closed with its owner.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  [[nodiscard]] hid_t get() const noexcept { return id_; }
  [[nodiscard]] bool valid() const noexcept { return id_ >= 0; }
  /// Transfers the responsibility to close it to the caller.
  [[nodiscard]] hid_t release() noexcept { return std::exchange(id_, -1); }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// Prevents HDF5 from printing its error stack: this program reports failures itself.
class QuietHdf5 {
 public:
  QuietHdf5() {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }
  QuietHdf5(const QuietHdf5&) = delete;
  QuietHdf5& operator=(const QuietHdf5&) = delete;

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

/// Maximum bytes of a text, as for a row of a CSV file.
inline constexpr std::size_t max_text_bytes = std::size_t{64} << 20;

/// Why a link of the root is not followed, in words that follow its name; empty: it is a hard link to an
/// object of this file. Other links can lead to any file that the user may read.
[[nodiscard]] std::string problem_of_link(hid_t file, const std::string& name);

/// Why a dataset of `rows` values cannot be read, in words that follow its name; empty: all its values are in
/// this file, of `file_bytes` bytes, and there is memory for its chunks.
///
/// The extent of a dataset is only a number in its header. Its storage shows what was written: the bytes of a
/// contiguous dataset must be in the file, and all chunks of a chunked one. Missing values would be read as
/// zeros.
[[nodiscard]] std::string problem_of_storage(hid_t dataset, hid_t type, std::int64_t rows,
                                             std::int64_t file_bytes);

}  // namespace TESSERA_NAMESPACE::gam
