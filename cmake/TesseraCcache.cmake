# SPDX-License-Identifier: Apache-2.0
# With TESSERA_ENABLE_CCACHE, compiles with ccache, if installed. Keeps a compiler launcher that the user has set.
if(TESSERA_ENABLE_CCACHE)
  find_program(TESSERA_CCACHE ccache)
  mark_as_advanced(TESSERA_CCACHE)
  if(TESSERA_CCACHE)
    foreach(language IN ITEMS C CXX CUDA)
      if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
        set(CMAKE_${language}_COMPILER_LAUNCHER ${TESSERA_CCACHE})
      endif()
    endforeach()
  endif()
endif()
