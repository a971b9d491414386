/* SPDX-License-Identifier: Apache-2.0 */
/* tessera_gam.h of version 0.3.0 without its comments, by which earlier programs were compiled. */
#ifndef TESSERA_TESSERA_GAM_H
#define TESSERA_TESSERA_GAM_H
#include <stddef.h>
#include <stdint.h>
#include <tessera/gam/arrow_abi.h>
#define TESSERA_GAM_API __attribute__((visibility("default")))
#define TESSERA_GAM_C_VERSION 1
#ifdef __cplusplus
extern "C" {
#endif
TESSERA_GAM_API int32_t tessera_gam_c_version(void);
TESSERA_GAM_API const char* tessera_gam_library_version(void);
TESSERA_GAM_API const char* tessera_gam_mpi_version(void);
enum tessera_gam_status {
  TESSERA_GAM_OK = 0,
  TESSERA_GAM_USAGE = 2,
  TESSERA_GAM_INPUT = 3,
  TESSERA_GAM_NOT_CONVERGED = 4,
  TESSERA_GAM_DEVICE_ABSENT = 5,
  TESSERA_GAM_FAULT = 6,
  TESSERA_GAM_INTERRUPTED = 75
};
TESSERA_GAM_API const char* tessera_gam_error(void);
typedef struct tessera_gam_error_info {
  size_t size;
  int32_t status;
  const char* message;
  const char* function;
  int64_t position;
  const char* lines;
} tessera_gam_error_info;
TESSERA_GAM_API int tessera_gam_last_error(tessera_gam_error_info* info);
typedef uint64_t tessera_gam_table;
typedef uint64_t tessera_gam_model;
typedef uint64_t tessera_gam_answer;
typedef struct tessera_gam_option {
  const char* name;
  const char* value;
} tessera_gam_option;
typedef void (*tessera_gam_progress)(int32_t is_line, const char* text, void* context);
typedef int32_t (*tessera_gam_cancelled)(void* context);
typedef struct tessera_gam_call {
  size_t size;
  const tessera_gam_option* options;
  size_t option_count;
  tessera_gam_progress progress;
  tessera_gam_cancelled cancelled;
  void* context;
} tessera_gam_call;
#define TESSERA_GAM_CALL \
  { sizeof(tessera_gam_call), NULL, 0, NULL, NULL, NULL }
TESSERA_GAM_API int tessera_gam_table_open(int64_t rows, const tessera_gam_call* call,
                                           tessera_gam_table* table);
TESSERA_GAM_API int tessera_gam_table_add_numbers(tessera_gam_table table, const char* name,
                                                  const double* values, size_t count);
#define TESSERA_GAM_LEVELS_SORTED 0
#define TESSERA_GAM_LEVELS_GIVEN 1
#define TESSERA_GAM_LEVELS_ORDERED 2
TESSERA_GAM_API int tessera_gam_table_add_factor(tessera_gam_table table, const char* name,
                                                 const int32_t* codes, size_t count,
                                                 const char* const* levels, size_t level_count,
                                                 int32_t level_order);
TESSERA_GAM_API int tessera_gam_table_add_arrow(tessera_gam_table table, const char* name,
                                                struct ArrowSchema* schema, struct ArrowArray* chunks,
                                                size_t chunk_count);
TESSERA_GAM_API int tessera_gam_table_of_arrow(struct ArrowArrayStream* stream, const tessera_gam_call* call,
                                               tessera_gam_table* table);
TESSERA_GAM_API int tessera_gam_table_of_file(const char* path, const tessera_gam_call* call,
                                              tessera_gam_table* table);
TESSERA_GAM_API int tessera_gam_table_close(tessera_gam_table table);
TESSERA_GAM_API int tessera_gam_fit(const char* formula, tessera_gam_table table,
                                    const tessera_gam_call* call, tessera_gam_model* model);
TESSERA_GAM_API int tessera_gam_model_close(tessera_gam_model model);
TESSERA_GAM_API int tessera_gam_model_to_json(tessera_gam_model model, const char** text, size_t* length);
TESSERA_GAM_API int tessera_gam_model_from_json(const char* text, size_t length, tessera_gam_model* model);
TESSERA_GAM_API int tessera_gam_model_save(tessera_gam_model model, const char* path);
TESSERA_GAM_API int tessera_gam_model_load(const char* path, tessera_gam_model* model);
TESSERA_GAM_API int tessera_gam_model_shape(tessera_gam_model model, const char* name, size_t* rows,
                                            size_t* columns);
TESSERA_GAM_API const char* const* tessera_gam_model_names(void);
TESSERA_GAM_API int tessera_gam_model_values(tessera_gam_model model, const char* name, double* values,
                                             size_t count);
TESSERA_GAM_API int tessera_gam_model_text(tessera_gam_model model, const char* name, size_t index,
                                           const char** text);
TESSERA_GAM_API int tessera_gam_model_text_count(tessera_gam_model model, const char* name, size_t* count);
enum tessera_gam_form { TESSERA_GAM_TEXT = 0, TESSERA_GAM_JSON = 1, TESSERA_GAM_BOTH = 2 };
TESSERA_GAM_API int tessera_gam_summary(tessera_gam_model model, int32_t form, const char** text,
                                        size_t* length);
TESSERA_GAM_API int tessera_gam_anova(const tessera_gam_model* models, size_t count, const char* test,
                                      int32_t form, const char** text, size_t* length);
TESSERA_GAM_API int tessera_gam_check(tessera_gam_model model, tessera_gam_table table,
                                      const tessera_gam_call* call, int32_t form, const char** text,
                                      size_t* length);
TESSERA_GAM_API int tessera_gam_predict(tessera_gam_model model, tessera_gam_table table,
                                        const tessera_gam_call* call, tessera_gam_answer* answer);
TESSERA_GAM_API int tessera_gam_residuals(tessera_gam_model model, tessera_gam_table table,
                                          const tessera_gam_call* call, tessera_gam_answer* answer);
TESSERA_GAM_API int tessera_gam_smooths(tessera_gam_model model, const tessera_gam_call* call,
                                        tessera_gam_answer* answer);
TESSERA_GAM_API int tessera_gam_derivatives(tessera_gam_model model, const tessera_gam_call* call,
                                            tessera_gam_answer* answer);
TESSERA_GAM_API int tessera_gam_level_differences(tessera_gam_model model, const tessera_gam_call* call,
                                                  tessera_gam_answer* answer);
TESSERA_GAM_API int tessera_gam_table_differences(tessera_gam_model model, tessera_gam_table minuend,
                                                  tessera_gam_table subtrahend, const tessera_gam_call* call,
                                                  tessera_gam_answer* answer);
TESSERA_GAM_API int tessera_gam_simulate_coefficients(tessera_gam_model model, const tessera_gam_call* call,
                                                      tessera_gam_answer* answer);
TESSERA_GAM_API int tessera_gam_simulate_smooths(tessera_gam_model model, const tessera_gam_call* call,
                                                 tessera_gam_answer* answer);
TESSERA_GAM_API int tessera_gam_simulate_responses(tessera_gam_model model, tessera_gam_table table,
                                                   const tessera_gam_call* call, tessera_gam_answer* answer);
TESSERA_GAM_API int tessera_gam_slice(tessera_gam_model model, const char* at, tessera_gam_table* table,
                                      const char** typical);
typedef struct tessera_gam_answer_info {
  size_t size;
  size_t rows;
  size_t columns;
  size_t kept;
  size_t remarks;
  double constant;
} tessera_gam_answer_info;
TESSERA_GAM_API int tessera_gam_answer_extent(tessera_gam_answer answer, tessera_gam_answer_info* info);
typedef struct tessera_gam_column_info {
  size_t size;
  const char* name;
  int32_t is_factor;
  size_t levels;
} tessera_gam_column_info;
TESSERA_GAM_API int tessera_gam_answer_column(tessera_gam_answer answer, size_t index,
                                              tessera_gam_column_info* info);
TESSERA_GAM_API int tessera_gam_answer_numbers(tessera_gam_answer answer, size_t index, double* values,
                                               size_t count);
TESSERA_GAM_API int tessera_gam_answer_matrix(tessera_gam_answer answer, double* values, size_t count);
TESSERA_GAM_API int tessera_gam_answer_codes(tessera_gam_answer answer, size_t index, int32_t* codes,
                                             size_t count);
TESSERA_GAM_API int tessera_gam_answer_level(tessera_gam_answer answer, size_t index, size_t level,
                                             const char** text);
TESSERA_GAM_API int tessera_gam_answer_remark(tessera_gam_answer answer, size_t index, const char** text);
TESSERA_GAM_API int tessera_gam_answer_close(tessera_gam_answer answer);
TESSERA_GAM_API int tessera_gam_shutdown(void);
#ifdef __cplusplus
}
#endif
#endif
