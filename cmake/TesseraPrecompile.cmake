# SPDX-License-Identifier: Apache-2.0
# Precompiled headers. Most of a source's compile time goes into headers of the standard library.
# tessera_precompile(target [header...]) compiles the headers that most sources include, and the given ones, once for
# all sources of the target. Sources still include what they use: there are no precompiled headers with ccache, which
# caches no object compiled with them, or with CMAKE_DISABLE_PRECOMPILE_HEADERS.
if(CMAKE_CXX_COMPILER_LAUNCHER AND NOT DEFINED CMAKE_DISABLE_PRECOMPILE_HEADERS)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
# With precompiled headers GCC (12 and 13) gives false warnings about inlined functions of the standard library.
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
