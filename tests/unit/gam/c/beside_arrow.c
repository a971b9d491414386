/* SPDX-License-Identifier: Apache-2.0 */
/* A program that has Arrow's own header of its C interfaces, of which the guards and the first structure are
 * here, compiles with the interface's too, and uses the structures of either. */
#define ARROW_C_DATA_INTERFACE
#include <stdint.h>

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray;

#include <tessera/tessera_gam.h>

int add_column(tessera_gam_table table, struct ArrowSchema* schema, struct ArrowArray* array) {
  return tessera_gam_table_add_arrow(table, schema->name, schema, array, 1);
}
int read_stream(struct ArrowArrayStream* stream, tessera_gam_table* table) {
  return stream->get_next == NULL ? TESSERA_GAM_USAGE : tessera_gam_table_of_arrow(stream, NULL, table);
}
