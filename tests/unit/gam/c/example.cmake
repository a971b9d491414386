# SPDX-License-Identifier: Apache-2.0
# The example in C starts no MPI, and its model is that of tessera-fit for the same table, to the byte.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
# Open MPI does not start with a transport that does not exist.
set(ENV{OMPI_MCA_pml} none)
set(ENV{OMPI_MCA_btl} none)
execute_process(COMMAND ${HOURS} ${WORK}/table.csv ${WORK}/c.json OUTPUT_VARIABLE output ERROR_VARIABLE progress
  COMMAND_ERROR_IS_FATAL ANY)
if(NOT output MATCHES "\n   18 h: [0-9.]+ visits, se [0-9.]+\n" OR NOT progress MATCHES "iteration 1")
  message(FATAL_ERROR "the example says: ${output}${progress}")
endif()
execute_process(COMMAND ${FIT} fit ${WORK}/table.csv --formula "visits ~ site + s(hour, bs='cc', k=12)" --family poisson
  --knots hour=0,24 --out ${WORK}/fit.json OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${WORK}/c.json ${WORK}/fit.json COMMAND_ERROR_IS_FATAL ANY)
