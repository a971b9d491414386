// SPDX-License-Identifier: Apache-2.0
#include "topology/linux/host_identity.hpp"

#include <unistd.h>

#include <array>

#include "topology/linux/linux_files.hpp"

namespace TESSERA_NAMESPACE::detail {

std::string this_hostname() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string this_boot_id() {
  return first_line("/proc/sys/kernel/random/boot_id");
}

}  // namespace TESSERA_NAMESPACE::detail
