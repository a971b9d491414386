# SPDX-License-Identifier: Apache-2.0
# `cpack` makes a Debian package of the installed files. `cmake --workflow --preset package` also configures and builds,
# as a distribution does: without tests, for /usr, and without run paths.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tessera)
set(CPACK_PACKAGE_CONTACT "The Tessera developers <developers@tessera.invalid>")
set(CPACK_STRIP_FILES ON)
# Installed files contain the prefix, so packing must use DESTDIR instead of a temporary prefix.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
  WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "tessera-fit fits generalized additive models to tables of any length over
every rank and GPU of an MPI job, as bam() of R's mgcv would. tessera-info
shows what a job finds, and who drives what. The library and its headers are
what they are made with. None of it needs a GPU.")
# dpkg derives the dependencies on shared libraries. Programs that Tessera starts must be listed: mpirun, and ssh, which
# mpirun needs even on one machine. Packages for compiling with the library are recommended; those for the static
# tessera::gam are suggested.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(mpirun mpich)
set(mpi_headers libmpich-dev)
if(TESSERA_OPEN_MPI)
  set(mpirun openmpi-bin)
  set(mpi_headers libopenmpi-dev)
endif()
set(CPACK_DEBIAN_PACKAGE_DEPENDS "${mpirun}, openssh-client")
if(TESSERA_R)
  string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", r-api-4.0, r-cran-mgcv")
endif()
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++, ${mpi_headers}, libhwloc-dev, pkg-config")
string(CONCAT CPACK_DEBIAN_PACKAGE_SUGGESTS "bash-completion, cmake, gfortran, lmod, man-db, "
  "libbz2-dev, libdeflate-dev, libeigen3-dev, libfmt-dev, libhdf5-dev, liblzma-dev, libtomlplusplus-dev, "
  "libzstd-dev, zlib1g-dev")
include(CPack)
