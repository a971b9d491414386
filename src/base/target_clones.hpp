// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A function that is compiled for registers of four doubles as well, which is called where the processor has
/// them. Multiplications and additions are those of two registers of two: the bits are the same.
///
/// Not under ThreadSanitizer, which instruments the choice: the linker makes it before that has started.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_THREAD__)
#define TESSERA_TARGET_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define TESSERA_TARGET_CLONES
#endif
