/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESSERA_R_JSON_H
#define TESSERA_R_JSON_H

#include <Rinternals.h>

/* The R value of the library's JSON, which is well-formed. Objects become lists with names; arrays of numbers
 * (null: NA), of strings and of booleans become vectors; other arrays become lists. */
SEXP tessera_json_value(const char* text);

#endif
