# SPDX-License-Identifier: Apache-2.0
# Fails unless COMMAND (a list) ends with status 0 and its output matches the regular expression EXPECT.
execute_process(COMMAND ${COMMAND} OUTPUT_VARIABLE output ECHO_OUTPUT_VARIABLE COMMAND_ERROR_IS_FATAL ANY)
if(NOT output MATCHES "${EXPECT}")
  message(FATAL_ERROR "The output above does not match: ${EXPECT}")
endif()
