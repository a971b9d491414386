# SPDX-License-Identifier: Apache-2.0
# Warnings and sanitizers of Tessera's own targets, as one interface target.
add_library(tessera_compile_options INTERFACE)
target_compile_options(tessera_compile_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion>
  # Sums must not depend on whether the compiler fuses a multiplication with an addition.
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
  # Nothing asks errno after a function of <cmath>, which may be taken out of a loop then.
  $<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno>
  $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
# The sources that a unity build puts together are included, and yet no headers, and what is local in one may have the
# name of what another has outside its functions.
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
  # libFuzzer is guided by what the code under test passes through. Its main function comes with the targets.
  target_compile_options(tessera_compile_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
  target_link_options(tessera_compile_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
