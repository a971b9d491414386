// SPDX-License-Identifier: Apache-2.0
// Tables in HDF5 made according to an input, with types, layouts and extents that a file may have, including
// unsupported ones: exactly the content of the file is read.
//
// HDF5 itself parses the bytes of a file, and is fuzzed elsewhere; here this program's handling is tested.
#include "gam/data/frame/frame_builder.hpp"
#include "gam/data/hdf5/hdf5_columns.hpp"

#include <hdf5.h>

#include <utility>
#include <vector>

#include "files/input_file.hpp"
#include "fuzz_target.hpp"

namespace {

using namespace tessera;
using namespace tessera::gam;
using fuzz::refusal;
using fuzz::require;
using fuzz::take_byte;

/// A dataset that is a column, with its written values.
struct Written {
  std::string name;
  bool is_there = false;  ///< HDF5 has made it
  bool is_column = false;
  hsize_t rows = 0;
  bool has_numbers = false;
};

const std::string& path() {
  static const fuzz::InputFolder folder;
  static const std::string name = folder / "a.h5";
  return name;
}

Handle type_of(unsigned choice) {
  switch (choice % 10) {
    case 0: return {H5Tcopy(H5T_STD_I8LE), H5Tclose};
    case 1: return {H5Tcopy(H5T_STD_U64BE), H5Tclose};
    case 2: return {H5Tcopy(H5T_IEEE_F32LE), H5Tclose};
    case 3: return {H5Tcopy(H5T_IEEE_F64BE), H5Tclose};
    case 4:
    case 5: {
      Handle text(H5Tcopy(H5T_C_S1), H5Tclose);
      H5Tset_size(text.get(), choice % 10 == 4 ? H5T_VARIABLE : 1 + choice);
      if (choice > 128) H5Tset_strpad(text.get(), H5T_STR_SPACEPAD);
      return text;
    }
    case 6: {
      Handle levels(H5Tenum_create(H5T_STD_I16LE), H5Tclose);
      for (const std::int16_t value : std::initializer_list<std::int16_t>{0, 1, 7})
        H5Tenum_insert(levels.get(), ("level" + std::to_string(value)).c_str(), &value);
      return levels;
    }
    case 7: {
      Handle pair(H5Tcreate(H5T_COMPOUND, 8), H5Tclose);
      H5Tinsert(pair.get(), "a", 0, H5T_NATIVE_INT);
      return pair;
    }
    case 8: return {H5Tcreate(H5T_OPAQUE, 1 + choice), H5Tclose};
    default: {
      const hsize_t two = 2;
      return {H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, &two), H5Tclose};
    }
  }
}

/// Small extents, and some that only a header can have.
hsize_t extent_of(unsigned choice) {
  constexpr hsize_t large[] = {hsize_t{1} << 31, hsize_t{1} << 40, 1'000'000'000'000'000'000,
                               (hsize_t{1} << 63) - 1};
  return choice < 240 ? choice % 40 : large[choice % 4];
}

Written add_dataset(hid_t file, std::string name, std::string_view& input) {
  Written written{std::move(name)};
  const unsigned type_choice = take_byte(input);
  const Handle type = type_of(type_choice);
  const unsigned shape = take_byte(input);
  const unsigned layout = take_byte(input);
  written.rows = extent_of(take_byte(input));
  const bool filled = take_byte(input) % 4 != 0;
  const hsize_t extents[] = {written.rows, 3};
  const int dimensions = shape % 8 == 0 ? 2 : 1;
  const Handle space(shape % 8 == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(dimensions, extents, nullptr),
                     H5Sclose);
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  bool in_file = true;
  switch (layout % 6) {
    case 0: H5Pset_layout(creation.get(), H5D_COMPACT); break;
    case 1:
    case 2: {
      const hsize_t chunk[] = {1 + layout / 6, 1};
      H5Pset_chunk(creation.get(), dimensions, chunk);
      if (layout % 6 == 2) H5Pset_deflate(creation.get(), 1);
      break;
    }
    case 3:
      in_file = false;
      H5Pset_external(creation.get(), "/etc/passwd", 0, H5F_UNLIMITED);
      break;
    default: break;
  }
  if (layout % 3 == 0) H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_LATE);
  const Handle dataset(H5Dcreate2(file, written.name.c_str(), type.get(), space.get(), H5P_DEFAULT,
                                  creation.get(), H5P_DEFAULT),
                       H5Dclose);
  written.is_there = dataset.valid();
  if (!written.is_there) return written;
  written.has_numbers = type_choice % 10 < 4 && shape % 8 > 1;
  if (!written.has_numbers || !filled || written.rows == 0 || written.rows > 40 || !in_file) return written;
  std::vector<double> values;
  for (hsize_t i = 0; i < written.rows; ++i) values.push_back(static_cast<double>(i));
  written.is_column =
      H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0;
  return written;
}

std::vector<Written> make_file(std::string_view input) {
  std::vector<Written> all;
  const Handle file(H5Fcreate(path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  require(file.valid(), "a file");
  while (!input.empty() && all.size() < 6) {
    const std::string name = "c" + std::to_string(all.size());
    switch (take_byte(input) % 8) {
      case 0: H5Lcreate_soft("/c0", file.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT); break;
      case 1:
        H5Lcreate_external("/etc/passwd", "/", file.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
        break;
      case 2:
        Handle(H5Gcreate2(file.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
        break;
      case 3: {
        // A name of any bytes.
        std::string any(input.substr(0, 5));
        input.remove_prefix(any.size());
        any = any.substr(0, any.find('\0'));
        if (!any.empty() && any.find('/') == std::string::npos && any[0] != '.' && any[0] != 'c')
          all.push_back(add_dataset(file.get(), any, input));
        break;
      }
      default: all.push_back(add_dataset(file.get(), name, input));
    }
    if (all.empty() || all.back().name != name) all.push_back({name});
  }
  return all;
}

/// One thread: HDF5 reads on one thread at a time.
HostTeam alone(1);

void read(hid_t hdf5, const files::InputFile& file, const Hdf5Contents& contents, const ReadPlan& plan,
          FrameBuilder& builder) {
  std::atomic<std::int64_t> bytes = 0;
  builder.read(*scan_hdf5({hdf5, file, contents, 7, {}, bytes}, plan, alone.size()));
}

void check_values(hid_t hdf5, const files::InputFile& file, const Hdf5Contents& contents,
                  const Written& column) {
  FrameRequest request;
  request.variables.push_back(column_expression(column.name));
  const ReadPlan plan(request, contents.columns, "a.h5");
  const Range rows{0, contents.rows};
  FrameBuilder builder(plan, rows, alone);
  read(hdf5, file, contents, plan, builder);
  require(builder.counts()[0].numbers == contents.rows,
          "every number that was written is read:", column.name);
}

void read_file(const std::vector<Written>& written) {
  const files::InputFile opened(path());
  const Handle file = open_hdf5_file(opened);
  const Hdf5Contents contents = contents_of(file.get(), "a.h5");
  require(contents.rows > 0 && !contents.columns.empty(), "a table has rows and columns");
  for (const std::string& name : contents.columns) {
    for (const Written& one : written) {
      if (one.name != name || !one.is_there) continue;
      require(static_cast<hsize_t>(contents.rows) == one.rows, "as many rows as the dataset has:", name);
      if (one.is_column) check_values(file.get(), opened, contents, one);
    }
    // Others are read, or the reason is given.
    static_cast<void>(refusal(
        [&] {
          FrameRequest request;
          request.variables.push_back(column_expression(name));
          ReadPlan plan(request, contents.columns, "a.h5");
          plan.column(0).text = true;
          const Range rows{0, std::min<std::int64_t>(contents.rows, 1000)};
          FrameBuilder builder(plan, rows, alone);
          read(file.get(), opened, contents, plan, builder);
        },
        {ErrorCode::input}));
  }
  H5G_info_t root{};
  H5Gget_info(file.get(), &root);
  require(contents.columns.size() + contents.unusable.size() == root.nlinks,
          "what is no column has a reason why");
  for (const Written& one : written)
    require(!one.is_column || std::find(contents.columns.begin(), contents.columns.end(), one.name) !=
                                  contents.columns.end(),
            "what was written is a column:", one.name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const QuietHdf5 quiet;
  const std::vector<Written> written = make_file(fuzz::text_of(data, size));
  static_cast<void>(refusal([&] { read_file(written); }, {ErrorCode::input}));
  return 0;
}
