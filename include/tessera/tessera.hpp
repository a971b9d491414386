// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Includes everything that an application needs.
///
/// An object that was moved from may be destroyed and assigned to. Its members throw `Error(usage)`;
/// `noexcept` members return an empty value (a `size` of 0, null), or do nothing. Moved-from leases and
/// buffers equal default-constructed ones; plans and other values that hold vectors are empty.

#include <tessera/device/backend.hpp>
#include <tessera/device/cuda_library.hpp>
#include <tessera/device/trace.hpp>
#include <tessera/error.hpp>
#include <tessera/job/array.hpp>
#include <tessera/job/balancer.hpp>
#include <tessera/job/checkpoint.hpp>
#include <tessera/job/device_adder.hpp>
#include <tessera/job/device_collectives.hpp>
#include <tessera/job/device_turn.hpp>
#include <tessera/job/exercise.hpp>
#include <tessera/job/job.hpp>
#include <tessera/job/stop_request.hpp>
#include <tessera/job/together.hpp>
#include <tessera/memory/arena.hpp>
#include <tessera/memory/pinned.hpp>
#include <tessera/memory/workspace_pool.hpp>
#include <tessera/mpi/exit_guard.hpp>
#include <tessera/mpi/launcher.hpp>
#include <tessera/mpi/session.hpp>
#include <tessera/printable.hpp>
#include <tessera/topology/memory_shortage.hpp>
#include <tessera/topology/probe.hpp>
#include <tessera/topology/simulate.hpp>
#include <tessera/version.hpp>
