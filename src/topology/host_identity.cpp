// SPDX-License-Identifier: Apache-2.0
#include "topology/host_identity.hpp"

#include <unistd.h>

#include <array>
#include <fstream>

namespace tessera::detail {

std::string this_hostname() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string this_boot_id() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(in, id);
  return id;
}

}  // namespace tessera::detail
