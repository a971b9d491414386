# SPDX-License-Identifier: Apache-2.0
# A component that find_package(tessera) cannot provide gives a message that names it and the reason. Each case is
# "components | part of the installed package that is removed | the message".
cmake_minimum_required(VERSION 3.25)
foreach(case IN ITEMS
    "colour||tessera has no component colour: there are tessera, static, shared, fortran, gam and apps"
    "apps|apps|installed without its programs: build it with TESSERA_ENABLE_APPS=ON"
    "fortran||built without a Fortran compiler: compile include/tessera/fortran/tessera.f90 with the program"
    "gam|gam-static gam-shared|installed without tessera::gam: build it with TESSERA_ENABLE_APPS=ON"
    "static|static|installed without the static library"
    "shared|shared|installed without the shared library"
    "static shared||ask for the component static or for shared")
  string(REPLACE "|" ";" case "${case}")
  list(GET case 0 components)
  list(GET case 1 missing)
  list(GET case 2 message)
  file(REMOVE_RECURSE ${WORK})
  file(COPY ${PREFIX}/${LIBDIR}/cmake/tessera/ DESTINATION ${WORK}/package)
  if(missing)
    separate_arguments(missing)
    list(TRANSFORM missing REPLACE "(.+)" "${WORK}/package/tessera-\\1.cmake" OUTPUT_VARIABLE files)
    file(REMOVE ${files})
  else()
    # Components that this build may lack.
    file(TOUCH ${WORK}/package/tessera-static.cmake ${WORK}/package/tessera-shared.cmake)
  endif()
  file(WRITE ${WORK}/find.cmake
    "find_package(tessera REQUIRED CONFIG COMPONENTS ${components} PATHS ${WORK}/package NO_DEFAULT_PATH)\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -P ${WORK}/find.cmake RESULT_VARIABLE status ERROR_VARIABLE error)
  string(REGEX REPLACE "[ \n]+" " " error "${error}")
  string(FIND "${error}" "${message}" place)
  if(status EQUAL 0 OR place EQUAL -1)
    message(FATAL_ERROR "COMPONENTS ${components} without ${missing} should end with\n  ${message}\nand ends with\n  ${error}")
  endif()
endforeach()
