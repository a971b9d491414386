# SPDX-License-Identifier: Apache-2.0
# Installs BUILD under WORK and moves the prefix to WORK/prefix. Fails if a text in it names ROOT, BUILD or the original
# prefix, or if a part is missing.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/before OUTPUT_QUIET
  COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${WORK}/before ${WORK}/prefix)

foreach(place IN ITEMS ${BUILD} ${ROOT} ${WORK}/before)
  execute_process(COMMAND grep -rIlF ${place} ${WORK}/prefix OUTPUT_VARIABLE files RESULT_VARIABLE status)
  if(NOT status EQUAL 1)
    message(FATAL_ERROR "These name ${place}, so that the tree cannot be moved or given away:\n${files}")
  endif()
endforeach()

set(parts include/tessera/tessera.hpp include/tessera/fortran/tessera.f90 include/tessera/version.hpp include/tessera/mpi/abi.h
  ${LIBDIR}/cmake/tessera/tesseraConfig.cmake ${LIBDIR}/pkgconfig/tessera.pc share/tessera/jobscripts/fit-cpu.sbatch
  share/tessera/examples/diamonds/diamonds.csv.gz share/tessera/modulefiles/tessera/${VERSION}.lua
  share/tessera/model.schema.json share/tessera/examples/predict/predict_model.py)
if(PROGRAMS)
  list(APPEND parts include/tessera/gam/gam.hpp ${LIBDIR}/libtessera_gam.so ${LIBDIR}/cmake/tessera/tessera-gam-shared.cmake
    ${LIBDIR}/pkgconfig/tessera-gam.pc)
endif()
foreach(program IN LISTS PROGRAMS)
  list(APPEND parts bin/${program} share/man/man1/${program}.1 share/bash-completion/completions/${program})
endforeach()
foreach(part IN LISTS parts)
  if(NOT EXISTS ${WORK}/prefix/${part} OR IS_DIRECTORY ${WORK}/prefix/${part})
    message(FATAL_ERROR "${part} was not installed")
  endif()
endforeach()
