/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface of Tessera for .Call. A handle of the library is an external pointer, whose finalizer
 * closes the handle. After an error, when the library has returned, raise_error of R/conditions.R raises an R
 * condition. */
#include "json.h"

#include <R.h>
#include <R_ext/Rdynload.h>
#include <R_ext/Visibility.h>
#include <Rinternals.h>
#include <limits.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera_gam.h>
#include <time.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* Errors */

static SEXP utf8(const char* text) {
  return Rf_ScalarString(Rf_mkCharCE(text ? text : "", CE_UTF8));
}

static const char* text_of(SEXP value) {
  return Rf_translateCharUTF8(STRING_ELT(value, 0));
}

static void raise_error(int status, const char* message, const char* lines, double position) {
  SEXP find = PROTECT(Rf_lang2(Rf_install("getNamespace"), PROTECT(Rf_mkString("tessera"))));
  SEXP home = PROTECT(Rf_eval(find, R_BaseEnv));
  SEXP raise =
      PROTECT(Rf_lang5(Rf_install("raise_error"), PROTECT(Rf_ScalarInteger(status)), PROTECT(utf8(message)),
                       PROTECT(utf8(lines)), PROTECT(Rf_ScalarReal(position))));
  Rf_eval(raise, home);
  UNPROTECT(8);
}

static void raise_last_error(void) {
  tessera_gam_error_info info;
  memset(&info, 0, sizeof info);
  info.size = sizeof info;
  tessera_gam_last_error(&info);
  raise_error(info.status, info.message, info.lines, (double)info.position);
}

static void check(int status) {
  if (status != TESSERA_GAM_OK) raise_last_error();
}

/* Handles */

static uint64_t handle_of(SEXP pointer) {
  if (TYPEOF(pointer) != EXTPTRSXP || R_ExternalPtrAddr(pointer) == NULL) {
    raise_error(TESSERA_GAM_USAGE,
                "the model or table is closed, or was saved and loaded: fit or read it again", "", -1);
  }
  return (uint64_t)(uintptr_t)R_ExternalPtrAddr(pointer);
}

static void close_with(SEXP pointer, int (*close)(uint64_t)) {
  void* handle = R_ExternalPtrAddr(pointer);
  if (handle == NULL) return;
  close((uint64_t)(uintptr_t)handle);
  R_ClearExternalPtr(pointer);
  R_SetExternalPtrProtected(pointer, R_NilValue);
}

static void close_table(SEXP pointer) {
  close_with(pointer, tessera_gam_table_close);
}
static void close_model(SEXP pointer) {
  close_with(pointer, tessera_gam_model_close);
}
static void close_answer(SEXP pointer) {
  close_with(pointer, tessera_gam_answer_close);
}

/* An external pointer, made before its handle, so that no handle leaks if memory is short. */
static SEXP new_pointer(const char* kind, R_CFinalizer_t close) {
  SEXP pointer = PROTECT(R_MakeExternalPtr(NULL, Rf_install(kind), R_NilValue));
  R_RegisterCFinalizerEx(pointer, close, TRUE);
  UNPROTECT(1);
  return pointer;
}

static void set_handle(SEXP pointer, uint64_t handle) {
  R_SetExternalPtrAddr(pointer, (void*)(uintptr_t)handle);
}

static SEXP close_pointer(SEXP pointer) {
  if (TYPEOF(pointer) != EXTPTRSXP) return R_NilValue;
  SEXP kind = R_ExternalPtrTag(pointer);
  if (kind == Rf_install("tessera_table")) close_table(pointer);
  if (kind == Rf_install("tessera_model")) close_model(pointer);
  return R_NilValue;
}

/* Calls: options, progress, interrupts */

static const double progress_interval = 0.2; /* seconds */

typedef struct {
  SEXP progress; /* a function of a text and of whether it is a line for a log; or R_NilValue */
  double told;   /* when it was called last */
  SEXP jump;     /* R's record of a jump out of `progress`, as of an error or of a handler that exits */
  int jumped;
  jmp_buf caught;
} watch;

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Callbacks of the library must return: what would jump out of them (longjmp) is caught. */
static void check_interrupt(void* unused) {
  (void)unused;
  R_CheckUserInterrupt();
}

static int32_t cancelled(void* context) {
  const watch* of = context;
  return (of != NULL && of->jumped) || !R_ToplevelExec(check_interrupt, NULL);
}

typedef struct {
  SEXP progress;
  const char* text;
  int is_line;
} news;

static SEXP tell(void* context) {
  const news* told = context;
  SEXP call =
      PROTECT(Rf_lang3(told->progress, PROTECT(utf8(told->text)), PROTECT(Rf_ScalarLogical(told->is_line))));
  Rf_eval(call, R_GlobalEnv);
  UNPROTECT(3);
  return R_NilValue;
}

static void catch_jump(void* context, Rboolean jumps) {
  watch* of = context;
  if (jumps) longjmp(of->caught, 1);
}

/* The caller's handlers see the conditions of `progress`. A jump cancels the call, and continues when the
 * library has returned. */
static void progress(int32_t is_line, const char* text, void* context) {
  watch* of = context;
  const double now = seconds();
  if (of->jumped || (!is_line && now - of->told < progress_interval)) return;
  if (!is_line) of->told = now;
  news told = {of->progress, text, is_line};
  if (setjmp(of->caught) == 0)
    R_UnwindProtect(tell, &told, catch_jump, of, of->jump);
  else
    of->jumped = 1;
}

/* `options`: a character vector with names, which may repeat. The result lives as long as the .Call. */
static tessera_gam_call call_of(SEXP options, watch* of) {
  const int count = Rf_length(options);
  SEXP names = Rf_getAttrib(options, R_NamesSymbol);
  tessera_gam_option* list = (tessera_gam_option*)R_alloc((size_t)count + 1, sizeof *list);
  for (int i = 0; i < count; ++i) {
    list[i].name = Rf_translateCharUTF8(STRING_ELT(names, i));
    list[i].value = Rf_translateCharUTF8(STRING_ELT(options, i));
  }
  tessera_gam_call call = TESSERA_GAM_CALL;
  call.options = list;
  call.option_count = (size_t)count;
  call.cancelled = cancelled;
  call.context = of;
  if (of != NULL && of->progress != R_NilValue) call.progress = progress;
  return call;
}

/* What has been freed goes back to the system. */
static void give_back_memory(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

/* Tables */

/* Converts R's codes, which begin at `first` and have R's missing value. The library copies them: malloc,
 * because memory of R's would be kept until garbage collection. */
static void add_codes(tessera_gam_table table, const char* name, const int* values, R_xlen_t rows, int first,
                      const char* const* levels, size_t count, int32_t order) {
  int32_t* codes = malloc((size_t)rows * sizeof *codes);
  if (codes == NULL && rows > 0)
    raise_error(TESSERA_GAM_FAULT, "no memory for the codes of a factor", "", -1);
  for (R_xlen_t i = 0; i < rows; ++i) codes[i] = values[i] == NA_INTEGER ? -1 : values[i] - first;
  const int status = tessera_gam_table_add_factor(table, name, codes, (size_t)rows, levels, count, order);
  free(codes);
  check(status);
}

static void add_factor(tessera_gam_table table, const char* name, SEXP column) {
  const R_xlen_t rows = Rf_xlength(column);
  SEXP levels = Rf_getAttrib(column, R_LevelsSymbol);
  const int count = Rf_length(levels);
  const char** texts = (const char**)R_alloc((size_t)count + 1, sizeof *texts);
  for (int i = 0; i < count; ++i) texts[i] = Rf_translateCharUTF8(STRING_ELT(levels, i));
  add_codes(table, name, INTEGER(column), rows, 1, texts, (size_t)count,
            Rf_inherits(column, "ordered") ? TESSERA_GAM_LEVELS_ORDERED : TESSERA_GAM_LEVELS_GIVEN);
}

/* A logical column is a factor, with the levels by which R names its coefficients. */
static void add_logical(tessera_gam_table table, const char* name, SEXP column) {
  static const char* const levels[] = {"FALSE", "TRUE"};
  const R_xlen_t rows = Rf_xlength(column);
  add_codes(table, name, LOGICAL(column), rows, 0, levels, 2, TESSERA_GAM_LEVELS_GIVEN);
}

/* Numbers are read in place; `kept` lives as long as the table. */
static void add_column(tessera_gam_table table, const char* name, SEXP column, SEXP kept, int index) {
  const R_xlen_t rows = Rf_xlength(column);
  if (Rf_isFactor(column)) {
    add_factor(table, name, column);
  } else if (TYPEOF(column) == LGLSXP) {
    add_logical(table, name, column);
  } else if (TYPEOF(column) == INTSXP) {
    SET_VECTOR_ELT(kept, index, column);
    check(tessera_gam_table_add_integers(table, name, INTEGER(column), (size_t)rows));
  } else if (TYPEOF(column) == REALSXP) {
    SET_VECTOR_ELT(kept, index, column);
    check(tessera_gam_table_add_numbers(table, name, REAL(column), (size_t)rows));
  } else {
    char message[300];
    snprintf(message, sizeof message, "column '%.200s' is neither numbers, a factor nor logical values",
             name);
    raise_error(TESSERA_GAM_INPUT, message, "", -1);
  }
}

/* `columns`: a list with names, of vectors of one length. */
static SEXP table_with(SEXP columns, SEXP options) {
  const int count = Rf_length(columns);
  SEXP names = Rf_getAttrib(columns, R_NamesSymbol);
  SEXP kept = PROTECT(Rf_allocVector(VECSXP, count));
  SEXP pointer = PROTECT(new_pointer("tessera_table", close_table));
  R_SetExternalPtrProtected(pointer, kept);
  const tessera_gam_call call = call_of(options, NULL);
  tessera_gam_table handle;
  check(tessera_gam_table_open(count > 0 ? (int64_t)Rf_xlength(VECTOR_ELT(columns, 0)) : 0, &call, &handle));
  set_handle(pointer, handle);
  for (int i = 0; i < count; ++i) {
    add_column(handle, Rf_translateCharUTF8(STRING_ELT(names, i)), VECTOR_ELT(columns, i), kept, i);
  }
  give_back_memory(); /* that of the codes */
  UNPROTECT(2);
  return pointer;
}

static SEXP table(SEXP columns) {
  return table_with(columns, R_NilValue);
}

static SEXP table_files(SEXP paths, SEXP options) {
  const R_xlen_t count = Rf_xlength(paths);
  const char** texts = (const char**)R_alloc((size_t)count, sizeof *texts);
  for (R_xlen_t i = 0; i < count; ++i) texts[i] = Rf_translateChar(STRING_ELT(paths, i));
  SEXP pointer = PROTECT(new_pointer("tessera_table", close_table));
  const tessera_gam_call call = call_of(options, NULL);
  tessera_gam_table handle;
  check(tessera_gam_table_of_files(texts, (size_t)count, &call, &handle));
  set_handle(pointer, handle);
  UNPROTECT(1);
  return pointer;
}

/* Arrow streams, of which the library takes ownership */

static struct ArrowArrayStream* stream_at(SEXP pointer) {
  return TYPEOF(pointer) == EXTPTRSXP ? R_ExternalPtrAddr(pointer) : NULL;
}

static void close_stream(SEXP pointer) {
  struct ArrowArrayStream* stream = stream_at(pointer);
  if (stream == NULL) return;
  if (stream->release != NULL) stream->release(stream);
  free(stream);
  R_ClearExternalPtr(pointer);
}

/* Memory for a stream that another package exports. */
static SEXP new_stream(void) {
  SEXP pointer = PROTECT(new_pointer("tessera_stream", close_stream));
  struct ArrowArrayStream* stream = calloc(1, sizeof *stream);
  if (stream == NULL) raise_error(TESSERA_GAM_FAULT, "no memory for a stream", "", -1);
  R_SetExternalPtrAddr(pointer, stream);
  UNPROTECT(1);
  return pointer;
}

/* A stream may call R, which is allowed on this thread only: a call without callbacks reads it here. */
static SEXP table_stream(SEXP stream, SEXP options) {
  SEXP pointer = PROTECT(new_pointer("tessera_table", close_table));
  tessera_gam_call call = call_of(options, NULL);
  call.cancelled = NULL;
  tessera_gam_table handle;
  check(tessera_gam_table_of_arrow(stream_at(stream), &call, &handle));
  set_handle(pointer, handle);
  UNPROTECT(1);
  return pointer;
}

/* Models */

static SEXP fit(SEXP formula, SEXP table, SEXP options, SEXP told) {
  /* Fits that are over at once tell nothing. */
  watch of = {.progress = told, .told = seconds(), .jump = PROTECT(R_MakeUnwindCont())};
  SEXP pointer = PROTECT(new_pointer("tessera_model", close_model));
  const tessera_gam_call call = call_of(options, &of);
  tessera_gam_model handle;
  const int status = tessera_gam_fit(text_of(formula), handle_of(table), &call, &handle);
  if (status == TESSERA_GAM_OK) set_handle(pointer, handle);
  if (of.jumped) R_ContinueUnwind(of.jump);
  check(status);
  UNPROTECT(2);
  return pointer;
}

static SEXP load(SEXP path) {
  SEXP pointer = PROTECT(new_pointer("tessera_model", close_model));
  tessera_gam_model handle;
  check(tessera_gam_model_load(text_of(path), &handle));
  set_handle(pointer, handle);
  UNPROTECT(1);
  return pointer;
}

static SEXP save(SEXP model, SEXP path) {
  check(tessera_gam_model_save(handle_of(model), text_of(path)));
  return R_NilValue;
}

static SEXP json(SEXP model) {
  const char* text;
  check(tessera_gam_model_to_json(handle_of(model), &text, NULL));
  return tessera_json_value(text);
}

static SEXP summary(SEXP model) {
  const char* text;
  check(tessera_gam_summary(handle_of(model), TESSERA_GAM_JSON, &text, NULL));
  return tessera_json_value(text);
}

/* Describes these columns of a table; all columns if `names` is empty. */
static SEXP columns(SEXP table, SEXP names, SEXP options) {
  const R_xlen_t count = Rf_xlength(names);
  const char** texts = (const char**)R_alloc((size_t)count, sizeof *texts);
  for (R_xlen_t i = 0; i < count; ++i) texts[i] = Rf_translateCharUTF8(STRING_ELT(names, i));
  const tessera_gam_call call = call_of(options, NULL);
  const char* text;
  check(tessera_gam_columns(handle_of(table), texts, (size_t)count, &call, TESSERA_GAM_JSON, &text, NULL));
  return tessera_json_value(text);
}

/* A value of the model as a matrix; as a vector if it has one column. */
static SEXP value(SEXP model, SEXP name) {
  size_t rows, columns;
  const uint64_t handle = handle_of(model);
  check(tessera_gam_model_shape(handle, text_of(name), &rows, &columns));
  SEXP values = PROTECT(columns == 1 ? Rf_allocVector(REALSXP, (R_xlen_t)rows)
                                     : Rf_allocMatrix(REALSXP, (int)rows, (int)columns));
  check(tessera_gam_model_values(handle, text_of(name), REAL(values), rows * columns));
  UNPROTECT(1);
  return values;
}

/* Texts of the model by name: "coefficients", "smooths", "no_estimate", ... */
static SEXP texts(SEXP model, SEXP name) {
  const uint64_t handle = handle_of(model);
  size_t count;
  check(tessera_gam_model_text_count(handle, text_of(name), &count));
  SEXP all = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)count));
  for (size_t i = 0; i < count; ++i) {
    const char* text;
    check(tessera_gam_model_text(handle, text_of(name), i, &text));
    SET_STRING_ELT(all, (R_xlen_t)i, Rf_mkCharCE(text, CE_UTF8));
  }
  UNPROTECT(1);
  return all;
}

/* Answers */

static tessera_gam_answer_info extent_of(tessera_gam_answer answer) {
  tessera_gam_answer_info info;
  memset(&info, 0, sizeof info);
  info.size = sizeof info;
  check(tessera_gam_answer_extent(answer, &info));
  return info;
}

static tessera_gam_column_info column_at(tessera_gam_answer answer, size_t index) {
  tessera_gam_column_info info;
  memset(&info, 0, sizeof info);
  info.size = sizeof info;
  check(tessera_gam_answer_column(answer, index, &info));
  return info;
}

static SEXP column_names(tessera_gam_answer answer, size_t count) {
  SEXP texts = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)count));
  for (size_t i = 0; i < count; ++i) {
    SET_STRING_ELT(texts, (R_xlen_t)i, Rf_mkCharCE(column_at(answer, i).name, CE_UTF8));
  }
  UNPROTECT(1);
  return texts;
}

/* Closes an answer, and returns its computed columns with the attributes `constant` and `remarks`. */
static SEXP matrix_of(SEXP pointer) {
  const tessera_gam_answer answer = handle_of(pointer);
  const tessera_gam_answer_info info = extent_of(answer);
  if (info.rows > INT_MAX)
    raise_error(TESSERA_GAM_INPUT, "a matrix of R has at most 2147483647 rows", "", -1);
  const size_t columns = info.columns - info.kept;
  SEXP values = PROTECT(Rf_allocMatrix(REALSXP, (int)info.rows, (int)columns));
  check(tessera_gam_answer_matrix(answer, REAL(values), info.rows * columns));
  SEXP both = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(both, 1, column_names(answer, columns));
  Rf_setAttrib(values, R_DimNamesSymbol, both);
  Rf_setAttrib(values, Rf_install("constant"), PROTECT(Rf_ScalarReal(info.constant)));
  SEXP remarks = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)info.remarks));
  for (size_t i = 0; i < info.remarks; ++i) {
    const char* text;
    check(tessera_gam_answer_remark(answer, i, &text));
    SET_STRING_ELT(remarks, (R_xlen_t)i, Rf_mkCharCE(text, CE_UTF8));
  }
  Rf_setAttrib(values, Rf_install("remarks"), remarks);
  close_answer(pointer);
  UNPROTECT(4);
  return values;
}

typedef int (*of_rows)(tessera_gam_model, tessera_gam_table, const tessera_gam_call*, tessera_gam_answer*);

static SEXP answer_of_rows(of_rows function, SEXP model, SEXP table, SEXP options) {
  SEXP pointer = PROTECT(new_pointer("tessera_answer", close_answer));
  const tessera_gam_call call = call_of(options, NULL);
  tessera_gam_answer handle;
  check(function(handle_of(model), handle_of(table), &call, &handle));
  set_handle(pointer, handle);
  SEXP values = matrix_of(pointer);
  UNPROTECT(1);
  return values;
}

static SEXP predict(SEXP model, SEXP table, SEXP options) {
  return answer_of_rows(tessera_gam_predict, model, table, options);
}

static SEXP residuals(SEXP model, SEXP table, SEXP options) {
  return answer_of_rows(tessera_gam_residuals, model, table, options);
}

static size_t place_of(SEXP texts, SEXP text) {
  R_xlen_t place = 0;
  while (place < Rf_xlength(texts) && strcmp(CHAR(STRING_ELT(texts, place)), CHAR(text)) != 0) ++place;
  return (size_t)place;
}

/* Values for each row, such as fitted values and residuals: a list of the columns that `wanted` names. */
static SEXP rows(SEXP model, SEXP table, SEXP options, SEXP wanted) {
  give_back_memory(); /* what a fit's threads have freed is in arenas of their own, which R does not use */
  SEXP pointer = PROTECT(new_pointer("tessera_answer", close_answer));
  const tessera_gam_call call = call_of(options, NULL);
  tessera_gam_answer answer;
  check(tessera_gam_residuals(handle_of(model), handle_of(table), &call, &answer));
  set_handle(pointer, answer);
  const tessera_gam_answer_info info = extent_of(answer);
  SEXP known = PROTECT(column_names(answer, info.columns));
  SEXP columns = PROTECT(Rf_allocVector(VECSXP, Rf_xlength(wanted)));
  for (R_xlen_t i = 0; i < Rf_xlength(wanted); ++i) {
    SET_VECTOR_ELT(columns, i, Rf_allocVector(REALSXP, (R_xlen_t)info.rows));
    check(tessera_gam_answer_numbers(answer, place_of(known, STRING_ELT(wanted, i)),
                                     REAL(VECTOR_ELT(columns, i)), info.rows));
  }
  Rf_setAttrib(columns, R_NamesSymbol, wanted);
  close_answer(pointer);
  UNPROTECT(3);
  return columns;
}

/* Many models */

/* A matrix of R, which is read in place: a list of its values, its extent, a `tessera_gam_layout` with the
 * indices and begins of a sparse one, and the names of the responses (NULL: numbers). */
static tessera_gam_responses matrix_in_place(SEXP matrix) {
  tessera_gam_responses of = TESSERA_GAM_RESPONSES;
  SEXP values = VECTOR_ELT(matrix, 0), names = VECTOR_ELT(matrix, 5);
  const int is_double = TYPEOF(values) == REALSXP;
  of.values = is_double ? (const void*)REAL(values) : (const void*)INTEGER(values);
  of.value_type = is_double ? TESSERA_GAM_FLOAT64 : TESSERA_GAM_INT32;
  of.value_count = (size_t)Rf_xlength(values);
  of.rows = INTEGER(VECTOR_ELT(matrix, 1))[0];
  of.columns = INTEGER(VECTOR_ELT(matrix, 1))[1];
  of.layout = Rf_asInteger(VECTOR_ELT(matrix, 2));
  if (of.layout == TESSERA_GAM_DENSE) {
    of.row_stride = 1;
    of.column_stride = of.rows;
  } else {
    of.index_type = TESSERA_GAM_INT32;
    of.indices = INTEGER(VECTOR_ELT(matrix, 3));
    of.begins = INTEGER(VECTOR_ELT(matrix, 4));
  }
  of.name_count = (size_t)Rf_xlength(names);
  const char** texts = (const char**)R_alloc(of.name_count + 1, sizeof *texts);
  for (size_t i = 0; i < of.name_count; ++i) texts[i] = Rf_translateCharUTF8(STRING_ELT(names, (R_xlen_t)i));
  of.names = texts;
  return of;
}

static SEXP texts_of_factor(tessera_gam_answer answer, size_t column, size_t rows) {
  SEXP texts = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)rows));
  int32_t* codes = (int32_t*)R_alloc(rows + 1, sizeof *codes);
  check(tessera_gam_answer_codes(answer, column, codes, rows));
  for (size_t i = 0; i < rows; ++i) {
    SET_STRING_ELT(texts, (R_xlen_t)i, NA_STRING);
    if (codes[i] < 0) continue;
    const char* text;
    check(tessera_gam_answer_level(answer, column, (size_t)codes[i], &text));
    SET_STRING_ELT(texts, (R_xlen_t)i, Rf_mkCharCE(text, CE_UTF8));
  }
  UNPROTECT(1);
  return texts;
}

/* All columns of an answer as a list with names: texts first, as in the files of docs/many.md. */
static SEXP columns_of(SEXP pointer) {
  const tessera_gam_answer answer = handle_of(pointer);
  const tessera_gam_answer_info info = extent_of(answer);
  SEXP names = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)info.columns));
  SEXP columns = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)info.columns));
  for (size_t i = 0; i < info.columns; ++i) {
    const size_t from = (i + info.columns - info.kept) % info.columns;
    const tessera_gam_column_info column = column_at(answer, from);
    SET_STRING_ELT(names, (R_xlen_t)i, Rf_mkCharCE(column.name, CE_UTF8));
    if (column.is_factor) {
      SET_VECTOR_ELT(columns, (R_xlen_t)i, texts_of_factor(answer, from, info.rows));
    } else {
      SET_VECTOR_ELT(columns, (R_xlen_t)i, Rf_allocVector(REALSXP, (R_xlen_t)info.rows));
      check(tessera_gam_answer_numbers(answer, from, REAL(VECTOR_ELT(columns, (R_xlen_t)i)), info.rows));
    }
  }
  Rf_setAttrib(columns, R_NamesSymbol, names);
  UNPROTECT(2);
  return columns;
}

/* `matrices`: the responses, and their weights and offsets or NULL. Returns the fits, which keep models, and
 * the columns of fits and tests. */
static SEXP fit_many(SEXP formula, SEXP table, SEXP matrices, SEXP options, SEXP told) {
  watch of = {.progress = told, .told = seconds(), .jump = PROTECT(R_MakeUnwindCont())};
  SEXP fits = PROTECT(new_pointer("tessera_answer", close_answer));
  SEXP tests = PROTECT(new_pointer("tessera_answer", close_answer));
  tessera_gam_responses given[3];
  for (int i = 0; i < 3; ++i)
    if (VECTOR_ELT(matrices, i) != R_NilValue) given[i] = matrix_in_place(VECTOR_ELT(matrices, i));
  if (VECTOR_ELT(matrices, 1) != R_NilValue) given[0].weights = &given[1];
  if (VECTOR_ELT(matrices, 2) != R_NilValue) given[0].offsets = &given[2];
  const tessera_gam_call call = call_of(options, &of);
  tessera_gam_answer fitted, tested;
  const int status = tessera_gam_fit_many(text_of(formula), handle_of(table), given, &call, &fitted, &tested);
  if (status == TESSERA_GAM_OK) {
    set_handle(fits, fitted);
    set_handle(tests, tested);
  }
  if (of.jumped) R_ContinueUnwind(of.jump);
  check(status);
  SEXP found = PROTECT(Rf_allocVector(VECSXP, 3));
  SET_VECTOR_ELT(found, 0, fits);
  SET_VECTOR_ELT(found, 1, columns_of(fits));
  SET_VECTOR_ELT(found, 2, columns_of(tests));
  close_answer(tests);
  UNPROTECT(4);
  return found;
}

static SEXP many_model(SEXP fits, SEXP response) {
  SEXP pointer = PROTECT(new_pointer("tessera_model", close_model));
  tessera_gam_model handle;
  check(tessera_gam_many_model(handle_of(fits), text_of(response), &handle));
  set_handle(pointer, handle);
  UNPROTECT(1);
  return pointer;
}

/* The covariances of the coefficients of these responses, a list of matrices. */
static SEXP many_covariances(SEXP fits, SEXP responses) {
  SEXP name = PROTECT(Rf_mkString("covariance"));
  SEXP all = PROTECT(Rf_allocVector(VECSXP, Rf_xlength(responses)));
  for (R_xlen_t i = 0; i < Rf_xlength(responses); ++i) {
    SEXP model = PROTECT(many_model(fits, PROTECT(Rf_ScalarString(STRING_ELT(responses, i)))));
    SET_VECTOR_ELT(all, i, value(model, name));
    close_model(model);
    UNPROTECT(2);
  }
  UNPROTECT(2);
  return all;
}

/* The columns of the tests of curves, or of their values. */
static SEXP many_curves(SEXP fits, SEXP values, SEXP options) {
  SEXP pointer = PROTECT(new_pointer("tessera_answer", close_answer));
  const tessera_gam_call call = call_of(options, NULL);
  tessera_gam_answer handle;
  check((Rf_asLogical(values) ? tessera_gam_many_curve_values : tessera_gam_many_curves)(handle_of(fits),
                                                                                         &call, &handle));
  set_handle(pointer, handle);
  SEXP columns = PROTECT(columns_of(pointer));
  close_answer(pointer);
  UNPROTECT(2);
  return columns;
}

/* The versions of the library and of its MPI ("": no MPI). */
static SEXP version(void) {
  SEXP texts = PROTECT(Rf_allocVector(STRSXP, 2));
  SET_STRING_ELT(texts, 0, Rf_mkChar(tessera_gam_library_version()));
  SET_STRING_ELT(texts, 1, Rf_mkChar(tessera_gam_mpi_version()));
  UNPROTECT(1);
  return texts;
}

static const R_CallMethodDef routines[] = {{"table", (DL_FUNC)&table, 1},
                                           {"table_with", (DL_FUNC)&table_with, 2},
                                           {"table_files", (DL_FUNC)&table_files, 2},
                                           {"stream", (DL_FUNC)&new_stream, 0},
                                           {"table_stream", (DL_FUNC)&table_stream, 2},
                                           {"fit", (DL_FUNC)&fit, 4},
                                           {"load", (DL_FUNC)&load, 1},
                                           {"save", (DL_FUNC)&save, 2},
                                           {"json", (DL_FUNC)&json, 1},
                                           {"summary", (DL_FUNC)&summary, 1},
                                           {"columns", (DL_FUNC)&columns, 3},
                                           {"value", (DL_FUNC)&value, 2},
                                           {"texts", (DL_FUNC)&texts, 2},
                                           {"predict", (DL_FUNC)&predict, 3},
                                           {"residuals", (DL_FUNC)&residuals, 3},
                                           {"rows", (DL_FUNC)&rows, 4},
                                           {"fit_many", (DL_FUNC)&fit_many, 5},
                                           {"many_model", (DL_FUNC)&many_model, 2},
                                           {"many_covariances", (DL_FUNC)&many_covariances, 2},
                                           {"many_curves", (DL_FUNC)&many_curves, 3},
                                           {"close", (DL_FUNC)&close_pointer, 1},
                                           {"version", (DL_FUNC)&version, 0},
                                           {NULL, NULL, 0}};

void attribute_visible R_init_tessera(DllInfo* library) {
  R_registerRoutines(library, NULL, routines, NULL, NULL);
  R_useDynamicSymbols(library, FALSE);
  R_forceSymbols(library, TRUE);
}
