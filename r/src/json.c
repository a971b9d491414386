/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <R.h>
#include <stdlib.h>
#include <string.h>

static SEXP value_at(const char** at);

/* In well-formed JSON, separators carry no information. */
static void skip_separators(const char** at) {
  *at += strspn(*at, " \n\r\t,:");
}

/* A string. JSON's escapes are valid in R, so that R's parser decodes them. */
static SEXP text_at(const char** at) {
  const char* begin = (*at)++;
  *at += strcspn(*at, "\"\\");
  const int is_plain = **at == '"';
  while (**at != '"') *at += **at == '\\' ? 2 : 1;
  ++*at;
  if (is_plain) return Rf_mkCharLenCE(begin + 1, (int)(*at - begin - 2), CE_UTF8);
  SEXP literal = PROTECT(Rf_ScalarString(Rf_mkCharLenCE(begin, (int)(*at - begin), CE_UTF8)));
  SEXP text = Rf_eval(PROTECT(Rf_lang2(Rf_install("str2lang"), literal)), R_BaseEnv);
  UNPROTECT(2);
  return STRING_ELT(text, 0);
}

/* The numbers of an array of `length` bytes. */
static SEXP numbers_at(const char** at, size_t length) {
  const char* end = *at + length;
  R_xlen_t count = 1;
  for (const char* next = *at; (next = memchr(next, ',', (size_t)(end - next))) != NULL; ++next) ++count;
  SEXP numbers = PROTECT(Rf_allocVector(REALSXP, count));
  for (R_xlen_t i = 0; i < count; ++i) {
    skip_separators(at);
    const int is_null = **at == 'n';
    REAL(numbers)[i] = is_null ? NA_REAL : strtod(*at, (char**)at);
    if (is_null) *at += strlen("null");
  }
  *at = end + 1;
  UNPROTECT(1);
  return numbers;
}

/* A vector of the elements, if all are strings or all booleans; otherwise the list. */
static SEXP simplified(SEXP list) {
  const R_xlen_t count = Rf_xlength(list);
  const SEXPTYPE type = count > 0 ? TYPEOF(VECTOR_ELT(list, 0)) : NILSXP;
  if (type != STRSXP && type != LGLSXP) return list;
  for (R_xlen_t i = 0; i < count; ++i) {
    if (TYPEOF(VECTOR_ELT(list, i)) != type || Rf_xlength(VECTOR_ELT(list, i)) != 1) return list;
  }
  return Rf_coerceVector(list, type);
}

/* The elements up to `end` as a list; those of an object with names. */
static SEXP elements_at(const char** at, char end) {
  PROTECT_INDEX at_values, at_names;
  SEXP values, names;
  PROTECT_WITH_INDEX(values = Rf_allocVector(VECSXP, 8), &at_values);
  PROTECT_WITH_INDEX(names = Rf_allocVector(STRSXP, 8), &at_names);
  R_xlen_t count = 0;
  for (++*at, skip_separators(at); **at != end; skip_separators(at)) {
    if (count == Rf_xlength(values)) {
      REPROTECT(values = Rf_xlengthgets(values, 2 * count), at_values);
      REPROTECT(names = Rf_xlengthgets(names, 2 * count), at_names);
    }
    if (end == '}') {
      SET_STRING_ELT(names, count, text_at(at));
      skip_separators(at);
    }
    SET_VECTOR_ELT(values, count++, value_at(at));
  }
  ++*at;
  REPROTECT(values = Rf_xlengthgets(values, count), at_values);
  if (end == '}') {
    Rf_setAttrib(values, R_NamesSymbol, PROTECT(Rf_xlengthgets(names, count)));
    UNPROTECT(1);
  } else {
    values = simplified(values);
  }
  UNPROTECT(2);
  return values;
}

static SEXP value_at(const char** at) {
  skip_separators(at);
  const char first = **at;
  if (first == '"') {
    SEXP text = PROTECT(text_at(at));
    text = Rf_ScalarString(text);
    UNPROTECT(1);
    return text;
  }
  if (first == '{') return elements_at(at, '}');
  if (first == '[') {
    const char* inside = *at + 1 + strspn(*at + 1, " \n\r\t");
    const size_t length = strspn(inside, "0123456789+-.eE, \n\r\tnul");
    if (length == 0 || inside[length] != ']') return elements_at(at, ']');
    *at = inside;
    return numbers_at(at, length);
  }
  if (first == 't' || first == 'f') {
    *at += strlen(first == 't' ? "true" : "false");
    return Rf_ScalarLogical(first == 't');
  }
  if (first == 'n') {
    *at += strlen("null");
    return R_NilValue;
  }
  return Rf_ScalarReal(strtod(*at, (char**)at));
}

SEXP tessera_json_value(const char* text) {
  return value_at(&text);
}
