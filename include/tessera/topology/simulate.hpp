// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>
#include <tessera/version.hpp>

#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE {

/// The simulated devices that `text` gives to `rank`, in the syntax of TESSERA_SIMULATE:
///
///     rank0:2xH200; rank1:T4; *:A100+T4    // rank 0: two H200; rank 1: a T4; others: an A100 and a T4
///     *:H200@node                          // one H200 that all ranks of the node see
///
/// Entries are separated by `;`; each is `rankN` or `*`, a colon, and models joined by `+` with an optional
/// count `Nx`. `rank` is the rank in MPI_COMM_WORLD, whatever the job's communicator is. Without `@node` a
/// device belongs to one rank. With `@node` at the end of an entry, the n-th device of this entry has the
/// same UUID on all ranks of a node. Models: H200, H100, A100, L40S, V100, T4. The first entry that matches
/// the rank is used; a rank that no entry matches has no device. Every rank parses all entries, so that an
/// error is the same on every rank. An empty TESSERA_SIMULATE counts as unset.
///
/// Only the computation is simulated, by host functions; inventory, claim, plan and verdict are as with real
/// devices. Throws `Error(usage)` naming the invalid entry.
[[nodiscard]] TESSERA_EXPORT std::vector<DeviceInfo> simulated_devices(std::string_view text, int rank);

}  // namespace TESSERA_NAMESPACE
