// SPDX-License-Identifier: Apache-2.0
#include "topology/linux/private_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace TESSERA_NAMESPACE::detail {

std::string problem_of_private_folder(const std::filesystem::path& folder) {
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0) return std::strerror(errno);
  if (!S_ISDIR(status.st_mode)) return "the path is not a folder";
  if (status.st_uid != geteuid()) return "the folder belongs to another user";
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) return "other users can access the folder";
  return {};
}

}  // namespace TESSERA_NAMESPACE::detail
