# SPDX-License-Identifier: Apache-2.0
# PROGRAM, which keeps its state in WORK, is stopped under LAUNCH, resumes under it, and gives the answer of an
# undisturbed run.
# run(name status fault rank...): sets NAME_out and NAME_err.
function(run name expected fault)
  set(ENV{TESSERA_FAULT} "${fault}")
  execute_process(COMMAND ${LAUNCH} ${ARGN} ${PROGRAM} WORKING_DIRECTORY ${WORK} RESULT_VARIABLE status
    OUTPUT_VARIABLE out ERROR_VARIABLE err)
  message("${out}${err}")
  if(NOT status EQUAL expected)
    message(FATAL_ERROR "it ended with ${status}, not ${expected}")
  endif()
  set(${name}_out "${out}" PARENT_SCOPE)
  set(${name}_err "${err}" PARENT_SCOPE)
endfunction()

run(whole 0 "" 2)
run(stopped 75 signal@rank1:pass7 2)
run(resumed 0 "" 3)
if(NOT stopped_err MATCHES "stopped by SIGUSR1 on rank 1" OR NOT resumed_err MATCHES "going on after step [67]\n")
  message(FATAL_ERROR "it does not say that it was stopped, or where it goes on")
endif()
if(NOT resumed_out STREQUAL whole_out OR whole_out STREQUAL "")
  message(FATAL_ERROR "its answer is \"${resumed_out}\", and of a run that was not stopped \"${whole_out}\"")
endif()
file(GLOB left ${WORK}/*.checkpoint*)
if(left)
  message(FATAL_ERROR "it left ${left}")
endif()
