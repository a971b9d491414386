// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counted.hpp"
#include "base/listed.hpp"
#include "base/number.hpp"
#include "base/pack.hpp"
#include "base/text.hpp"

/// What programs do with text: of the project's own utilities, which no library exports, those that they may
/// use beside the public headers.
namespace tessera::apps {

using base::counted;
using base::listed;
using base::pack;
using base::parse_number;
using base::split;
using base::staying;
using base::tight;
using base::trimmed;
using base::unpack;

}  // namespace tessera::apps
