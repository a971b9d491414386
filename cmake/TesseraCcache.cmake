# SPDX-License-Identifier: Apache-2.0
# With TESSERA_ENABLE_CCACHE everything is compiled through ccache, where it is installed: what has been compiled
# before, in whichever build tree, is taken from its cache. A launcher that the user has named is kept.
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
