# SPDX-License-Identifier: Apache-2.0
# Configures ROOT with TESSERA_ENABLE_CUDA=AUTO and no nvcc on the PATH, and without a Fortran compiler. Configured again,
# it looks for the first again, and not for the second, which the user has ruled out.
set(path $ENV{PATH})
string(REPLACE ":" ";" path "${path}")
foreach(folder IN LISTS path)
  if(NOT EXISTS ${folder}/nvcc)
    list(APPEND path_without_nvcc ${folder})
  endif()
endforeach()
list(JOIN path_without_nvcc ":" path)
set(ENV{PATH} "${path}")
unset(ENV{CUDACXX})

find_program(pkg_config NAMES pkg-config PATHS ${path_without_nvcc} NO_DEFAULT_PATH NO_CACHE)
if(NOT pkg_config)
  message("SKIPPED: nvcc is in the same folder as the tools that a configure needs")
  return()
endif()

file(REMOVE_RECURSE ${WORK})
execute_process(
  COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${ROOT} -B ${WORK} -D TESSERA_ENABLE_CUDA=AUTO
    -D CMAKE_C_COMPILER=${CC} -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_Fortran_COMPILER=NOTFOUND
  OUTPUT_VARIABLE output ECHO_OUTPUT_VARIABLE COMMAND_ERROR_IS_FATAL ANY)
if(NOT output MATCHES "Tessera: CUDA OFF")
  message(FATAL_ERROR "AUTO found a CUDA compiler where there is none to be found")
endif()
if(EXISTS ${WORK}/cmake/tessera-fortran.pc)
  message(FATAL_ERROR "Without a Fortran compiler there is no module to be found by pkg-config")
endif()

execute_process(COMMAND ${CMAKE_COMMAND} ${WORK} OUTPUT_VARIABLE output ECHO_OUTPUT_VARIABLE COMMAND_ERROR_IS_FATAL ANY)
if(NOT output MATCHES "Looking for a CUDA compiler" OR output MATCHES "Looking for a Fortran compiler")
  message(FATAL_ERROR "A CUDA compiler that is installed later is not found, or a Fortran compiler is looked for")
endif()
