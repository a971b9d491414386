# SPDX-License-Identifier: Apache-2.0
# Runs PROGRAM on each number of RANKS with the command LAUNCH. Fails unless all outputs are equal and contain EXPECT.
cmake_minimum_required(VERSION 3.25)
foreach(ranks IN LISTS RANKS)
  execute_process(COMMAND ${LAUNCH} ${ranks} ${PROGRAM} OUTPUT_VARIABLE output ECHO_OUTPUT_VARIABLE
    COMMAND_ERROR_IS_FATAL ANY)
  if(NOT output MATCHES "${EXPECT}")
    message(FATAL_ERROR "${PROGRAM} on ${ranks} ranks printed no ${EXPECT}")
  endif()
  if(NOT DEFINED first)
    set(first "${output}")
  elseif(NOT output STREQUAL first)
    message(FATAL_ERROR "${PROGRAM} prints something else on ${ranks} ranks")
  endif()
endforeach()
