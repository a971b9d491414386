# SPDX-License-Identifier: Apache-2.0
# Configures ROOT with BUILD_SHARED_LIBS=ON: without the tests, which need the static library; asked for both, it says so.
file(REMOVE_RECURSE ${WORK})
set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -S ${ROOT} -B ${WORK} -D BUILD_SHARED_LIBS=ON -D TESSERA_ENABLE_CUDA=OFF
  -D CMAKE_C_COMPILER=${CC} -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_Fortran_COMPILER=NOTFOUND)
execute_process(COMMAND ${configure} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
load_cache(${WORK} READ_WITH_PREFIX shared_ TESSERA_ENABLE_TESTS)
if(shared_TESSERA_ENABLE_TESTS)
  message(FATAL_ERROR "With BUILD_SHARED_LIBS=ON the tests are built, and cannot be linked")
endif()
execute_process(COMMAND ${configure} -D TESSERA_ENABLE_TESTS=ON OUTPUT_QUIET ERROR_VARIABLE error RESULT_VARIABLE result)
string(REGEX REPLACE "[ \n]+" " " error "${error}")
if(result EQUAL 0 OR NOT error MATCHES "TESSERA_ENABLE_TESTS needs the static library: turn it off, or BUILD_SHARED_LIBS")
  message(FATAL_ERROR "Tests of a shared library are not refused: ${error}")
endif()
