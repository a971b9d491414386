# SPDX-License-Identifier: Apache-2.0
# What the documents and recipes of ROOT say is what its files have.
file(READ ${ROOT}/README.md readme)

file(READ ${ROOT}/examples/squares/main.cpp code)
string(REGEX REPLACE "^// SPDX[^\n]*\n" "" code "${code}")
string(FIND "${readme}" "```cpp\n${code}```" place)
if(place EQUAL -1)
  message(FATAL_ERROR "README.md does not show examples/squares/main.cpp as it is: copy it there")
endif()

file(READ ${ROOT}/scripts/run-example script)
string(REGEX MATCH "--formula '[^']*'" formula "${script}")
string(FIND "${readme}" "${formula}" place)
if(formula STREQUAL "" OR place EQUAL -1)
  message(FATAL_ERROR "README.md does not show the formula of scripts/run-example")
endif()

file(READ ${ROOT}/CMakeLists.txt lists)
foreach(document IN ITEMS README.md spack/spack_repo/tessera/packages/tessera/package.py)
  file(READ ${ROOT}/${document} text)
  string(REGEX MATCHALL "TESSERA_(ENABLE_[A-Z]+|SANITIZE)" options "${text}")
  list(REMOVE_DUPLICATES options)
  foreach(option IN LISTS options)
    if(NOT lists MATCHES "(option|set)\\(${option} ")
      message(FATAL_ERROR "${document} speaks of ${option}, which is no option of CMakeLists.txt")
    endif()
  endforeach()
endforeach()

# A bracket would glue the elements of a CMake list together.
string(REPLACE "](" "link(" text "${readme}")
string(REGEX MATCHALL "link\\([^):]+\\)" links "${text}")
foreach(link IN LISTS links)
  string(REGEX REPLACE "^link\\(|\\)$" "" file "${link}")
  if(NOT EXISTS ${ROOT}/${file})
    message(FATAL_ERROR "README.md links to ${file}, which is not there")
  endif()
endforeach()
