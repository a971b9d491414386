# SPDX-License-Identifier: Apache-2.0
# Programs of a build without MPI link neither MPI nor hwloc, fit and predict, and refuse to start as ranks.
function(expect status words)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${WORK} RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT result EQUAL status OR NOT "${out}${err}" MATCHES "${words}")
    message(FATAL_ERROR "${ARGN}\nended with ${result}, not ${status}, and wrote without '${words}'\n${out}${err}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
foreach(program IN ITEMS ${FIT} ${INFO})
  execute_process(COMMAND ldd ${program} OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
  if(libraries MATCHES "libmpi|libopen-rte|libpmi|libhwloc")
    message(FATAL_ERROR "${program} is linked with MPI or hwloc:\n${libraries}")
  endif()
endforeach()
expect(0 "s\\(lcarat\\)" ${FIT} fit ${DATA} --formula "lprice ~ cut + s(lcarat, bs='ps', k=20)" --out model.json)
expect(0 "fit" ${FIT} predict model.json ${DATA} --out -)
expect(0 "MPI +none" ${INFO})
expect(2 "this build has no MPI" ${FIT} --mpi summary model.json)
expect(2 "this build has no MPI" ${CMAKE_COMMAND} -E env PMIX_RANK=0 ${FIT} fit ${DATA} --formula "lprice ~ cut" --out rank.json)
# Requests that only the first rank answers need no MPI.
expect(0 "s\\(lcarat\\)" ${CMAKE_COMMAND} -E env PMIX_RANK=0 ${FIT} summary model.json)
