# SPDX-License-Identifier: Apache-2.0
# tessera_add_test(NAME name SOURCES file... [PROGRAM program] [LABELS label...] [RANKS n...] [GPUS n]
#                  [LIBRARIES target...] [ENVIRONMENT VAR=value...] [TIMEOUT seconds] [SHARDS n])
#
# Registers one GoogleTest program or, with PROGRAM, a program that several tests share to save compile time; each test
# runs its own sources. All tests of one program have RANKS, or none has; the program is linked with the libraries of
# all. Without RANKS a test runs once, as "name". With RANKS, which a build without MPI leaves out, it runs once for
# each number under mpirun, oversubscribed, as "name.np<n>"; it is then linked with a main function that owns the MPI
# session and fails on every rank if a test failed on one. With GPUS the test requests that many of CTest, and must
# GTEST_SKIP with a reason if there are fewer. With SHARDS its tests are divided among as many runs, "name.1" to
# "name.<n>", which may run concurrently.
function(tessera_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;PROGRAM;GPUS;TIMEOUT;SHARDS" "SOURCES;LABELS;RANKS;LIBRARIES;ENVIRONMENT")
  if(arg_RANKS AND NOT TESSERA_ENABLE_MPI)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
    if(arg_GPUS)
      set(arg_TIMEOUT 300)  # the first use of CUDA takes seconds for each GPU of a node, and kernels are compiled
    endif()
  endif()
  if(TESSERA_SANITIZE)
    math(EXPR arg_TIMEOUT "10 * ${arg_TIMEOUT}")
  endif()
  # Kernels that a test compiles stay in the build tree.
  list(APPEND arg_ENVIRONMENT TESSERA_CACHE_DIR=${PROJECT_BINARY_DIR}/tests/cache)
  set(program ${arg_NAME})
  set(chosen "")
  if(arg_PROGRAM)
    set(program ${arg_PROGRAM})
    set(chosen ${arg_SOURCES})
  endif()
  if(NOT TARGET ${program})
    add_executable(${program})
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_compile_definitions(${program} PRIVATE TESSERA_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
    target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    if(arg_RANKS)
      target_sources(${program} PRIVATE $<TARGET_OBJECTS:tessera_test_main>)
    else()
      target_sources(${program} PRIVATE $<TARGET_OBJECTS:tessera_unit_main>)
    endif()
    target_link_libraries(${program} PRIVATE GTest::gtest tessera::tessera tessera_compile_options)
    # Tests run for seconds; compiling them takes longer.
    target_compile_options(${program} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)
    if("tessera_gam" IN_LIST arg_LIBRARIES OR "tessera_test_support" IN_LIST arg_LIBRARIES)
      target_precompile_headers(${program} REUSE_FROM tessera_test_support)
    else()
      target_precompile_headers(${program} REUSE_FROM tessera_unit_main)
    endif()
  endif()
  target_sources(${program} PRIVATE ${arg_SOURCES})
  target_link_libraries(${program} PRIVATE ${arg_LIBRARIES})
  if(arg_RANKS)
    foreach(ranks IN LISTS arg_RANKS)
      add_test(NAME ${arg_NAME}.np${ranks}
        COMMAND ${TESSERA_LAUNCH} ${ranks} $<TARGET_FILE:${program}> ${chosen})
      list(APPEND tests ${arg_NAME}.np${ranks})
      set_tests_properties(${arg_NAME}.np${ranks} PROPERTIES PROCESSORS ${ranks})
    endforeach()
    list(APPEND arg_LABELS mpi)
    list(APPEND arg_ENVIRONMENT GTEST_COLOR=no OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
      OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl=self,vader OMPI_MCA_rmaps_base_oversubscribe=1)
  else()
    set(tests ${arg_NAME})
    if(arg_SHARDS)
      list(TRANSFORM tests APPEND ".1" OUTPUT_VARIABLE tests)
      foreach(shard RANGE 2 ${arg_SHARDS})
        list(APPEND tests ${arg_NAME}.${shard})
      endforeach()
    endif()
    foreach(test IN LISTS tests)
      add_test(NAME ${test} COMMAND ${program} ${chosen})
    endforeach()
    if(NOT arg_LABELS)
      set(arg_LABELS unit)
    endif()
  endif()
  if(arg_GPUS)
    list(APPEND arg_LABELS gpu)
    # CTest reports a skip only if all tests were skipped: GoogleTest then ends with the list of them.
    set_tests_properties(${tests} PROPERTIES RESOURCE_GROUPS "${arg_GPUS},gpus:1"
      SKIP_REGULAR_EXPRESSION "PASSED  \\] 0 tests\\.\n\\[  SKIPPED \\] [0-9]+ tests?, listed below:\n(\\[  SKIPPED \\] [^\n]*\n)+$")
  endif()
  set_tests_properties(${tests} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "${arg_ENVIRONMENT}")
  # Concurrent tests use the same GPUs: each has its own lock folder, so that none waits for another.
  foreach(test IN LISTS tests)
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT TESSERA_LOCK_DIR=${PROJECT_BINARY_DIR}/tests/locks/${test})
  endforeach()
  if(arg_SHARDS)
    set(index 0)
    foreach(test IN LISTS tests)
      set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT GTEST_TOTAL_SHARDS=${arg_SHARDS} GTEST_SHARD_INDEX=${index})
      math(EXPR index "${index} + 1")
    endforeach()
  endif()
endfunction()
