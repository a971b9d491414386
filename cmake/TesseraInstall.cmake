# SPDX-License-Identifier: Apache-2.0
# The install rules. The installed tree is relocatable: no file contains a path of the source tree, the build tree or
# the prefix.
include(CMakePackageConfigHelpers)
include(TesseraSourceTime)
set(TESSERA_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
set(TESSERA_INSTALL_SHAREDIR ${CMAKE_INSTALL_DATADIR}/tessera)

# The build tree has the layout and run paths of the installed tree (BUILD_WITH_INSTALL_RPATH). Otherwise CMake would
# pad run paths in the build tree with an empty element, which the dynamic loader takes for the working directory.

# The library and its headers.
foreach(library IN ITEMS tessera tessera_shared)
  if(NOT TARGET ${library})
    continue()
  endif()
  get_target_property(type ${library} TYPE)
  string(REGEX REPLACE "_LIBRARY" "" kind ${type})
  string(TOLOWER ${kind} kind)
  # The run path has the folders of MPI, hwloc and other dependencies, e.g. in a module's prefix.
  set_target_properties(${library} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON BUILD_WITH_INSTALL_RPATH ON)
  install(TARGETS ${library} EXPORT tessera-${kind})
  install(EXPORT tessera-${kind} NAMESPACE tessera:: DESTINATION ${TESSERA_INSTALL_CMAKEDIR})
  list(APPEND kinds ${kind})
endforeach()
# tessera::gam, static and shared like the library. $ORIGIN: the shared libtessera_gam finds libtessera in its own
# folder.
set(left_out PATTERN gam EXCLUDE PATTERN tessera_gam.h EXCLUDE)
if(TARGET tessera_gam)
  set(left_out "")
  if("static" IN_LIST kinds)
    set_target_properties(tessera_gam PROPERTIES EXPORT_NAME gam)
    set_target_properties(tessera_files PROPERTIES EXPORT_NAME gam_files)
    install(TARGETS tessera_gam tessera_files EXPORT tessera-gam-static)
  endif()
  if("shared" IN_LIST kinds)
    set_target_properties(tessera_gam_shared PROPERTIES EXPORT_NAME gam INSTALL_RPATH $ORIGIN
      INSTALL_RPATH_USE_LINK_PATH ON BUILD_WITH_INSTALL_RPATH ON)
    install(TARGETS tessera_gam_shared EXPORT tessera-gam-shared)
  endif()
  foreach(kind IN LISTS kinds)
    install(EXPORT tessera-gam-${kind} NAMESPACE tessera:: DESTINATION ${TESSERA_INSTALL_CMAKEDIR})
  endforeach()
endif()
if(NOT TESSERA_ENABLE_MPI)
  list(APPEND left_out PATTERN tessera.h EXCLUDE)  # the C interface needs MPI communicators
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" ${left_out})
install(FILES ${PROJECT_BINARY_DIR}/include/tessera/version.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera)
install(FILES ${PROJECT_BINARY_DIR}/include/tessera/mpi/abi.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera/mpi)
set(TESSERA_FORTRAN OFF)
if(TESSERA_ENABLE_MPI)
  include(TesseraFortran)
endif()

# For find_package(tessera).
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tesseraConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/tesseraConfig.cmake INSTALL_DESTINATION ${TESSERA_INSTALL_CMAKEDIR}
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/tesseraConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/tesseraConfig.cmake
  ${PROJECT_BINARY_DIR}/cmake/tesseraConfigVersion.cmake DESTINATION ${TESSERA_INSTALL_CMAKEDIR})

# For pkg-config: `tessera` is the shared library, `tessera-static` the static one.
file(RELATIVE_PATH PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" PC_PREFIX ${PC_PREFIX})
get_target_property(definitions tessera INTERFACE_COMPILE_DEFINITIONS)
if(NOT definitions)
  set(definitions "")
endif()
list(TRANSFORM definitions PREPEND -D)
list(JOIN definitions " " PC_CFLAGS)
set(PC_WITH "with MPI's own wrapper")
set(PC_WRAPPER "mpicxx -std=c++20")
set(PC_HWLOC "Requires: hwloc >= 2.5\n")
if(NOT TESSERA_ENABLE_MPI)
  set(PC_WITH "with any C++20 compiler")
  set(PC_WRAPPER "c++ -std=c++20")
  set(PC_HWLOC "")
endif()
set(static_libraries ${CMAKE_THREAD_LIBS_INIT} ${CMAKE_DL_LIBS})
if(TESSERA_CUDA)
  list(PREPEND static_libraries ${CUDA_cudart_static_LIBRARY} rt)
endif()
list(TRANSFORM static_libraries REPLACE "^([a-z]+)$" "-l\\1")
list(JOIN static_libraries " " static_libraries)
function(tessera_install_pc name kind link)
  set(PC_NAME ${name})
  set(PC_KIND ", ${kind}")
  set(PC_LINK "${link}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/tessera.pc.in ${PROJECT_BINARY_DIR}/cmake/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/cmake/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
if("shared" IN_LIST kinds)
  # The run path lets programs find the library in any prefix.
  tessera_install_pc(tessera "shared library" "Libs: -L\${libdir} -ltessera -Wl,-rpath,\${libdir}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/trim_run_path.cmake.in ${PROJECT_BINARY_DIR}/cmake/trim_run_path.cmake @ONLY)
  install(SCRIPT ${PROJECT_BINARY_DIR}/cmake/trim_run_path.cmake)
  if(TARGET tessera_gam_shared)
    tessera_install_pc(tessera-gam "generalized additive models" "Requires: tessera\nLibs: -L\${libdir} -ltessera_gam")
  endif()
endif()
if("static" IN_LIST kinds)
  tessera_install_pc(tessera-static "static library"
    "${PC_HWLOC}Libs: \${libdir}/${CMAKE_STATIC_LIBRARY_PREFIX}tessera${CMAKE_STATIC_LIBRARY_SUFFIX} ${static_libraries}")
endif()
if(TESSERA_FORTRAN)
  set(PC_WRAPPER mpifort)
  set(PC_CFLAGS -I\${includedir}/tessera/fortran)
  tessera_install_pc(tessera-fortran "Fortran module" "Requires: tessera")
endif()

# Programs, manual pages and shell completions.
string(SUBSTRING ${TESSERA_SOURCE_TIME} 0 10 source_date)
set(pages_dir ${PROJECT_BINARY_DIR}/pages)
file(MAKE_DIRECTORY ${pages_dir})
foreach(program IN ITEMS tessera-info tessera-fit tessera-bench)
  if(NOT TARGET ${program})
    continue()
  endif()
  set_target_properties(${program} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON BUILD_WITH_INSTALL_RPATH ON)
  if(NOT "static" IN_LIST kinds)
    file(RELATIVE_PATH libraries /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
    set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries}")
  endif()
  install(TARGETS ${program} EXPORT tessera-apps)
  set(has_programs ON)
  if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    continue()
  endif()
  add_custom_command(OUTPUT ${pages_dir}/${program}.1 ${pages_dir}/${program}.bash
    COMMAND ${program} --page man ${source_date} > ${pages_dir}/${program}.1
    COMMAND ${program} --page bash > ${pages_dir}/${program}.bash
    DEPENDS ${program} VERBATIM)
  list(APPEND pages ${pages_dir}/${program}.1 ${pages_dir}/${program}.bash)
  install(FILES ${pages_dir}/${program}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${pages_dir}/${program}.bash RENAME ${program}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endforeach()
if(has_programs)
  install(EXPORT tessera-apps NAMESPACE tessera:: DESTINATION ${TESSERA_INSTALL_CMAKEDIR})
  add_custom_target(tessera_program_pages ALL DEPENDS ${pages})
endif()

# Files that are the same for every build.
configure_file(${PROJECT_SOURCE_DIR}/cmake/modulefile.lua.in ${PROJECT_BINARY_DIR}/cmake/modulefile.lua @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/modulefile.lua RENAME ${PROJECT_VERSION}.lua
  DESTINATION ${TESSERA_INSTALL_SHAREDIR}/modulefiles/tessera)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/jobscripts ${PROJECT_SOURCE_DIR}/examples
  DESTINATION ${TESSERA_INSTALL_SHAREDIR} USE_SOURCE_PERMISSIONS)
install(FILES ${PROJECT_SOURCE_DIR}/docs/model.schema.json DESTINATION ${TESSERA_INSTALL_SHAREDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  ${PROJECT_SOURCE_DIR}/CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png")
include(TesseraR)
include(TesseraSbom)
