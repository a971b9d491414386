// SPDX-License-Identifier: Apache-2.0

// Includes the header TESSERA_TEXT for each register width, in a separate namespace (see base/vectors.hpp).
// All functions of that header are marked TESSERA_TARGET. They must not inline functions of other headers
// that use vectors: GCC would lower those vectors to scalars before it knows the width. TESSERA_LANES is the
// width, for instructions that exist at one width only.
#define TESSERA_LANES 2
namespace lanes_2 {
using Wide = base::Vectors<2>;
using UpToFour = base::Vectors<2>;
#define TESSERA_TARGET inline
#include TESSERA_TEXT
#undef TESSERA_TARGET
#undef TESSERA_LANES
}  // namespace lanes_2
#ifdef __x86_64__
#define TESSERA_LANES 4
namespace lanes_4 {
using Wide = base::Vectors<4>;
using UpToFour = base::Vectors<4>;
#define TESSERA_TARGET inline __attribute__((target("avx2")))
#include TESSERA_TEXT
#undef TESSERA_TARGET
#undef TESSERA_LANES
}  // namespace lanes_4
#define TESSERA_LANES 8
namespace lanes_8 {
using Wide = base::Vectors<8>;
using UpToFour = base::Vectors<4>;
#define TESSERA_TARGET inline __attribute__((target("avx512f,avx512dq,avx512vl")))
#include TESSERA_TEXT
#undef TESSERA_TARGET
#undef TESSERA_LANES
}  // namespace lanes_8
#endif
#undef TESSERA_TEXT
