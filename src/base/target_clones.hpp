// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Compiles a function for AVX2 too; the loader selects the version for the processor. Both give the same
/// bits, because products and sums are not fused.
///
/// Has no effect under ThreadSanitizer: it instruments the resolver, which the linker calls before the
/// sanitizer has started.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_THREAD__)
#define TESSERA_TARGET_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define TESSERA_TARGET_CLONES
#endif
