/* SPDX-License-Identifier: Apache-2.0 */
/* A program that was compiled by the header of the release before runs with today's library: every structure
 * of the interface is passed in the size that it had then. */
#include <tessera/tessera_gam.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "earlier_program: not so: %s; the last error: %s\n", what, tessera_gam_error());
  exit(1);
}
#define EXPECT(condition) expect(condition, #condition)

static int32_t not_cancelled(void* asked) {
  ++*(int*)asked;
  return 0;
}

int main(void) {
  enum { rows = 200 };
  static double x[rows], y[rows];
  static int32_t group[rows];
  const char* const levels[] = {"a", "b"};
  for (int row = 0; row < rows; ++row) {
    x[row] = row * 0.03;
    group[row] = row % 2;
    y[row] = sin(x[row]) + group[row] + 0.1 * sin(57.0 * row);
  }
  tessera_gam_table table;
  EXPECT(tessera_gam_table_open(rows, NULL, &table) == TESSERA_GAM_OK);
  EXPECT(tessera_gam_table_add_numbers(table, "x", x, rows) == TESSERA_GAM_OK);
  EXPECT(tessera_gam_table_add_numbers(table, "y", y, rows) == TESSERA_GAM_OK);
  EXPECT(tessera_gam_table_add_factor(table, "g", group, rows, levels, 2, TESSERA_GAM_LEVELS_GIVEN) ==
         TESSERA_GAM_OK);

  int asked = 0;
  const tessera_gam_option options[] = {{"threads", "1"}};
  tessera_gam_call call = TESSERA_GAM_CALL;
  call.options = options;
  call.option_count = 1;
  call.cancelled = not_cancelled;
  call.context = &asked;
  tessera_gam_model model;
  EXPECT(tessera_gam_fit("y ~ g + s(x, bs='cr')", table, &call, &model) == TESSERA_GAM_OK);
  EXPECT(asked > 0);

  tessera_gam_answer answer;
  EXPECT(tessera_gam_predict(model, table, &call, &answer) == TESSERA_GAM_OK);
  tessera_gam_answer_info extent;
  memset(&extent, 0, sizeof extent);
  extent.size = sizeof extent;
  EXPECT(tessera_gam_answer_extent(answer, &extent) == TESSERA_GAM_OK);
  EXPECT(extent.size == sizeof extent && extent.rows == rows && extent.columns == 1);
  tessera_gam_column_info column;
  memset(&column, 0, sizeof column);
  column.size = sizeof column;
  EXPECT(tessera_gam_answer_column(answer, 0, &column) == TESSERA_GAM_OK);
  EXPECT(strcmp(column.name, "fit") == 0 && column.is_factor == 0);

  tessera_gam_model refused;
  EXPECT(tessera_gam_fit("y ~ s(x, bs='zz')", table, &call, &refused) == TESSERA_GAM_USAGE);
  tessera_gam_error_info error;
  memset(&error, 0, sizeof error);
  error.size = sizeof error;
  EXPECT(tessera_gam_last_error(&error) == TESSERA_GAM_OK);
  EXPECT(error.status == TESSERA_GAM_USAGE && error.position >= 0 && *error.lines != '\0');

  EXPECT(tessera_gam_answer_close(answer) == TESSERA_GAM_OK);
  EXPECT(tessera_gam_model_close(model) == TESSERA_GAM_OK);
  EXPECT(tessera_gam_table_close(table) == TESSERA_GAM_OK);
  EXPECT(tessera_gam_shutdown() == TESSERA_GAM_OK);
  return 0;
}
