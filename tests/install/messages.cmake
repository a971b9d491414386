# SPDX-License-Identifier: Apache-2.0
# Fails if a message of the engine in ROOT writes an option as on a command line: C, Python and R users see it too.
# Options are named by their keys. Writes all error and note texts of the sources to WORK/messages.txt, for reading.
cmake_policy(VERSION 3.25)
set(exceptions
  src/gam/data/source/known_files.cpp  # commands of other programs
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

set(table "")
file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/src/*.?pp ${ROOT}/apps/*.?pp)
foreach(source IN LISTS sources)
  file(READ ${ROOT}/${source} text)
  string(REPLACE ";" "@" text "${text}") # which ends an element of a list, as brackets hide one
  string(REGEX REPLACE "[][]" "|" text "${text}")
  string(REGEX MATCHALL "([Ee]rror|refuse|note|complain|remarks.push_back)[(][^@]*\"[^@]*" calls "${text}")
  foreach(call IN LISTS calls)
    string(REGEX MATCHALL "\"([^\"\\]|\\\\.)*\"" words "${call}")
    list(JOIN words " " said)
    string(REPLACE "\" \"" "" said "${said}")
    if(said)
      string(APPEND table "${source}: ${said}\n")
    endif()
  endforeach()
endforeach()
string(REGEX MATCHALL "\n" lines "${table}")
list(LENGTH lines count)
if(count LESS 500)
  message(FATAL_ERROR "only ${count} messages were found: the pattern is wrong")
endif()
file(WRITE ${WORK}/messages.txt "${table}")
message(STATUS "${count} messages in ${WORK}/messages.txt")
