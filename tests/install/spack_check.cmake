# SPDX-License-Identifier: Apache-2.0
# The test that the Spack recipe in ROOT runs by name is one of the build in BUILD.
file(READ ${ROOT}/spack/spack_repo/tessera/packages/tessera/package.py recipe)
if(NOT recipe MATCHES "\"-R\", r\"([^\"]+)\"")
  message(FATAL_ERROR "The recipe runs no test by name")
endif()
set(name "${CMAKE_MATCH_1}")
execute_process(COMMAND ${CTEST} -N -R "${name}" WORKING_DIRECTORY ${BUILD} OUTPUT_VARIABLE tests COMMAND_ERROR_IS_FATAL ANY)
if(NOT tests MATCHES "Total Tests: 1\n")
  message(FATAL_ERROR "The recipe runs the test ${name}, and the build has: ${tests}")
endif()
