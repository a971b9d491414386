/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESSERA_R_JSON_H
#define TESSERA_R_JSON_H

#include <Rinternals.h>

/* The value of a JSON text of the library, which is well-formed: objects are lists with names, arrays of
 * numbers are vectors, with NA for null, arrays of texts and of truths too, and other arrays are lists. */
SEXP tessera_json_value(const char* text);

#endif
