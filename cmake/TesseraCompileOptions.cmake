# SPDX-License-Identifier: Apache-2.0
# Compile options of Tessera's own targets, as an interface target.
add_library(tessera_compile_options INTERFACE)
target_compile_options(tessera_compile_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion>
  # For reproducible sums: no fused multiply-add at the compiler's discretion.
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
  # No code reads errno of <cmath> functions. Without errno, calls can be moved out of loops.
  $<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno>
  $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
# In a unity build, a local name in one source may shadow a global name of another.
if(CMAKE_UNITY_BUILD)
  target_compile_options(tessera_compile_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow;$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>>)
endif()
if(TESSERA_SANITIZE)
  target_compile_options(tessera_compile_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TESSERA_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>)
  target_link_options(tessera_compile_options INTERFACE -fsanitize=${TESSERA_SANITIZE})
endif()
if(TESSERA_ENABLE_FUZZERS)
  # Coverage instrumentation for libFuzzer. Fuzz targets link its main function.
  target_compile_options(tessera_compile_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
  target_link_options(tessera_compile_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
