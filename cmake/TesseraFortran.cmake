# SPDX-License-Identifier: Apache-2.0
# Installs the Fortran interface: tessera.f90, generated from tessera.h, and tessera.mod, if a Fortran compiler is
# found. The module has only interfaces, so there is no library.
include(TesseraFortranModule)
set(TESSERA_INSTALL_FORTRANDIR ${CMAKE_INSTALL_INCLUDEDIR}/tessera/fortran)
set(fortran_folder ${PROJECT_BINARY_DIR}/fortran)
set(c_header ${PROJECT_SOURCE_DIR}/include/tessera/tessera.h)
tessera_fortran_module(${c_header} ${PROJECT_SOURCE_DIR}/src/fortran/tessera.f90.in ${fortran_folder}/tessera.f90)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${c_header})
install(FILES ${fortran_folder}/tessera.f90 DESTINATION ${TESSERA_INSTALL_FORTRANDIR})
set(TESSERA_FORTRAN OFF)
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

include(TesseraCheckLanguage)
tessera_check_language(Fortran)
if(CMAKE_Fortran_COMPILER)
  # A relative path, because the compiler writes the path into the module.
  execute_process(COMMAND ${CMAKE_Fortran_COMPILER} -c tessera.f90 WORKING_DIRECTORY ${fortran_folder}
    RESULT_VARIABLE status ERROR_VARIABLE error OUTPUT_VARIABLE error)
  if(status EQUAL 0 AND EXISTS ${fortran_folder}/tessera.mod)
    set(TESSERA_FORTRAN ON)
    install(FILES ${fortran_folder}/tessera.mod DESTINATION ${TESSERA_INSTALL_FORTRANDIR})
  else()
    message(WARNING "${CMAKE_Fortran_COMPILER} makes no tessera.mod, which is not installed: ${error}")
  endif()
endif()
