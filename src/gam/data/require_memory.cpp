// SPDX-License-Identifier: Apache-2.0
#include "gam/data/require_memory.hpp"

#include "base/errors.hpp"

#include <tessera/topology/memory_shortage.hpp>

#include <algorithm>
#include <cstdint>

namespace TESSERA_NAMESPACE::gam {

void require_memory(const mpi::Communicator& comm, double numbers, std::string_view what) {
  constexpr double negligible = 1 << 20;
  constexpr double most_bytes = 1e18;
  if (numbers <= negligible) return;
  const double bytes = std::min(numbers / comm.size() * sizeof(double), most_bytes);
  if (const auto shortage = find_memory_shortage(comm, static_cast<std::int64_t>(bytes)))
    throw base::input_error("{} {}", what, to_string(*shortage));
}

}  // namespace TESSERA_NAMESPACE::gam
