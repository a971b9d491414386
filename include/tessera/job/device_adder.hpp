// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/reproducible_sum.hpp>
#include <tessera/job/tile.hpp>
#include <tessera/version.hpp>

#include <cstdint>

namespace TESSERA_NAMESPACE {

/// Adds vectors in device memory to the sum of a reduction (`Job::reduce`), on the device: only 40 bytes per
/// element are copied to the host, however many vectors are added.
///
///     block_sums<<<…>>>(values, sums);                       // a vector of `sum.width()` per block
///     tessera::add_on_device(tile, sum, sums, blocks);
///
/// `summands` has `count` vectors of `sum.width()` doubles, one after another, in the device's memory,
/// written by work on `Tile::stream`. The vectors are added on that stream; their memory may be reused on
/// return. The result has the same bits as that of `ReproducibleSum::add` on the host. If kernels cannot be
/// compiled (no NVRTC), the vectors are copied to the host and added there. Call it in a device function, on
/// the function's own thread. Throws `Error(usage)` for a negative `count`, and `Error(job_fault)` if the
/// device fails. Waits for the stream. Memory: up to 1.4 MB of the tile's arena, and 40 bytes per element.
/// Cost: reading the vectors at memory bandwidth, and ten to twenty microseconds; the first call in a process
/// loads the kernels, and compiles them in about a second if no cache has them.
TESSERA_EXPORT void add_on_device(Tile& tile, ReproducibleSum& sum, const double* summands,
                                  std::int64_t count);

}  // namespace TESSERA_NAMESPACE
