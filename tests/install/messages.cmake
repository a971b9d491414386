# SPDX-License-Identifier: Apache-2.0
# Fails if a text of the engine in ROOT spells an option as a command line does: C, Python and R hear it too. An option is
# named by its key.
cmake_policy(VERSION 3.25)
set(exceptions
  src/gam/report/page.cpp         # a page names the program that makes it
  src/gam/report/figures.cpp      # CSS
  src/gam/rows/kernel_source.cpp) # options of NVRTC
set(spells "\"[^\"]*--[a-z]")
set(found "")
foreach(folder IN ITEMS src/gam include/tessera/gam)
  file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/${folder}/*.hpp ${ROOT}/${folder}/*.cpp)
  foreach(source IN LISTS sources)
    file(STRINGS ${ROOT}/${source} lines REGEX "${spells}")
    list(FILTER lines EXCLUDE REGEX "^ *//")
    if(source IN_LIST exceptions)
      if(NOT lines)
        message(FATAL_ERROR "${source} spells no option: the list of exceptions is wrong, or the pattern")
      endif()
    elseif(lines)
      string(APPEND found "\n${source}: ${lines}")
    endif()
  endforeach()
endforeach()
if(found)
  message(FATAL_ERROR "options spelt as on a command line:${found}")
endif()
