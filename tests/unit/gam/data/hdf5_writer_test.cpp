// SPDX-License-Identifier: Apache-2.0
#include "gam/data/hdf5/hdf5_writer.hpp"

#include "temporary_folder.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tessera/error.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

std::vector<NewColumn> many_columns() {
  std::vector<NewColumn> columns;
  for (int i = 0; i < 300; ++i) columns.push_back({"column " + std::to_string(i), {}});
  return columns;
}

/// From now on no file of this process may exceed this size.
void limit_files(rlim_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

/// The error if a file has room for only this many bytes; the process ends like others that use HDF5.
void write_with_room_for(const std::string& path, rlim_t bytes, bool at_first) {
  H5open();  // as another library would, so that HDF5 closes open files at its end
  files::OutputFile file(path);
  try {
    if (at_first) limit_files(bytes);
    begin_hdf5(file);
    limit_files(bytes);
    static_cast<void>(add_hdf5_columns(file, many_columns(), 1000));
  } catch (const Error& error) {
    std::fputs(error.what(), stderr);
    std::exit(error.code() == ErrorCode::input ? 3 : 1);
  }
  std::exit(0);
}

TEST(Hdf5Writer, AFullDiskIsAnErrorAndNoCrashAtTheEndOfTheProcess) {
  const TemporaryFolder folder;
  const std::string path = (folder / "t.h5").string();
  for (const rlim_t bytes : {100, 1000, 10'000, 40'000}) {
    SCOPED_TRACE(bytes);
    EXPECT_EXIT(write_with_room_for(path, bytes, bytes <= 100), ::testing::ExitedWithCode(3),
                "t.h5: cannot be written: File too large");
  }
  EXPECT_EXIT(write_with_room_for(path, RLIM_INFINITY, true), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
