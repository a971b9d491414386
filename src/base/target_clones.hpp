// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks a function to be compiled also for registers of four doubles, used if the processor has them.
/// Results have the same bits, since multiplications and additions stay separate.
///
/// Has no effect under ThreadSanitizer: it instruments the resolver, which the linker calls before the
/// sanitizer has started.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_THREAD__)
#define TESSERA_TARGET_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define TESSERA_TARGET_CLONES
#endif
