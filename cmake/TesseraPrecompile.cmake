# SPDX-License-Identifier: Apache-2.0
# Most of the time that a source takes to compile goes into headers of the standard library.
# tessera_precompile(target [header...]) parses those that most sources include, and the given ones, once for all
# sources of the target. Sources still include what they use: builds through ccache, which keeps no object that
# was made with them, and those with CMAKE_DISABLE_PRECOMPILE_HEADERS do without.
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
