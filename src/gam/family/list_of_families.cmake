# SPDX-License-Identifier: Apache-2.0
# The built-in families, a header each; the first is the default.
tessera_type_list(BuiltInFamilies FamilyList
  gaussian
  binomial
  poisson
  gamma
  nb)
