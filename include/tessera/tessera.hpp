// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Includes every header that an application needs, except the component `gam` (<tessera/gam/gam.hpp>).
///
/// Terms of these headers:
/// - unit: one item of the data of a job, such as a row; units are numbered from 0 over all ranks;
/// - block: consecutive units that are never divided between devices, parts or threads;
/// - plan: the assignment of all units to ranks and their devices (`Plan`);
/// - tile: the consecutive units that a plan assigns to one device;
/// - device function, host function: callbacks that compute a tile on its device, or blocks on a host thread;
/// - pass: one call of `Job::map`, `scatter`, `reduce` or `update`, which computes all units of a plan;
/// - vote: an allreduce by which all ranks agree whether a pass has succeeded;
/// - fallback: after a device fails, host functions compute the pass, and all later passes of the job;
/// - claim: the assignment of the GPUs of a node to its ranks, exclusive unless sharing is allowed;
/// - serial communicator: a communicator of this process only, without MPI.
///
/// A moved-from object may only be destroyed or assigned to. Its members throw `Error(usage)`, except that
/// `noexcept` members return an empty value (0 or null) or do nothing. Moved-from leases and buffers equal
/// default-constructed ones; plans and other values that hold vectors are empty.

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
