// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/kernel_compiler.hpp>

namespace TESSERA_NAMESPACE {

std::vector<NamedHeader> standard_headers() {
  return {{"cstddef", R"(#pragma once
namespace std {
using size_t = decltype(sizeof 0);
using ptrdiff_t = decltype(static_cast<char*>(nullptr) - static_cast<char*>(nullptr));
}
)"},
          {"cstdint", R"(#pragma once
namespace std {
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned;
using uint64_t = unsigned long;
static_assert(sizeof(int64_t) == 8, "long has 64 bits where Tessera runs");
}
)"},
          {"limits", R"(#pragma once
namespace std {
template <class T>
struct numeric_limits;
template <>
struct numeric_limits<double> {
  static constexpr double max() { return 1.7976931348623157e308; }
  static constexpr double epsilon() { return 2.220446049250313e-16; }
  static constexpr double infinity() { return __builtin_bit_cast(double, 0x7ff0000000000000ul); }
  static constexpr double quiet_NaN() { return __builtin_bit_cast(double, 0x7ff8000000000000ul); }
};
template <>
struct numeric_limits<int> {
  static constexpr int max() { return 2147483647; }
};
}
)"},
          {"bit", R"(#pragma once
namespace std {
template <class To, class From>
constexpr To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}
template <class T>
constexpr int bit_width(T value) {
  static_assert(T(-1) > T(0), "bit_width is of unsigned numbers");
  int width = 0;
  for (; value != 0; value >>= 1) ++width;
  return width;
}
}
)"},
          {"cmath", R"(#pragma once
namespace std {
using ::exp;
using ::floor;
using ::log;
using ::sqrt;
}
)"}};
}

}  // namespace TESSERA_NAMESPACE
