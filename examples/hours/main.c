/* SPDX-License-Identifier: Apache-2.0 */
/* A generalized additive model from C: visits by the hour of the day, at three sites. No MPI is in the
 * process. */
#include <stdio.h>
#include <stdlib.h>
#include <tessera/tessera_gam.h>

enum { rows = 6000, hours = 5 };

static const char* const sites[] = {"bay", "cape", "dune"};

/* Ends the program with the reason, unless the call has succeeded. */
static void expect(int status) {
  if (status == TESSERA_GAM_OK) return;
  fprintf(stderr, "hours: %s\n", tessera_gam_error());
  exit(status);
}

static void show_progress(int32_t is_line, const char* text, void* file) {
  if (!is_line) fprintf(file, "%s\n", text);
}

/* Visits of each hour at each site, with a peak in the afternoon. */
static void fill(double* hour, int32_t* site, double* visits) {
  for (int row = 0; row < rows; ++row) {
    hour[row] = row % 240 / 10.0;
    site[row] = row % 3;
    const double distance = hour[row] - 15;
    visits[row] = (int)(3 * (1 + site[row]) / (1 + distance * distance / 20) + row * 7 % 11 / 5.0);
  }
}

/* As a file for tessera-fit. */
static void write_table(const char* path, const double* hour, const int32_t* site, const double* visits) {
  FILE* file = fopen(path, "w");
  if (file == NULL) exit(1);
  fprintf(file, "hour,site,visits\n");
  for (int row = 0; row < rows; ++row)
    fprintf(file, "%.17g,%s,%.17g\n", hour[row], sites[site[row]], visits[row]);
  if (fclose(file) != 0) exit(1);
}

/* `hours [TABLE MODEL]` also writes the table as CSV, and the model as tessera-fit does. */
int main(int argc, char** argv) {
  static double hour[rows];
  static double visits[rows];
  static int32_t site[rows];
  fill(hour, site, visits);

  tessera_gam_table table;
  expect(tessera_gam_table_open(rows, NULL, &table));
  expect(tessera_gam_table_add_numbers(table, "hour", hour, rows));
  expect(tessera_gam_table_add_numbers(table, "visits", visits, rows));
  expect(tessera_gam_table_add_factor(table, "site", site, rows, sites, 3, TESSERA_GAM_LEVELS_SORTED));

  const tessera_gam_option options[] = {{"family", "poisson"}, {"knots", "hour=0,24"}};
  tessera_gam_call call = TESSERA_GAM_CALL;
  call.options = options;
  call.option_count = 2;
  call.progress = show_progress;
  call.context = stderr;
  tessera_gam_model model;
  expect(tessera_gam_fit("visits ~ site + s(hour, bs='cc', k=12)", table, &call, &model));

  const char* summary;
  expect(tessera_gam_summary(model, TESSERA_GAM_TEXT, &summary, NULL));
  printf("%s\n", summary);

  /* The mean at the cape, with its standard error, every six hours. */
  const double at[hours] = {0, 6, 12, 18, 24};
  const int32_t cape[hours] = {0, 0, 0, 0, 0};
  tessera_gam_table wanted;
  expect(tessera_gam_table_open(hours, NULL, &wanted));
  expect(tessera_gam_table_add_numbers(wanted, "hour", at, hours));
  expect(tessera_gam_table_add_factor(wanted, "site", cape, hours, sites + 1, 1, TESSERA_GAM_LEVELS_SORTED));
  const tessera_gam_option type[] = {{"type", "response"}, {"se", "true"}};
  tessera_gam_call prediction = TESSERA_GAM_CALL;
  prediction.options = type;
  prediction.option_count = 2;
  tessera_gam_answer answer;
  expect(tessera_gam_predict(model, wanted, &prediction, &answer));
  double predicted[2 * hours];
  expect(tessera_gam_answer_matrix(answer, predicted, 2 * hours));
  for (int i = 0; i < hours; ++i)
    printf("%5g h: %.3f visits, se %.3f\n", at[i], predicted[i], predicted[hours + i]);

  if (argc == 3) {
    write_table(argv[1], hour, site, visits);
    expect(tessera_gam_model_save(model, argv[2]));
  }
  expect(tessera_gam_answer_close(answer));
  expect(tessera_gam_table_close(wanted));
  expect(tessera_gam_table_close(table));
  expect(tessera_gam_model_close(model));
  expect(tessera_gam_shutdown());
  return 0;
}
