# SPDX-License-Identifier: Apache-2.0
# README.md shows examples/squares/main.cpp, whole but for its licence line, and the formula of run-example.
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
