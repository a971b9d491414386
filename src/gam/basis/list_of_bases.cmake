# SPDX-License-Identifier: Apache-2.0
# The bases of one variable, a header each, in the order in which messages name them.
tessera_type_list(Bases BasisList
  ps
  cp
  cr
  cc
  tp
  re)
