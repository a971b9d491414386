# SPDX-License-Identifier: Apache-2.0
# Runs LAUNCH PROGRAM with TESSERA_FAULT=FAULT ("none": unset) and fails unless it ends with EXIT_STATUS,
# within a minute, and exactly one line of its output matches LINE.
if(FAULT STREQUAL "none")
  unset(ENV{TESSERA_FAULT})
else()
  set(ENV{TESSERA_FAULT} ${FAULT})
endif()
execute_process(COMMAND ${LAUNCH} ${PROGRAM} TIMEOUT 60
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")
if(NOT status STREQUAL EXIT_STATUS)
  message(FATAL_ERROR "the job ended with \"${status}\", not ${EXIT_STATUS}")
endif()
string(REGEX MATCHALL "${LINE}" matches "${output}")
list(LENGTH matches count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "${count} lines match: ${LINE}")
endif()
