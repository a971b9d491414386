# SPDX-License-Identifier: Apache-2.0
# A program outside of the source tree, built against the installed BUILD, fits a model without MPI.
file(REMOVE_RECURSE ${WORK})
foreach(command IN ITEMS "--install;${BUILD};--prefix;${WORK}/prefix"
    "-G;${GENERATOR};-S;${ROOT}/tests/alone/host;-B;${WORK}/host;-D;CMAKE_PREFIX_PATH=${WORK}/prefix;-D;CMAKE_C_COMPILER=${CC};-D;CMAKE_CXX_COMPILER=${CXX};-D;CMAKE_CXX_FLAGS=${FLAGS}"
    "--build;${WORK}/host")
  execute_process(COMMAND ${CMAKE_COMMAND} ${command} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND ldd ${WORK}/host/host OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${WORK}/host/host ${DATA} OUTPUT_VARIABLE summary COMMAND_ERROR_IS_FATAL ANY)
if(libraries MATCHES "libmpi|libhwloc" OR NOT summary MATCHES "s\\(lcarat\\)")
  message(FATAL_ERROR "${libraries}\n${summary}")
endif()
