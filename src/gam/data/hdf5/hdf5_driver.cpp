// SPDX-License-Identifier: Apache-2.0
#include "gam/data/hdf5/hdf5_driver.hpp"

#include <cerrno>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace TESSERA_NAMESPACE::gam {
namespace {

thread_local int first_error = 0;

void remember() noexcept {
  if (first_error == 0) first_error = errno != 0 ? errno : EIO;
}

/// The functions of the driver sec2; empty until they are found.
H5FD_class_t sec2{};

/// A class is known only from a file that its driver has open.
void find_sec2() {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_sec2(access.get());
  H5FD_t* const file = H5FDopen("/dev/null", H5F_ACC_RDONLY, access.get(), HADDR_UNDEF);
  if (file == nullptr) return remember();
  sec2 = *file->cls;
  H5FDclose(file);
}

/// Calls a function of sec2. HDF5 does not learn that it failed.
template <auto Function, class... Argument>
herr_t hide_failure(Argument... arguments) {
  errno = 0;
  if ((sec2.*Function)(arguments...) < 0) remember();
  return 0;
}

H5FD_t* open_file(const char* path, unsigned flags, hid_t access, haddr_t most) {
  errno = 0;
  H5FD_t* const file = sec2.open(path, flags, access, most);
  if (file == nullptr) remember();
  return file;
}

}  // namespace

Handle access_that_remembers() {
  first_error = 0;
  if (sec2.open == nullptr) find_sec2();
  H5FD_class_t driver = sec2;
  driver.name = "tessera";
  driver.terminate = nullptr;  // sec2 remains
  driver.lock = nullptr;       // shared file systems often lack locks
  driver.unlock = nullptr;
  driver.open = open_file;
  driver.close = hide_failure<&H5FD_class_t::close>;
  driver.write = hide_failure<&H5FD_class_t::write>;
  driver.truncate = hide_failure<&H5FD_class_t::truncate>;
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const Handle registered(H5FDregister(&driver), H5FDunregister);
  if (H5Pset_driver(access.get(), registered.get(), nullptr) < 0) return {};
  return access;
}

int remembered_error() noexcept {
  return first_error;
}

}  // namespace TESSERA_NAMESPACE::gam
