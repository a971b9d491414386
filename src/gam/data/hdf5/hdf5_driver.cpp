// SPDX-License-Identifier: Apache-2.0
#include "gam/data/hdf5/hdf5_driver.hpp"

#include "base/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace TESSERA_NAMESPACE::gam {
namespace {

/// The access list's argument for `open_file`.
struct DriverInfo {
  const std::shared_ptr<int>* error;
};

/// HDF5 identifies it by its first member.
struct DriverFile {
  H5FD_t known{};
  base::Descriptor descriptor;
  haddr_t allocated = 0;
  haddr_t end = 0;  ///< end of the data written by HDF5
  std::shared_ptr<int> error;

  void remember() const noexcept {
    if (*error == 0) *error = errno;
  }
};

DriverFile& driver_file(H5FD_t* known) {
  return *reinterpret_cast<DriverFile*>(known);
}
const DriverFile& driver_file(const H5FD_t* known) {
  return *reinterpret_cast<const DriverFile*>(known);
}

H5FD_t* open_file(const char* path, unsigned flags, hid_t access, haddr_t /*most*/) {
  const auto* const info = static_cast<const DriverInfo*>(H5Pget_driver_info(access));
  if (info == nullptr) return nullptr;
  const int truncate = (flags & H5F_ACC_TRUNC) != 0 ? O_TRUNC : 0;
  base::Descriptor descriptor(::open(path, O_RDWR | O_CLOEXEC | truncate));
  const auto status = descriptor.status();
  if (!status) {
    **info->error = errno;
    return nullptr;
  }
  auto* const file = new (std::nothrow) DriverFile;
  if (file == nullptr) return nullptr;
  file->descriptor = std::move(descriptor);
  file->end = static_cast<haddr_t>(status->st_size);
  file->error = *info->error;
  return &file->known;
}

herr_t close_file(H5FD_t* known) {
  DriverFile& file = driver_file(known);
  if (!file.descriptor.close()) file.remember();
  delete &file;
  return 0;
}

// As in sec2, since HDF5 lays out a file by these flags.
herr_t query_features(const H5FD_t* /*known*/, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

haddr_t allocated_end(const H5FD_t* known, H5FD_mem_t /*kind*/) {
  return driver_file(known).allocated;
}
herr_t allocate_to(H5FD_t* known, H5FD_mem_t /*kind*/, haddr_t end) {
  driver_file(known).allocated = end;
  return 0;
}
haddr_t written_end(const H5FD_t* known, H5FD_mem_t /*kind*/) {
  return driver_file(known).end;
}

// Bytes that were never written are zeros.
herr_t read_bytes(H5FD_t* known, H5FD_mem_t /*kind*/, hid_t /*transfer*/, haddr_t at, std::size_t size,
                  void* buffer) {
  const DriverFile& file = driver_file(known);
  const std::span<char> bytes(static_cast<char*>(buffer), size);
  const auto got = file.descriptor.read_at(static_cast<std::int64_t>(at), bytes);
  if (!got) file.remember();
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(got.value_or(0)), bytes.end(), '\0');
  return got ? 0 : -1;
}

herr_t write_bytes(H5FD_t* known, H5FD_mem_t /*kind*/, hid_t /*transfer*/, haddr_t at, std::size_t size,
                   const void* buffer) {
  DriverFile& file = driver_file(known);
  const std::string_view bytes(static_cast<const char*>(buffer), size);
  if (!file.descriptor.write_at(static_cast<std::int64_t>(at), bytes)) file.remember();
  file.end = std::max(file.end, at + size);
  return 0;
}

herr_t truncate_file(H5FD_t* known, hid_t /*transfer*/, hbool_t /*closing*/) {
  DriverFile& file = driver_file(known);
  if (file.end == file.allocated) return 0;
  if (::ftruncate(file.descriptor.number(), static_cast<off_t>(file.allocated)) != 0) file.remember();
  file.end = file.allocated;
  return 0;
}

H5FD_class_t driver_class() {
  H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 2)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(512);  // in the range for applications
#endif
  driver.name = "tessera";
  driver.maxaddr = static_cast<haddr_t>(std::numeric_limits<std::int64_t>::max());
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.fapl_size = sizeof(DriverInfo);
  driver.open = open_file;
  driver.close = close_file;
  driver.query = query_features;
  driver.get_eoa = allocated_end;
  driver.set_eoa = allocate_to;
  driver.get_eof = written_end;
  driver.read = read_bytes;
  driver.write = write_bytes;
  driver.truncate = truncate_file;
  constexpr H5FD_mem_t kinds[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(kinds), std::end(kinds), driver.fl_map);
  return driver;
}

}  // namespace

Handle access_that_remembers(const std::shared_ptr<int>& error) {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const H5FD_class_t description = driver_class();
  const Handle registered(H5FDregister(&description), H5FDunregister);
  const DriverInfo info{&error};
  if (H5Pset_driver(access.get(), registered.get(), &info) < 0) return {};
  return access;
}

}  // namespace TESSERA_NAMESPACE::gam
