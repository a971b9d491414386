// SPDX-License-Identifier: Apache-2.0
#include "mpi/exception_message.hpp"

namespace TESSERA_NAMESPACE {

std::string reason_of(const std::exception_ptr& thrown) noexcept {
  try {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      const char* const text = error.what();
      return text != nullptr ? text : "an exception without a text";
    } catch (...) {
      return "an exception that is not a std::exception";
    }
  } catch (...) {
    return "out of memory";  // short enough to need no allocation
  }
}

}  // namespace TESSERA_NAMESPACE
