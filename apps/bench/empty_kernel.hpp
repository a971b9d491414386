// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/stream.hpp>

namespace tessera::bench {

/// Launches a kernel that does nothing on the stream, whose device is current. Does not wait for it. Throws
/// `Error(job_fault)` if the launch fails, and in a build without CUDA.
void launch_empty_kernel(StreamView stream);

}  // namespace tessera::bench
