# SPDX-License-Identifier: Apache-2.0
# Builds tests/install/consumer of ROOT in WORK against PREFIX with this KIND (static or shared) of library, by CMake
# and by pkg-config, runs both, and fails if either links the other kind. Without a CUDA toolkit, a consumer that asks
# for neither kind gets one that it can link.
cmake_minimum_required(VERSION 3.25)
set(ENV{CMAKE_PREFIX_PATH} ${PREFIX})
set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig:$ENV{PKG_CONFIG_PATH})
set(flags "")
if(SANITIZE)
  set(flags -fsanitize=${SANITIZE})
endif()
if(NOT EXISTS ${PREFIX}/${LIBDIR}/cmake/tessera/tessera-${KIND}.cmake)
  message("SKIPPED: this build has no ${KIND} library")
  return()
endif()

function(check program)
  execute_process(COMMAND ${program} OUTPUT_VARIABLE output ECHO_OUTPUT_VARIABLE COMMAND_ERROR_IS_FATAL ANY)
  if(NOT output MATCHES "^tessera [0-9.]+: 3 tiles, 2 of rank 0; an error was caught: ")
    message(FATAL_ERROR "${program} printed: ${output}")
  endif()
  execute_process(COMMAND ldd ${program} OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
  set(library "")
  if(libraries MATCHES "libtessera[^ ]* => ([^ ]+)")
    file(REAL_PATH ${CMAKE_MATCH_1} library)
  endif()
  file(REAL_PATH ${PREFIX}/${LIBDIR}/libtessera.so expected)
  if(KIND STREQUAL "static")
    set(expected "")
  endif()
  if(NOT library STREQUAL expected)
    message(FATAL_ERROR "${program} should have the ${KIND} library of ${PREFIX}, and has '${library}'")
  endif()
endfunction()

set(apps "")
if(PROGRAMS)
  set(apps apps)
endif()
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${ROOT}/tests/install/consumer -B ${WORK}/cmake
  -D KIND=${KIND} -D APPS=${apps} -D CMAKE_C_COMPILER=${CC} -D CMAKE_CXX_COMPILER=${CXX} -D MPI_C_COMPILER=${MPICC}
  -D CMAKE_CXX_FLAGS=${flags}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/cmake COMMAND_ERROR_IS_FATAL ANY)
check(${WORK}/cmake/consumer)

set(package tessera)
if(KIND STREQUAL "static")
  set(package tessera-static)
endif()
set(ENV{OMPI_CXX} ${CXX})
set(ENV{MPICH_CXX} ${CXX})
execute_process(COMMAND sh -ec "
  compile=\"${MPICXX} -std=c++20 ${flags} $(pkg-config --cflags ${package})\"
  $compile -c ${ROOT}/tests/install/consumer/main.cpp -o ${WORK}/main.o
  $compile ${WORK}/main.o $(pkg-config --libs ${package}) -o ${WORK}/consumer"
  COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
check(${WORK}/consumer)

# Without C++20 the first error says so.
execute_process(COMMAND sh -ec "
  ${MPICXX} -std=c++17 ${flags} $(pkg-config --cflags ${package}) -fsyntax-only ${ROOT}/tests/install/consumer/main.cpp"
  ERROR_VARIABLE error RESULT_VARIABLE status)
string(REGEX MATCH "error:[^\n]*" first "${error}")
if(status EQUAL 0 OR NOT first MATCHES "Tessera needs C[+][+]20: compile with -std=c[+][+]20")
  message(FATAL_ERROR "With C++17 the first error should be that C++20 is off: status ${status}: ${error}")
endif()

# A program compiled with the headers of another version does not link.
file(COPY ${PREFIX}/include/tessera DESTINATION ${WORK}/other)
file(READ ${WORK}/other/tessera/version.hpp header)
string(REGEX REPLACE "(#define TESSERA_ABI v[0-9]+_)[0-9]+" "\\1999" header "${header}")
file(WRITE ${WORK}/other/tessera/version.hpp "${header}")
execute_process(COMMAND sh -ec "
  compile=\"${MPICXX} -std=c++20 ${flags} -I${WORK}/other $(pkg-config --cflags ${package})\"
  $compile -c ${ROOT}/tests/install/consumer/main.cpp -o ${WORK}/other.o"
  COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND sh -ec "${MPICXX} ${flags} ${WORK}/other.o $(pkg-config --libs ${package}) -o ${WORK}/other_consumer"
  ERROR_VARIABLE error RESULT_VARIABLE status)
if(status EQUAL 0 OR NOT error MATCHES "tessera::v[0-9]+_999::Plan::over_devices")
  message(FATAL_ERROR "A program with the headers of another version should not link: status ${status}: ${error}")
endif()

# With another MPI than the library's the first error says so, in C++ and in C.
file(READ ${PREFIX}/include/tessera/mpi/abi.h header)
string(REGEX MATCH "#define TESSERA_OPEN_MPI ([01])" definition "${header}")
math(EXPR other "1 - ${CMAKE_MATCH_1}")
string(REPLACE "${definition}" "#define TESSERA_OPEN_MPI ${other}" header "${header}")
file(WRITE ${WORK}/other_mpi/tessera/mpi/abi.h "${header}")
foreach(language_header IN ITEMS "c++ -std=c++20;tessera.hpp" "c;tessera.h")
  list(GET language_header 0 language)
  list(GET language_header 1 header)
  execute_process(COMMAND sh -ec "
    echo '#include <tessera/${header}>' >${WORK}/other_mpi/program
    ${MPICXX} -x ${language} -I${WORK}/other_mpi $(pkg-config --cflags ${package}) -fsyntax-only ${WORK}/other_mpi/program"
    ERROR_VARIABLE error RESULT_VARIABLE status)
  string(REGEX MATCH "error:[^\n]*" first "${error}")
  if(status EQUAL 0 OR NOT first MATCHES "Tessera is built with [^:]*MPI: compile with its mpicc or mpicxx")
    message(FATAL_ERROR "With another MPI <tessera/${header}> should say so first: status ${status}: ${error}")
  endif()
endforeach()

execute_process(COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${ROOT}/tests/install/consumer -B ${WORK}/no_toolkit
  -D CMAKE_C_COMPILER=${CC} -D CMAKE_CXX_COMPILER=${CXX} -D MPI_C_COMPILER=${MPICC}
  -D CMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON
  COMMAND_ERROR_IS_FATAL ANY)
