/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of Arrow's with two batches of two columns of numbers, `x` and `y`, and one of texts by a
 * dictionary, `g`: what package arrow would export. The structures are those of Arrow's specification. */
#include <Rinternals.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct ArrowSchema {
  const char *format, *name, *metadata;
  int64_t flags, n_children;
  struct ArrowSchema **children, *dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length, null_count, offset, n_buffers, n_children;
  const void** buffers;
  struct ArrowArray **children, *dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema*);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray*);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

enum { columns = 3 };
typedef struct {
  double *x, *y;
  int32_t *g, *ends;
  char* levels;
  int64_t rows, next, count;
  int fails;
} rows_of;

static int streams; /* that are not released */

/* The parents own what is below them. */
static void release_schema(struct ArrowSchema* schema) {
  for (int64_t i = 0; i < schema->n_children; ++i) {
    free(schema->children[i]->dictionary);
    free(schema->children[i]);
  }
  free(schema->children);
  schema->release = NULL;
}
static void release_child_schema(struct ArrowSchema* schema) {
  schema->release = NULL;
}

static struct ArrowSchema* child_schema(const char* format, const char* name) {
  struct ArrowSchema* schema = calloc(1, sizeof *schema);
  schema->format = format;
  schema->name = name;
  schema->flags = 2;
  schema->release = release_child_schema;
  return schema;
}

static int get_schema(struct ArrowArrayStream* stream, struct ArrowSchema* out) {
  (void)stream;
  memset(out, 0, sizeof *out);
  out->format = "+s";
  out->name = "";
  out->n_children = columns;
  out->children = calloc(columns, sizeof *out->children);
  out->children[0] = child_schema("g", "x");
  out->children[1] = child_schema("g", "y");
  out->children[2] = child_schema("i", "g");
  out->children[2]->dictionary = child_schema("u", "");
  out->release = release_schema;
  return 0;
}

static void release_child(struct ArrowArray* array) {
  free(array->buffers);
  array->release = NULL;
}
static void release_array(struct ArrowArray* array) {
  for (int64_t i = 0; i < array->n_children; ++i) {
    struct ArrowArray* child = array->children[i];
    if (child->dictionary) free(child->dictionary->buffers);
    free(child->dictionary);
    if (child->release) child->release(child);
    free(child);
  }
  free(array->children);
  free(array->buffers);
  array->release = NULL;
}

static struct ArrowArray* child_array(int64_t length, int64_t buffers, const void* first,
                                      const void* second) {
  struct ArrowArray* array = calloc(1, sizeof *array);
  array->length = length;
  array->n_buffers = buffers;
  array->buffers = calloc((size_t)buffers, sizeof *array->buffers);
  array->buffers[1] = first;
  if (buffers > 2) array->buffers[2] = second;
  array->release = release_child;
  return array;
}

static int get_next(struct ArrowArrayStream* stream, struct ArrowArray* out) {
  rows_of* rows = stream->private_data;
  memset(out, 0, sizeof *out);
  if (rows->fails && rows->next > 0) return EIO;
  if (rows->next == rows->rows) return 0;
  const int64_t begin = rows->next;
  const int64_t length = begin == 0 ? rows->rows / 3 : rows->rows - begin;
  rows->next += length;
  out->length = length;
  out->n_buffers = 1;
  out->buffers = calloc(1, sizeof *out->buffers);
  out->n_children = columns;
  out->children = calloc(columns, sizeof *out->children);
  out->children[0] = child_array(length, 2, rows->x + begin, NULL);
  out->children[1] = child_array(length, 2, rows->y + begin, NULL);
  out->children[2] = child_array(length, 2, rows->g + begin, NULL);
  out->children[2]->dictionary = child_array(rows->count, 3, rows->ends, rows->levels);
  out->release = release_array;
  return 0;
}

static const char* get_last_error(struct ArrowArrayStream* stream) {
  (void)stream;
  return "the second batch is lost";
}

static void release_stream(struct ArrowArrayStream* stream) {
  free(stream->private_data);
  stream->release = NULL;
  --streams;
}

/* Puts a stream at `pointer`. The vectors are to stay as long as it is used: `ends` are of each level in
 * `levels`. */
SEXP fill_stream(SEXP pointer, SEXP x, SEXP y, SEXP g, SEXP ends, SEXP levels, SEXP fails) {
  rows_of* rows = calloc(1, sizeof *rows);
  rows->x = REAL(x);
  rows->y = REAL(y);
  rows->g = INTEGER(g);
  rows->ends = INTEGER(ends);
  rows->levels = (char*)CHAR(STRING_ELT(levels, 0));
  rows->rows = Rf_xlength(x);
  rows->count = Rf_xlength(ends) - 1;
  rows->fails = Rf_asLogical(fails);
  struct ArrowArrayStream* stream = R_ExternalPtrAddr(pointer);
  *stream = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, rows};
  ++streams;
  return pointer;
}

SEXP open_streams(void) {
  return Rf_ScalarInteger(streams);
}
