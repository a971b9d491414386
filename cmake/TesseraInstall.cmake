# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: programs, the library, its headers, and the package that gives
# `find_package(tessera)` the target tessera::tessera. Nothing installed names this source or build tree,
# so that a prefix can be moved.
include(CMakePackageConfigHelpers)
set(TESSERA_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)

install(TARGETS tessera EXPORT tesseraTargets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp")
install(FILES ${PROJECT_BINARY_DIR}/include/tessera/version.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera)

install(EXPORT tesseraTargets NAMESPACE tessera:: DESTINATION ${TESSERA_INSTALL_CMAKEDIR})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tesseraConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/tesseraConfig.cmake INSTALL_DESTINATION ${TESSERA_INSTALL_CMAKEDIR}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/tesseraConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/tesseraConfig.cmake
  ${PROJECT_BINARY_DIR}/cmake/tesseraConfigVersion.cmake DESTINATION ${TESSERA_INSTALL_CMAKEDIR})

foreach(program IN ITEMS tessera-info tessera-fit tessera-bench)
  if(TARGET ${program})
    # MPI, hwloc and the others are found where they were linked, e.g. in a module's prefix.
    set_target_properties(${program} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS ${program})
  endif()
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
