/* SPDX-License-Identifier: Apache-2.0 */
/* Many models from C: dense, CSR and CSC matrices and the columns of a table give the same fits. */
#include <tessera/tessera_gam.h>

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { rows = 60, genes = 5 };

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "many_program: not so: %s; the last error: %s\n", what, tessera_gam_error());
  exit(1);
}
#define EXPECT(condition) expect(condition, #condition)

/* By rows; the last gene is not seen. */
static uint16_t counts[rows][genes];
static double times[rows], logs[rows];
static const char* const names[genes] = {"sox2", "gata1", "tal1", "klf4", "silent"};

static int32_t always(void* asked) {
  ++*(int*)asked;
  return 1;
}

static tessera_gam_responses dense(void) {
  tessera_gam_responses responses = TESSERA_GAM_RESPONSES;
  responses.layout = TESSERA_GAM_DENSE;
  responses.value_type = TESSERA_GAM_UINT16;
  responses.rows = rows;
  responses.columns = genes;
  responses.values = counts;
  responses.value_count = rows * genes;
  responses.row_stride = genes;
  responses.column_stride = 1;
  responses.names = names;
  responses.name_count = genes;
  return responses;
}

/* The same matrix, compressed. */
static float sparse_values[rows * genes];
static int64_t sparse_indices[rows * genes], sparse_begins[rows + 1];
static tessera_gam_responses sparse(int32_t layout) {
  const int by_rows = layout == TESSERA_GAM_CSR;
  int64_t count = 0;
  for (int run = 0; run < (by_rows ? rows : genes); ++run) {
    sparse_begins[run] = count;
    for (int other = 0; other < (by_rows ? genes : rows); ++other) {
      const uint16_t value = by_rows ? counts[run][other] : counts[other][run];
      if (value == 0) continue;
      sparse_values[count] = value;
      sparse_indices[count++] = other;
    }
  }
  sparse_begins[by_rows ? rows : genes] = count;
  tessera_gam_responses responses = dense();
  responses.layout = layout;
  responses.value_type = TESSERA_GAM_FLOAT32;
  responses.index_type = TESSERA_GAM_INT64;
  responses.values = sparse_values;
  responses.value_count = (size_t)count;
  responses.row_stride = responses.column_stride = 0;
  responses.indices = sparse_indices;
  responses.begins = sparse_begins;
  return responses;
}

/* The numbers of an answer's computed columns. */
static double* numbers(tessera_gam_answer answer, size_t* count) {
  tessera_gam_answer_info extent;
  extent.size = sizeof extent;
  EXPECT(tessera_gam_answer_extent(answer, &extent) == TESSERA_GAM_OK);
  EXPECT(extent.rows == genes);
  *count = extent.rows * (extent.columns - extent.kept);
  double* const values = malloc(*count * sizeof(double));
  EXPECT(values != NULL && tessera_gam_answer_matrix(answer, values, *count) == TESSERA_GAM_OK);
  return values;
}

/* The index of a column by its name. */
static size_t column(tessera_gam_answer answer, const char* name) {
  for (size_t index = 0;; ++index) {
    tessera_gam_column_info info;
    info.size = sizeof info;
    EXPECT(tessera_gam_answer_column(answer, index, &info) == TESSERA_GAM_OK);
    if (strcmp(info.name, name) == 0) return index;
  }
}

static const char* level(tessera_gam_answer answer, const char* name, size_t row) {
  int32_t codes[genes];
  const char* text = NULL;
  const size_t index = column(answer, name);
  EXPECT(tessera_gam_answer_codes(answer, index, codes, genes) == TESSERA_GAM_OK);
  EXPECT(tessera_gam_answer_level(answer, index, (size_t)codes[row], &text) == TESSERA_GAM_OK);
  return text;
}

int main(void) {
  tessera_gam_table cells, columns;
  double of_genes[genes][rows];
  EXPECT(tessera_gam_table_open(rows, NULL, &cells) == TESSERA_GAM_OK);
  EXPECT(tessera_gam_table_open(rows, NULL, &columns) == TESSERA_GAM_OK);
  for (int row = 0; row < rows; ++row) {
    times[row] = row * 0.1;
    logs[row] = 0.1 * (row % 4);
    for (int gene = 0; gene + 1 < genes; ++gene)
      counts[row][gene] = (uint16_t)((row * row + 3 * gene) % 7 * (1 + sin(times[row])));
    for (int gene = 0; gene < genes; ++gene) of_genes[gene][row] = counts[row][gene];
  }
  EXPECT(tessera_gam_table_add_numbers(cells, "t", times, rows) == TESSERA_GAM_OK);
  EXPECT(tessera_gam_table_add_numbers(cells, "o", logs, rows) == TESSERA_GAM_OK);
  for (int gene = 0; gene < genes; ++gene)
    EXPECT(tessera_gam_table_add_numbers(columns, names[gene], of_genes[gene], rows) == TESSERA_GAM_OK);

  const char* const formula = "s(t, bs='cr', k=6) + offset(o)";
  tessera_gam_option options[] = {{"family", "nb"}, {"threads", "2"}, {"min-rows", "10"}};
  tessera_gam_call call = TESSERA_GAM_CALL;
  call.options = options;
  call.option_count = 3;
  tessera_gam_responses responses = dense();
  tessera_gam_answer fits, tests;
  EXPECT(tessera_gam_fit_many(formula, cells, &responses, &call, &fits, &tests) == TESSERA_GAM_OK);
  size_t count, test_count;
  double* const expected = numbers(fits, &count);
  double* const expected_tests = numbers(tests, &test_count);
  EXPECT(strcmp(level(fits, "response", 3), "klf4") == 0);
  EXPECT(strcmp(level(fits, "status", 3), "converged") == 0);
  EXPECT(strcmp(level(fits, "status", 4), "all_zero") == 0);
  EXPECT(strcmp(level(tests, "response", 1), "gata1") == 0);
  EXPECT(expected_tests[column(tests, "p:s(t)") * genes] < 1e-3);
  EXPECT(isnan(expected[column(fits, "reml") * genes + 4]));
  EXPECT(tessera_gam_answer_close(tests) == TESSERA_GAM_OK);

  /* The same bits of the other forms; tests may be left out. */
  for (int form = 0; form < 4; ++form) {
    tessera_gam_responses other = form < 2 ? sparse(form == 0 ? TESSERA_GAM_CSR : TESSERA_GAM_CSC) : dense();
    if (form == 2) {
      const tessera_gam_responses of_table = TESSERA_GAM_RESPONSES;
      other = of_table;
      other.table = columns;
    }
    if (form == 3) { /* by columns */
      other.value_type = TESSERA_GAM_FLOAT64;
      other.values = of_genes;
      other.row_stride = 1;
      other.column_stride = rows;
    }
    tessera_gam_answer again;
    size_t again_count;
    EXPECT(tessera_gam_fit_many(formula, cells, &other, &call, &again, NULL) == TESSERA_GAM_OK);
    double* const found = numbers(again, &again_count);
    EXPECT(again_count == count && memcmp(found, expected, count * sizeof(double)) == 0);
    EXPECT(strcmp(level(again, "response", 0), "sox2") == 0);
    free(found);
    EXPECT(tessera_gam_answer_close(again) == TESSERA_GAM_OK);
  }

  /* With covariances each response that was fitted is a model. */
  tessera_gam_answer with_covariances;
  tessera_gam_model model = 77;
  tessera_gam_option covariances[] = {
      {"family", "nb"}, {"threads", "2"}, {"min-rows", "10"}, {"covariances", "true"}};
  call.options = covariances;
  call.option_count = 4;
  EXPECT(tessera_gam_fit_many(formula, cells, &responses, &call, &with_covariances, NULL) == TESSERA_GAM_OK);
  double* const same_numbers = numbers(with_covariances, &test_count);
  EXPECT(test_count == count && memcmp(same_numbers, expected, count * sizeof(double)) == 0);
  free(same_numbers);
  EXPECT(tessera_gam_many_model(fits, "klf4", &model) == TESSERA_GAM_USAGE);
  tessera_gam_answer curves = 77;
  EXPECT(tessera_gam_many_curves(fits, NULL, &curves) == TESSERA_GAM_USAGE && curves == 77);
  EXPECT(strstr(tessera_gam_error(), "the answer has no models") != NULL);
  EXPECT(tessera_gam_many_model(with_covariances, "silent", &model) == TESSERA_GAM_USAGE);
  EXPECT(strstr(tessera_gam_error(), "the response 'silent' has no fit (status all_zero)") != NULL);
  EXPECT(tessera_gam_many_model(with_covariances, NULL, &model) == TESSERA_GAM_USAGE && model == 77);
  EXPECT(tessera_gam_many_model(with_covariances, "klf4", &model) == TESSERA_GAM_OK);
  EXPECT(tessera_gam_many_curves(with_covariances, NULL, &curves) == TESSERA_GAM_OK);
  EXPECT(strcmp(level(curves, "response", 3), "klf4") == 0);
  EXPECT(tessera_gam_answer_close(curves) == TESSERA_GAM_OK);
  EXPECT(tessera_gam_many_curve_values(with_covariances, NULL, &curves) == TESSERA_GAM_OK);
  EXPECT(tessera_gam_answer_close(curves) == TESSERA_GAM_OK);
  EXPECT(tessera_gam_answer_close(with_covariances) == TESSERA_GAM_OK); /* the model needs it no more */
  double covariance[36], coefficients[6];
  EXPECT(tessera_gam_model_values(model, "covariance", covariance, 36) == TESSERA_GAM_OK);
  EXPECT(tessera_gam_model_values(model, "coefficients", coefficients, 6) == TESSERA_GAM_OK);
  EXPECT(coefficients[5] == expected[column(fits, "s(t).5") * genes + 3]);
  const double error_of_last = expected[column(fits, "se:s(t).5") * genes + 3];
  EXPECT(fabs(covariance[35] / (error_of_last * error_of_last) - 1) < 1e-12);
  EXPECT(covariance[1] == covariance[6]);
  tessera_gam_answer predicted;
  const tessera_gam_option with_errors[] = {{"se", "true"}, {"threads", "1"}};
  call.options = with_errors;
  call.option_count = 2;
  EXPECT(tessera_gam_predict(model, cells, &call, &predicted) == TESSERA_GAM_OK);
  double errors[rows];
  EXPECT(tessera_gam_answer_numbers(predicted, column(predicted, "se"), errors, rows) == TESSERA_GAM_OK);
  EXPECT(errors[7] > 0.01 && errors[7] < 1);
  EXPECT(tessera_gam_answer_close(predicted) == TESSERA_GAM_OK);
  EXPECT(tessera_gam_model_close(model) == TESSERA_GAM_OK);

  /* The mean of counts is that of the model with only an intercept. */
  tessera_gam_answer means;
  tessera_gam_option poisson[] = {{"family", "poisson"}, {"threads", "1"}};
  call.options = poisson;
  call.option_count = 2;
  EXPECT(tessera_gam_fit_many("1", cells, &responses, &call, &means, NULL) == TESSERA_GAM_OK);
  double intercepts[genes], sum = 0;
  EXPECT(tessera_gam_answer_numbers(means, column(means, "(Intercept)"), intercepts, genes) ==
         TESSERA_GAM_OK);
  for (int row = 0; row < rows; ++row) sum += counts[row][2];
  EXPECT(fabs(intercepts[2] - log(sum / rows)) < 1e-10);
  EXPECT(tessera_gam_answer_close(means) == TESSERA_GAM_OK);

  /* Weights of 0 leave rows out, and a constant offset is taken from the intercept. */
  static float weights[rows * genes];
  static double offset = 0.5;
  for (int row = 0; row < rows; ++row)
    for (int gene = 0; gene < genes; ++gene) weights[row * genes + gene] = gene == 2 && row % 3 == 0 ? 0 : 1;
  tessera_gam_responses of_weights = dense(), of_offsets = dense();
  of_weights.value_type = TESSERA_GAM_FLOAT32;
  of_weights.values = weights;
  of_offsets.value_type = TESSERA_GAM_FLOAT64;
  of_offsets.values = &offset;
  of_offsets.value_count = 1;
  of_offsets.row_stride = of_offsets.column_stride = 0;
  responses.weights = &of_weights;
  responses.offsets = &of_offsets;
  EXPECT(tessera_gam_fit_many("1", cells, &responses, &call, &means, NULL) == TESSERA_GAM_OK);
  EXPECT(tessera_gam_answer_numbers(means, column(means, "(Intercept)"), intercepts, genes) ==
         TESSERA_GAM_OK);
  double weighted = 0;
  for (int row = 0; row < rows; ++row) weighted += row % 3 == 0 ? 0 : counts[row][2];
  EXPECT(fabs(intercepts[2] - (log(weighted / (rows - rows / 3)) - offset)) < 1e-10);
  EXPECT(tessera_gam_answer_close(means) == TESSERA_GAM_OK);

  /* A matrix in a file, as numpy.save writes it; covariates in a file may then have a checkpoint. */
  static const char header[] =
      "\x93NUMPY\x01\x00v\x00{'descr': '<u2', 'fortran_order': False, 'shape': (60, 5), }";
  FILE* const file = fopen("many_program.npy", "wb");
  EXPECT(file != NULL && fwrite(header, 1, sizeof header - 1, file) == sizeof header - 1);
  for (size_t i = sizeof header - 1; i < 127; ++i) fputc(' ', file);
  fputc('\n', file);
  EXPECT(fwrite(counts, sizeof counts, 1, file) == 1 && fclose(file) == 0);
  tessera_gam_responses of_file = TESSERA_GAM_RESPONSES;
  of_file.path = "many_program.npy";
  call.options = options;
  call.option_count = 3;
  EXPECT(tessera_gam_fit_many(formula, cells, &of_file, &call, &means, NULL) == TESSERA_GAM_OK);
  double* const of_path = numbers(means, &test_count);
  EXPECT(test_count == count && memcmp(of_path, expected, count * sizeof(double)) == 0);
  EXPECT(strcmp(level(means, "response", 3), "4") == 0);
  free(of_path);
  EXPECT(tessera_gam_answer_close(means) == TESSERA_GAM_OK);
  of_file.size = offsetof(tessera_gam_responses, path); /* of a program that does not know it */
  tessera_gam_answer none = 77;
  EXPECT(tessera_gam_fit_many(formula, cells, &of_file, &call, &none, NULL) != TESSERA_GAM_OK);
  of_file = dense();
  of_file.path = "many_program.npy";
  EXPECT(tessera_gam_fit_many(formula, cells, &of_file, &call, &none, NULL) == TESSERA_GAM_USAGE);
  EXPECT(strstr(tessera_gam_error(), "responses are given both by path and in memory") != NULL);
  EXPECT(remove("many_program.npy") == 0);
  call.options = poisson;
  call.option_count = 2;

  /* Refusals write nothing. */
  responses.row_stride = genes + 1;
  EXPECT(tessera_gam_fit_many(formula, cells, &responses, &call, &none, NULL) == TESSERA_GAM_USAGE);
  EXPECT(strstr(tessera_gam_error(), "strides of 6 and 1 lead outside its 300 numbers") != NULL);
  responses = sparse(TESSERA_GAM_CSR);
  sparse_indices[7] = genes;
  EXPECT(tessera_gam_fit_many(formula, cells, &responses, &call, &none, NULL) == TESSERA_GAM_INPUT);
  EXPECT(strstr(tessera_gam_error(), "the index 5 of element 7 is outside of the matrix") != NULL);
  responses.index_type = TESSERA_GAM_INT8;
  EXPECT(tessera_gam_fit_many(formula, cells, &responses, &call, &none, NULL) == TESSERA_GAM_USAGE);
  responses = dense();
  responses.name_count = 3;
  EXPECT(tessera_gam_fit_many(formula, cells, &responses, &call, &none, NULL) == TESSERA_GAM_USAGE);
  EXPECT(strstr(tessera_gam_error(), "3 names are given for 5 responses") != NULL);
  responses = dense();
  of_weights.table = columns;
  responses.weights = &of_weights;
  EXPECT(tessera_gam_fit_many(formula, cells, &responses, &call, &none, NULL) == TESSERA_GAM_USAGE);
  EXPECT(strstr(tessera_gam_error(), "weights must contain only a matrix") != NULL);
  responses = dense();
  responses.value_type = 99;
  EXPECT(tessera_gam_fit_many(formula, cells, &responses, &call, &none, NULL) == TESSERA_GAM_USAGE);
  responses = dense();
  EXPECT(tessera_gam_fit_many("s(t, bs='zz')", cells, &responses, &call, &none, NULL) == TESSERA_GAM_USAGE);
  tessera_gam_error_info error;
  error.size = sizeof error;
  EXPECT(tessera_gam_last_error(&error) == TESSERA_GAM_OK);
  EXPECT(error.position == 8 && strstr(error.lines, "s(t, bs='zz')") != NULL);
  tessera_gam_option wrong[] = {{"gamma", "2"}};
  call.options = wrong;
  call.option_count = 1;
  EXPECT(tessera_gam_fit_many(formula, cells, &responses, &call, &none, NULL) == TESSERA_GAM_USAGE);
  EXPECT(tessera_gam_fit_many(formula, cells, NULL, NULL, &none, NULL) == TESSERA_GAM_USAGE);
  int asked = 0;
  call.option_count = 0;
  call.cancelled = always;
  call.context = &asked;
  EXPECT(tessera_gam_fit_many(formula, cells, &responses, &call, &none, NULL) == TESSERA_GAM_INTERRUPTED);
  EXPECT(asked > 0 && none == 77);

  free(expected);
  free(expected_tests);
  EXPECT(tessera_gam_shutdown() == TESSERA_GAM_OK);
  return 0;
}
