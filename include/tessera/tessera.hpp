// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything that an application needs.

#include <tessera/error.hpp>
#include <tessera/job/device_collectives.hpp>
#include <tessera/job/job.hpp>
#include <tessera/mpi/session.hpp>
#include <tessera/topology/probe.hpp>
#include <tessera/topology/simulate.hpp>
#include <tessera/version.hpp>
