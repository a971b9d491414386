# SPDX-License-Identifier: Apache-2.0
# Configures tests/install/embedded of ROOT, and compiles its calls, but not the library.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
execute_process(COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${ROOT}/tests/install/embedded -B ${WORK}
  -D TESSERA=${ROOT} -D CMAKE_C_COMPILER=${CC} -D CMAKE_CXX_COMPILER=${CXX} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK} --target calls COMMAND_ERROR_IS_FATAL ANY)
