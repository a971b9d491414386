// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/arrow.hpp>

#include <cstdint>
#include <string>

namespace TESSERA_NAMESPACE::gam {

/// Memory layout of an array's values, and their meaning in a table.
struct ArrowType {
  enum class Kind : std::uint8_t {
    boolean,  ///< one bit each
    integer,
    unsigned_integer,
    real,
    text,      ///< offsets into one buffer
    text_view  ///< of 16 bytes, which hold a short text or refer to one of many buffers
  };
  Kind kind = Kind::real;
  int bytes = 0;        ///< size of a number, or of an offset
  double per_unit = 1;  ///< units per second of a timestamp

  [[nodiscard]] bool is_text() const noexcept { return kind == Kind::text || kind == Kind::text_view; }
  [[nodiscard]] bool is_integer() const noexcept {
    return kind == Kind::integer || kind == Kind::unsigned_integer;
  }
};

/// The type of a column, or of a dictionary's indices or values. Throws `Error(input)` for an unsupported
/// type. `what` names the column in messages.
[[nodiscard]] ArrowType arrow_type(const ArrowSchema& schema, const std::string& what);

}  // namespace TESSERA_NAMESPACE::gam
