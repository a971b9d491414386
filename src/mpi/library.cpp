// SPDX-License-Identifier: Apache-2.0
#include <tessera/mpi/library.hpp>

#include "base/text.hpp"
#include "mpi/lifetime.hpp"

#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <algorithm>
#include <array>

namespace TESSERA_NAMESPACE::mpi {
namespace {

/// The version's first line, up to a comma.
std::string version_of_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string_view line(text.data());
  line = base::trimmed(line.substr(0, line.find_first_of("\n,")));
  std::string version(line);
  std::ranges::replace(version, '\t', ' ');
  return version;
}

std::string_view thread_level() {
  if (!detail::is_initialised() || detail::is_finalised()) return {};
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  switch (level) {
    case MPI_THREAD_SINGLE: return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED: return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED: return "MPI_THREAD_SERIALIZED";
    default: return "MPI_THREAD_MULTIPLE";
  }
}

std::optional<bool> takes_device_memory() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)  // Open MPI
  return MPIX_Query_cuda_support() == 1;
#elif defined(MPIX_GPU_SUPPORT_CUDA)  // MPICH
  int supported = 0;
  if (MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &supported) == MPI_SUCCESS) return supported != 0;
#endif
  return std::nullopt;
}

}  // namespace

LibraryInfo library_info() {
  return {version_of_library(), thread_level(), takes_device_memory()};
}

}  // namespace TESSERA_NAMESPACE::mpi
