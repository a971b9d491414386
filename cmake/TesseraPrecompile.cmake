# SPDX-License-Identifier: Apache-2.0
# tessera_precompile(target [header...]): precompiles common headers of the standard library, which take most of the
# compile time, and the given headers. Sources must still include what they use, because there are no precompiled
# headers with ccache, which cannot cache such objects, or with CMAKE_DISABLE_PRECOMPILE_HEADERS.
if(CMAKE_CXX_COMPILER_LAUNCHER AND NOT DEFINED CMAKE_DISABLE_PRECOMPILE_HEADERS)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
# With precompiled headers, GCC 12 and 13 emit false warnings about inlined functions of the standard library.
if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(tessera_compile_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>)
endif()

function(tessera_precompile target)
  set(headers algorithm array atomic chrono cmath cstddef cstdint cstdlib cstring exception filesystem functional limits map
    memory mutex optional span stdexcept string string_view thread utility vector ${ARGN})
  list(TRANSFORM headers REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
  target_precompile_headers(${target} PRIVATE ${headers})
endfunction()
