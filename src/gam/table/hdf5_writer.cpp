// SPDX-License-Identifier: Apache-2.0
#include "gam/table/hdf5_writer.hpp"

#include "gam/table/hdf5_storage.hpp"

#include <tessera/error.hpp>

#include <fmt/format.h>

namespace tessera::gam {
namespace {

[[noreturn]] void fail(const files::OutputFile& file) {
  throw Error(
      ErrorCode::input,
      fmt::format("{}: HDF5 cannot write its description of the columns; is there room?", file.path()));
}

/// A handle that HDF5 gave.
Handle valid(Handle handle, const files::OutputFile& file) {
  if (!handle.valid()) fail(file);
  return handle;
}

/// How the file is opened: the temporary one is under a lock of its owner already.
Handle access_of() {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_sec2(access.get());
#if H5_VERSION_GE(1, 10, 7)
  H5Pset_file_locking(access.get(), false, true);
#endif
  return access;
}

// HDF5 writes what it holds when a file is closed.
void close(Handle& hdf5, const files::OutputFile& file) {
  if (H5Fclose(hdf5.release()) < 0) fail(file);
}

Handle type_of(const ColumnEncoding& encoding) {
  if (encoding.kind == ColumnEncoding::Kind::number) return {H5Tcopy(H5T_NATIVE_DOUBLE), H5Tclose};
  if (encoding.kind == ColumnEncoding::Kind::text) {
    Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), encoding.value_bytes);
    H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
    H5Tset_cset(type.get(), H5T_CSET_UTF8);
    return type;
  }
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
  // A file that could not be closed, as where the disk is full, crashes HDF5 1.10 when it closes what is open
  // at the end of the process: nothing is. It refuses if it was used before, and then as before.
  static_cast<void>(H5dont_atexit());
  const QuietHdf5 quiet;
  const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  H5Pset_link_creation_order(creation.get(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  const Handle access = access_of();
  Handle hdf5 = valid(
      Handle(H5Fcreate(file.link().c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose), file);
  close(hdf5, file);
}

std::vector<std::int64_t> add_hdf5_columns(files::OutputFile& file, std::span<const NewColumn> columns,
                                           std::int64_t rows) {
  const QuietHdf5 quiet;
  const Handle access = access_of();
  Handle hdf5 = valid(Handle(H5Fopen(file.link().c_str(), H5F_ACC_RDWR, access.get()), H5Fclose), file);
  const auto count = static_cast<hsize_t>(rows);
  const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  const Handle link(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_char_encoding(link.get(), H5T_CSET_UTF8);
  // The values have a place at once, where nothing is written before they are.
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_layout(creation.get(), H5D_CONTIGUOUS);
  H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
  H5Pset_obj_track_times(creation.get(), false);  // the same table is the same file
  std::vector<std::int64_t> places;
  for (const NewColumn& column : columns) {
    const Handle type = valid(type_of(column.encoding), file);
    const Handle dataset = valid(Handle(H5Dcreate2(hdf5.get(), column.name.c_str(), type.get(), space.get(),
                                                   link.get(), creation.get(), H5P_DEFAULT),
                                        H5Dclose),
                                 file);
    const haddr_t place = H5Dget_offset(dataset.get());
    if (place == HADDR_UNDEF) fail(file);
    places.push_back(static_cast<std::int64_t>(place));
  }
  close(hdf5, file);
  return places;
}

std::string problem_of_hdf5_name(const std::string& name) {
  if (name.find('/') != std::string::npos) return "has a '/', which stands between names in HDF5: rename it";
  if (name.empty()) return "has none: give it a name";
  return name == "." ? "has a name that HDF5 keeps for itself: rename it" : "";
}

}  // namespace tessera::gam
