# SPDX-License-Identifier: Apache-2.0
# `cpack` makes a package whose control file has the fields that Debian requires and the libraries that the programs
# link, and that has no file outside /usr and no text that names ROOT or BUILD. Programs that are built against it get
# no run path.
cmake_minimum_required(VERSION 3.25)
find_program(shlibdeps dpkg-shlibdeps NO_CACHE)
find_program(file file NO_CACHE)
if(NOT shlibdeps OR NOT file OR NOT PROGRAMS)
  message("SKIPPED: dpkg-shlibdeps or file is not installed, or there are no programs to package")
  return()
endif()
file(REMOVE_RECURSE ${WORK})
# The contents do not depend on the compression, and xz takes 15 seconds.
execute_process(COMMAND ${CMAKE_CPACK_COMMAND} --config ${BUILD}/CPackConfig.cmake -G DEB -B ${WORK}
    -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip
  COMMAND_ERROR_IS_FATAL ANY)
file(GLOB package ${WORK}/tessera_${VERSION}_*.deb)
execute_process(COMMAND dpkg-deb --field ${package} OUTPUT_VARIABLE control COMMAND_ERROR_IS_FATAL ANY)
foreach(line IN ITEMS "Package: tessera" "Version: ${VERSION}" "Section: science"
    "Maintainer: The Tessera developers <[^\n]+>" "Depends: [^\n]*libhwloc15" "Depends: [^\n]*libhdf5"
    "Depends: (openmpi-bin,[^\n]* libopenmpi|mpich,[^\n]* libmpich)" "Description: [^\n]+\n [^ \n]")
  if(NOT "\n${control}" MATCHES "\n${line}")
    message(FATAL_ERROR "The package should have '${line}', and has\n${control}")
  endif()
endforeach()

execute_process(COMMAND dpkg-deb --extract ${package} ${WORK}/root COMMAND_ERROR_IS_FATAL ANY)
file(GLOB entries RELATIVE ${WORK}/root ${WORK}/root/*)
if(NOT entries STREQUAL "usr")
  message(FATAL_ERROR "The package has files outside /usr: ${entries}")
endif()
foreach(place IN ITEMS ${BUILD} ${ROOT})
  execute_process(COMMAND grep -rIlF ${place} ${WORK}/root OUTPUT_VARIABLE files RESULT_VARIABLE status)
  if(NOT status EQUAL 1)
    message(FATAL_ERROR "These files of the package name ${place}:\n${files}")
  endif()
endforeach()
# Its pkg-config flags have no run path to a folder that the loader searches anyway.
file(READ ${WORK}/root/usr/${LIBDIR}/pkgconfig/tessera.pc words)
if(words MATCHES "rpath")
  message(FATAL_ERROR "tessera.pc of the package has a run path:\n${words}")
endif()
# Its list of parts names the installed files, which were stripped.
execute_process(COMMAND ${CMAKE_COMMAND} -D PREFIX=${WORK}/root/usr -D VERSION=${VERSION} "-DPROGRAMS=${PROGRAMS}"
  -P ${CMAKE_CURRENT_LIST_DIR}/sbom.cmake COMMAND_ERROR_IS_FATAL ANY)
file(COPY_FILE ${package} ${WORK}/tessera.deb)  # under a name that the next test knows
