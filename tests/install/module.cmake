# SPDX-License-Identifier: Apache-2.0
# Lmod loads the modulefile of PREFIX, which makes the programs, their manual pages and the packages available.
cmake_minimum_required(VERSION 3.25)
find_program(lmod lmod PATHS $ENV{LMOD_DIR} /usr/share/lmod/lmod/libexec NO_CACHE)
if(NOT lmod)
  message("SKIPPED: Lmod is not installed")
  return()
endif()
list(JOIN PROGRAMS " " programs)
execute_process(COMMAND env MODULEPATH=${PREFIX}/share/tessera/modulefiles bash -ec "
  eval \"$(${lmod} bash load tessera)\"
  for program in ${programs}; do
    test \"$(command -v $program)\" = ${PREFIX}/bin/$program
    complete -p $program >/dev/null
    if command -v man >/dev/null; then test \"$(man -w $program)\" = ${PREFIX}/share/man/man1/$program.1; fi
  done
  test \"$TESSERA_ROOT\" = ${PREFIX}
  test -f \"$TESSERA_ROOT/share/tessera/jobscripts/fit-cpu.sbatch\"
  test \"$(pkg-config --modversion tessera)\" = ${VERSION}
  case $CMAKE_PREFIX_PATH in ${PREFIX}*) ;; *) exit 1 ;; esac
  case $LD_LIBRARY_PATH in ${PREFIX}/${LIBDIR}*) ;; *) exit 1 ;; esac
  eval \"$(${lmod} bash unload tessera)\"
  test -z \"$TESSERA_ROOT\"
  if complete -p tessera-info 2>/dev/null; then exit 1; fi"
  COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
