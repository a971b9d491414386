// SPDX-License-Identifier: Apache-2.0
#include "gam/data/hdf5/hdf5_writer.hpp"

#include "base/errors.hpp"
#include "gam/data/hdf5/hdf5_contents.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace TESSERA_NAMESPACE::gam {
namespace {

/// errno of the first failed call on this thread since the latest `access_that_remembers`; 0: none.
thread_local int first_error = 0;

void remember() noexcept {
  if (first_error == 0) first_error = errno != 0 ? errno : EIO;
}

/// Functions of HDF5's driver sec2; empty before `find_sec2`.
H5FD_class_t sec2{};

/// Sets `sec2`. HDF5 returns a driver's functions only for a file that the driver has open.
void find_sec2() {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_sec2(access.get());
  H5FD_t* const file = H5FDopen("/dev/null", H5F_ACC_RDONLY, access.get(), HADDR_UNDEF);
  if (file == nullptr) return remember();
  sec2 = *file->cls;
  H5FDclose(file);
}

/// Calls a function of sec2, and hides its failure from HDF5.
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

/// A file access property list with the driver sec2, but failed writes are stored in `first_error` and hidden
/// from HDF5.
///
/// If closing a file fails, e.g. on a full disk, HDF5 1.10 keeps the file open and crashes when it closes the
/// file at the end of the process. `H5dont_atexit` prevents this only if the process has not used HDF5
/// before, and then no file is closed at exit. With this list all writes and closes succeed from HDF5's view.
struct Access {
  /// HDF5 1.10 calls the driver's `close` after the file has dropped its reference to the driver.
  Handle driver;
  Handle list;
};

Access access_that_remembers() {
  first_error = 0;
  if (sec2.open == nullptr) find_sec2();
  H5FD_class_t driver = sec2;
  driver.name = "tessera";
  driver.terminate = nullptr;  // HDF5 must not terminate sec2
  driver.lock = nullptr;       // shared file systems often lack locks
  driver.unlock = nullptr;
  driver.open = open_file;
  driver.close = hide_failure<&H5FD_class_t::close>;
  driver.write = hide_failure<&H5FD_class_t::write>;
  driver.truncate = hide_failure<&H5FD_class_t::truncate>;
  Access access{.driver = {H5FDregister(&driver), H5FDunregister},
                .list = {H5Pcreate(H5P_FILE_ACCESS), H5Pclose}};
  if (H5Pset_driver(access.list.get(), access.driver.get(), nullptr) < 0) access.list = {};
  return access;
}

/// A file opened by HDF5 for writing. Failed writes are reported when it is closed.
class Hdf5Output {
 public:
  /// `open` opens the file with an access list.
  template <class Open>
  Hdf5Output(const files::OutputFile& file, const Open& open) : file_(file) {
    Access access = access_that_remembers();
    driver_ = std::move(access.driver);
    hdf5_ = valid(Handle(open(access.list.get()), H5Fclose));
  }

  [[nodiscard]] hid_t get() const noexcept { return hdf5_.get(); }
  [[nodiscard]] Handle valid(Handle handle) const {
    if (!handle.valid()) fail();
    return handle;
  }
  /// Flushes HDF5's buffers. Throws if a write has failed.
  void close() {
    if (H5Fclose(hdf5_.release()) < 0 || first_error != 0) fail();
  }
  [[noreturn]] void fail() const {
    throw base::input_error("{}: cannot be written: {}", file_.path(),
                            first_error != 0 ? std::strerror(first_error)
                                             : "HDF5 gives no reason: rename unusual columns, or write CSV");
  }

 private:
  const files::OutputFile& file_;
  Handle driver_;  // outlives the file
  Handle hdf5_;
};

Handle text_type(std::size_t bytes) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), bytes);
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

Handle type_of(const ColumnEncoding& encoding) {
  if (encoding.kind == ColumnEncoding::Kind::number) return {H5Tcopy(H5T_NATIVE_DOUBLE), H5Tclose};
  if (encoding.kind == ColumnEncoding::Kind::text) return text_type(encoding.value_bytes);
  const bool small = encoding.value_bytes == sizeof(std::int8_t);
  Handle type(H5Tenum_create(small ? H5T_NATIVE_INT8 : H5T_NATIVE_INT16), H5Tclose);
  std::int16_t value = 0;
  for (const std::string& text : encoding.texts) {
    const auto narrow = static_cast<std::int8_t>(value);
    const void* const at = small ? static_cast<const void*>(&narrow) : &value;
    if (H5Tenum_insert(type.get(), text.c_str(), at) < 0) return {};
    ++value;
  }
  return type;
}

}  // namespace

bool has_hdf5() noexcept {
  return true;
}

void begin_hdf5(files::OutputFile& file) {
  // After a failed allocation HDF5 may keep a file open, which it must not close at the end of the process.
  // If the process has used HDF5 before, this call fails, and the earlier setting remains.
  static_cast<void>(H5dont_atexit());
  const QuietHdf5 quiet;
  const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  H5Pset_link_creation_order(creation.get(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  Hdf5Output hdf5(file, [&](hid_t access) {
    return H5Fcreate(file.link().c_str(), H5F_ACC_TRUNC, creation.get(), access);
  });
  hdf5.close();
}

std::vector<std::int64_t> add_hdf5_columns(files::OutputFile& file, std::span<const NewColumn> columns,
                                           std::int64_t rows) {
  const QuietHdf5 quiet;
  Hdf5Output hdf5(file, [&](hid_t access) { return H5Fopen(file.link().c_str(), H5F_ACC_RDWR, access); });
  const Handle link(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_char_encoding(link.get(), H5T_CSET_UTF8);
  // The values' storage is allocated at once, but not written.
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_layout(creation.get(), H5D_CONTIGUOUS);
  H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
  H5Pset_obj_track_times(creation.get(), false);  // reproducible files
  std::vector<std::int64_t> places;
  for (const NewColumn& column : columns) {
    const Handle type = hdf5.valid(type_of(column.encoding));
    const std::array extents{static_cast<hsize_t>(rows), static_cast<hsize_t>(column.width)};
    const Handle space(H5Screate_simple(column.width > 0 ? 2 : 1, extents.data(), nullptr), H5Sclose);
    const Handle dataset = hdf5.valid(Handle(H5Dcreate2(hdf5.get(), column.name.c_str(), type.get(),
                                                        space.get(), link.get(), creation.get(), H5P_DEFAULT),
                                             H5Dclose));
    const haddr_t place = H5Dget_offset(dataset.get());
    if (place == HADDR_UNDEF) hdf5.fail();
    places.push_back(static_cast<std::int64_t>(place));
  }
  hdf5.close();
  return places;
}

void add_hdf5_texts(files::OutputFile& file, std::span<const NewText> texts) {
  const QuietHdf5 quiet;
  Hdf5Output hdf5(file, [&](hid_t access) { return H5Fopen(file.link().c_str(), H5F_ACC_RDWR, access); });
  const Handle scalar(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(creation.get(), false);
  for (const NewText& one : texts) {
    if (one.text.empty()) continue;
    const Handle type = hdf5.valid(text_type(one.text.size()));
    if (one.as == NewText::As::dataset) {
      const Handle dataset =
          hdf5.valid(Handle(H5Dcreate2(hdf5.get(), one.name.c_str(), type.get(), scalar.get(), H5P_DEFAULT,
                                       creation.get(), H5P_DEFAULT),
                            H5Dclose));
      if (H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, one.text.data()) < 0)
        hdf5.fail();
      continue;
    }
    const Handle attribute = hdf5.valid(
        Handle(H5Acreate2(hdf5.get(), one.name.c_str(), type.get(), scalar.get(), H5P_DEFAULT, H5P_DEFAULT),
               H5Aclose));
    if (H5Awrite(attribute.get(), type.get(), one.text.data()) < 0) hdf5.fail();
  }
  hdf5.close();
}

std::string problem_of_hdf5_name(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return "has a '/', which separates names in HDF5: rename the column";
  if (name.empty()) return "has no name: name the column";
  return name == "." ? "has a name that HDF5 reserves: rename the column" : "";
}

}  // namespace TESSERA_NAMESPACE::gam
