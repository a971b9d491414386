# SPDX-License-Identifier: Apache-2.0
# Builds EXAMPLES of ROOT in WORK against PREFIX, as directories of one project: compilers are looked for once.
cmake_minimum_required(VERSION 3.25)
string(REPLACE "," ";" EXAMPLES ${EXAMPLES})
set(options -D CMAKE_PREFIX_PATH=${PREFIX} -D CMAKE_C_COMPILER=${CC} -D CMAKE_CXX_COMPILER=${CXX}
  -D MPI_C_COMPILER=${MPICC} -D MPI_Fortran_COMPILER=${MPIFORT})
if(CUDA)
  list(APPEND options -D CMAKE_CUDA_COMPILER=${CUDACXX} -D CMAKE_CUDA_ARCHITECTURES=80)
else()
  list(APPEND options -D CMAKE_CUDA_COMPILER=NOTFOUND -D CMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON)
endif()
if(SANITIZE)
  list(APPEND options -D CMAKE_CXX_FLAGS=-fsanitize=${SANITIZE})
endif()
file(REMOVE_RECURSE ${WORK})
execute_process(COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${ROOT}/tests/install/examples -B ${WORK} ${options} "-DEXAMPLES=${EXAMPLES}"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK} COMMAND_ERROR_IS_FATAL ANY)
