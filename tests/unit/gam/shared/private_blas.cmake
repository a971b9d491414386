# SPDX-License-Identifier: Apache-2.0
# HOST, a program with another BLAS, fits the same model to DATA with the shared library as tessera-fit, FIT.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(formula "lprice ~ cut + te(lcarat, depth, bs=\"cr\", k=6) + s(clarity, bs=\"re\")")
execute_process(COMMAND ${HOST} ${DATA} ${formula} ${WORK}/host.json COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${FIT} fit ${DATA} --formula ${formula} --device cpu --out ${WORK}/fit.json
  OUTPUT_QUIET ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${WORK}/host.json ${WORK}/fit.json RESULT_VARIABLE differs)
if(differs)
  message(FATAL_ERROR "The model of a program with another BLAS differs from that of tessera-fit: ${WORK}")
endif()
