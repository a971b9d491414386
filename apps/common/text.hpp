// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/errors.hpp"
#include "base/list_text.hpp"
#include "base/message.hpp"
#include "base/number.hpp"
#include "base/pluralised.hpp"
#include "base/text.hpp"

/// Utilities of src/base, which the shared libraries do not export.
namespace tessera::apps {

using base::allgather_values;
using base::input_error;
using base::list_text;
using base::parse_number;
using base::pluralised;
using base::split;
using base::staying;
using base::trimmed;
using base::usage_error;

}  // namespace tessera::apps
