// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "files/input_file.hpp"
#include "files/standard_error.hpp"
#include "files/standard_output.hpp"

namespace tessera::apps {

using files::flush_output;
using files::keep_logs_harmless;
using files::read_text;
using files::say;
using files::say_line;
using files::say_raw;
using files::write_output;

}  // namespace tessera::apps
