# SPDX-License-Identifier: Apache-2.0
# tessera_harden(target...)
#
# Hardens installed programs and libraries: stack canaries, stack clash protection, _FORTIFY_SOURCE, control flow
# protection if the CPU supports it, position-independent executables (PIE) and full RELRO. The flags are PRIVATE:
# targets that link a library do not get them.
#
# No _GLIBCXX_ASSERTIONS: in the loops over rows these assertions cost 10 % of a fit's time.
#
# Distributions with their own flags (dpkg-buildflags, Spack's compiler wrapper) may set TESSERA_HARDENING=OFF. With ON,
# a level of _FORTIFY_SOURCE in CMAKE_CXX_FLAGS is kept.
include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)
include(CheckLinkerFlag)
include(CheckPIESupported)

# -Werror, because clang only warns about flags that the target CPU does not support.
set(CMAKE_REQUIRED_FLAGS -Werror)
set(hardening_compile_options "")
set(hardening_link_options "")
if(TESSERA_HARDENING)
  foreach(flag IN ITEMS -fstack-protector-strong -fstack-clash-protection -fcf-protection -mbranch-protection=standard)
    string(MAKE_C_IDENTIFIER TESSERA_HAVE${flag} have)
    check_cxx_compiler_flag(${flag} ${have})
    if(${have})
      list(APPEND hardening_compile_options ${flag})
    endif()
  endforeach()
  foreach(flag IN ITEMS -z,relro -z,now -z,noexecstack)
    string(MAKE_C_IDENTIFIER TESSERA_HAVE${flag} have)
    check_linker_flag(CXX LINKER:${flag} ${have})
    if(${have})
      list(APPEND hardening_link_options LINKER:${flag})
    endif()
  endforeach()
  # CMAKE_POSITION_INDEPENDENT_CODE passes -pie to the linker only after this check.
  check_pie_supported(LANGUAGES CXX)
endif()

# _FORTIFY_SOURCE needs optimisation, and is redundant with a sanitizer. Level 3 needs GCC 12 or clang 9, and glibc
# 2.35.
set(hardening_fortify "")
if(TESSERA_HARDENING AND NOT TESSERA_SANITIZE AND NOT "${CMAKE_CXX_FLAGS}" MATCHES "_FORTIFY_SOURCE")
  foreach(level IN ITEMS 3 2)
    set(CMAKE_REQUIRED_FLAGS "-Werror -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${level}")
    check_cxx_source_compiles("#include <cstring>\nint main() {}" TESSERA_HAVE_FORTIFY_${level})
    if(TESSERA_HAVE_FORTIFY_${level})
      set(hardening_fortify -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${level})
      break()
    endif()
  endforeach()
endif()
unset(CMAKE_REQUIRED_FLAGS)

function(tessera_harden)
  set(optimised $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
  foreach(target IN LISTS ARGN)
    # -Xcompiler: nvcc passes the flag to its host compiler.
    foreach(flag IN LISTS hardening_compile_options)
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${flag}>
        $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${flag}>)
    endforeach()
    foreach(flag IN LISTS hardening_fortify)
      target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,${optimised}>:${flag}>
        $<$<AND:$<COMPILE_LANGUAGE:CUDA>,${optimised}>:-Xcompiler=${flag}>)
    endforeach()
    get_target_property(type ${target} TYPE)
    if(type MATCHES "EXECUTABLE|SHARED|MODULE")
      target_link_options(${target} PRIVATE ${hardening_link_options})
    endif()
  endforeach()
endfunction()
