# SPDX-License-Identifier: Apache-2.0
# Warnings and sanitizers of Tessera's own targets, as one interface target.
add_library(tessera_compile_options INTERFACE)
target_compile_options(tessera_compile_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion>
  # Sums must not depend on whether the compiler fuses a multiplication with an addition.
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
  # No code reads errno after a function of <cmath>: calls may then be moved out of loops.
  $<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno>
  $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
# A unity build includes sources, so that a local name in one may hide a global name of another: no warnings.
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
  # libFuzzer is guided by the coverage of the code under test. Its main function comes with the targets.
  target_compile_options(tessera_compile_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
  target_link_options(tessera_compile_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
