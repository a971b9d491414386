/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESSERA_TESSERA_GAM_H
#define TESSERA_TESSERA_GAM_H

/// Generalized additive models for C, and for languages that call C, such as R and Python:
///
///     tessera_gam_table table;
///     tessera_gam_model model;
///     const tessera_gam_option options[] = {{"family", "poisson"}, {"knots", "hour=0,24"}};
///     tessera_gam_call call = TESSERA_GAM_CALL;
///     call.options = options;
///     call.option_count = 2;
///     if (tessera_gam_table_open(rows, NULL, &table) != TESSERA_GAM_OK) return fail(tessera_gam_error());
///     tessera_gam_table_add_numbers(table, "visits", visits, rows);
///     tessera_gam_table_add_numbers(table, "hour", hours, rows);
///     tessera_gam_fit("visits ~ s(hour, bs='cc')", table, &call, &model);
///     tessera_gam_model_values(model, "coefficients", coefficients, count);
///
/// Formulas, families and results are those of the program tessera-fit (docs/fit.md), with the same bits. The
/// process belongs to the caller: the library neither needs nor starts MPI, installs no exit handler and no
/// signal handler (except for SIGINT during a call with the option comm), writes nothing to standard output
/// or standard error, and never ends the process.
///
/// *Functions* that return `int` return a `tessera_gam_status`; `tessera_gam_error` has the message. Results
/// through pointers are written only if the function returns TESSERA_GAM_OK.
///
/// *Handles* are numbers. A handle that is 0, closed, or of another kind or library is an error
/// (TESSERA_GAM_USAGE), so that no call can access freed memory. A handle may be closed while another thread
/// uses it: the object then lives until that thread's call ends.
///
/// *Threads*: any thread may call any function at any time, except `tessera_gam_shutdown`. Calls on different
/// threads are independent; calls that need a GPU wait for each other.
///
/// *Texts* are UTF-8 and end in a zero byte. Returned texts belong to the calling thread: the text of
/// `tessera_gam_error` is valid until the thread's next error, any other text until the thread's next call
/// that returns a text. Null pointers are errors unless the function says otherwise.
///
/// *Structures* begin with their size, `sizeof` at the caller's compilation. The library accepts smaller
/// structures, of programs compiled with earlier versions, and larger structures with only zeros after the
/// members that it knows.

#include <tessera/gam/arrow_abi.h>

#include <stddef.h>
#include <stdint.h>

#define TESSERA_GAM_API __attribute__((visibility("default")))

/// The version of this header. A library accepts programs compiled with its own version or an earlier one.
#define TESSERA_GAM_C_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

/// The version of the C interface of the linked library.
TESSERA_GAM_API int32_t tessera_gam_c_version(void);
/// The version of the linked library, "0.3.0".
TESSERA_GAM_API const char* tessera_gam_library_version(void);
/// The MPI library that the linked library uses, "Open MPI v4.1.4"; "" for a build without MPI.
TESSERA_GAM_API const char* tessera_gam_mpi_version(void);

/// Status codes, which are also the exit statuses of tessera-fit.
enum tessera_gam_status {
  TESSERA_GAM_OK = 0,
  TESSERA_GAM_USAGE = 2,          ///< the call, an option or an environment variable is wrong
  TESSERA_GAM_INPUT = 3,          ///< data or a file cannot be used
  TESSERA_GAM_NOT_CONVERGED = 4,  ///< the first step of a fit cannot be computed
  TESSERA_GAM_DEVICE_ABSENT = 5,  ///< a GPU is required, but none is available
  TESSERA_GAM_FAULT = 6,          ///< the system or a GPU failed, or memory has run out
  TESSERA_GAM_INTERRUPTED = 75    ///< cancelled: the callback `cancelled` returned non-zero
};

/// The message of the calling thread's last error, in one line: what failed, where, and what to do; "" if
/// there was none. Valid until the thread's next call that fails.
TESSERA_GAM_API const char* tessera_gam_error(void);

/// Details of the last error. Texts are valid as long as the text of `tessera_gam_error`.
typedef struct tessera_gam_error_info {
  size_t size;           ///< sizeof(tessera_gam_error_info)
  int32_t status;        ///< a `tessera_gam_status`; TESSERA_GAM_OK: there was no error
  const char* message;   ///< the message, in one line
  const char* function;  ///< the function that failed, "tessera_gam_fit"
  int64_t position;      ///< byte offset of the first error in an invalid formula, from 0; else -1
  const char* lines;  ///< each error in an invalid formula in a line, then the formula with carets; else ""
} tessera_gam_error_info;
/// Fills `info`, whose `size` must be set. Does not change the last error unless `info` is invalid.
TESSERA_GAM_API int tessera_gam_last_error(tessera_gam_error_info* info);

/// A table: columns in memory, or files.
typedef uint64_t tessera_gam_table;
/// A fitted model. It needs neither the table nor the call that produced it.
typedef uint64_t tessera_gam_model;
/// A table of results: predictions, smooths, draws.
typedef uint64_t tessera_gam_answer;

/// An option by name, in the form of `tessera::gam::read_options` (<tessera/gam/options.hpp>): {"gamma",
/// "1.4"}. Each function lists the options that it takes; other options are errors. `tessera_gam_options`
/// describes all options.
typedef struct tessera_gam_option {
  const char* name;
  const char* value;
} tessera_gam_option;

/// All options as JSON (`tessera::gam::options_json`), in static memory; null, with an error, if memory has
/// run out.
TESSERA_GAM_API const char* tessera_gam_options(void);

/// Reports the progress of a call. `is_line` 0: `text` is the current activity, which replaces the previous
/// one; 1: `text` is a line for a log.
typedef void (*tessera_gam_progress)(int32_t is_line, const char* text, void* context);
/// Returns 0, or any other number to end the call with TESSERA_GAM_INTERRUPTED.
typedef int32_t (*tessera_gam_cancelled)(void* context);

/// Additional arguments of a call. Null means TESSERA_GAM_CALL.
///
/// Callbacks are called on the thread that made the call, while another thread does the work. `cancelled` is
/// called before the work begins, and then at least every 50 ms. After a request the work ends at the next
/// row, draw, grid point or step of a fit, or within linear algebra. The delay is some hundredths of a second
/// for up to 500 coefficients; docs/library.md gives the longest delay for more coefficients. Functions
/// without a `tessera_gam_call` run to their end. Callbacks may call functions of this interface, except
/// `tessera_gam_shutdown`. They must return: a longjmp out of a callback is undefined behaviour, and a C++
/// exception ends the call with TESSERA_GAM_FAULT and the exception's text.
typedef struct tessera_gam_call {
  size_t size;                        ///< sizeof(tessera_gam_call)
  const tessera_gam_option* options;  ///< array of `option_count` options; null: none
  size_t option_count;
  tessera_gam_progress progress;    ///< null: none
  tessera_gam_cancelled cancelled;  ///< null: none
  void* context;                    ///< argument of both callbacks
} tessera_gam_call;
#define TESSERA_GAM_CALL \
  { sizeof(tessera_gam_call), NULL, 0, NULL, NULL, NULL }

/* Tables */

/// A table of `rows` rows, 1 or more, without columns yet. Options: block-rows, the number of rows per block
/// of the reproducible sums; the last bits of results depend on it.
TESSERA_GAM_API int tessera_gam_table_open(int64_t rows, const tessera_gam_call* call,
                                           tessera_gam_table* table);
/// Adds a column of `count` numbers, one per row; NaN is a missing value. The numbers are read in place: keep
/// them unchanged until the table is closed and no call uses it. TESSERA_GAM_USAGE while a call uses the
/// table.
TESSERA_GAM_API int tessera_gam_table_add_numbers(tessera_gam_table table, const char* name,
                                                  const double* values, size_t count);
/// Adds a column of `count` integers, one per row; INT32_MIN, R's NA_integer_, is a missing value. The
/// integers are read in place: see `tessera_gam_table_add_numbers`.
TESSERA_GAM_API int tessera_gam_table_add_integers(tessera_gam_table table, const char* name,
                                                   const int32_t* values, size_t count);
/// The order of a factor's levels in a model; the first is the reference level. SORTED: by value if all are
/// numbers, otherwise by bytes, as for files. GIVEN: the order of the argument, like R's factors. ORDERED:
/// the order of the argument, with polynomial contrasts (dose.L, dose.Q, ...), like R's ordered factors.
#define TESSERA_GAM_LEVELS_SORTED 0
#define TESSERA_GAM_LEVELS_GIVEN 1
#define TESSERA_GAM_LEVELS_ORDERED 2
/// Adds a factor. `codes` has for each row the index of its level in `levels`, from 0, or a negative number
/// for a missing value. Levels must be distinct. All arguments are copied.
TESSERA_GAM_API int tessera_gam_table_add_factor(tessera_gam_table table, const char* name,
                                                 const int32_t* codes, size_t count,
                                                 const char* const* levels, size_t level_count,
                                                 int32_t level_order);
/// Adds an Arrow column of the type of `schema`, with its values in `chunk_count` consecutive arrays; their
/// total length is the number of rows. <tessera/gam/arrow.hpp> lists the supported types, and those read in
/// place. Levels are sorted, except that a dictionary with ARROW_FLAG_DICTIONARY_ORDERED gives an ordered
/// factor.
///
/// Takes ownership of the schema and the arrays, also if the call fails: each release callback is called
/// once, and the structures are marked as released. Data read in place are released when the table is closed
/// and no call uses it, on the thread of the last use. TESSERA_GAM_USAGE for structures that are null or were
/// released; TESSERA_GAM_INPUT for an unsupported type, and for inconsistent structures.
TESSERA_GAM_API int tessera_gam_table_add_arrow(tessera_gam_table table, const char* name,
                                                struct ArrowSchema* schema, struct ArrowArray* chunks,
                                                size_t chunk_count);
/// Makes a table from the record batches of an Arrow stream, which is read to its end and released:
/// `tessera::gam::arrow_table`. More columns can be added. Takes ownership of the stream and its batches,
/// like `tessera_gam_table_add_arrow`. Options: those of `ArrowOptions`, and threads. The stream's callbacks
/// are called on one thread: the caller's, or another thread if `call` has callbacks. `cancelled` can then
/// end the reading between two batches.
TESSERA_GAM_API int tessera_gam_table_of_arrow(struct ArrowArrayStream* stream, const tessera_gam_call* call,
                                               tessera_gam_table* table);
/// Makes a table of a file (text, also compressed, HDF5, Parquet or Feather) or of a folder of files:
/// `tessera::gam::Table`. The files are read by each call that uses the table. Options: na-strings, factor,
/// numeric, date, sep, dec, comment, header, skip, block-rows.
TESSERA_GAM_API int tessera_gam_table_of_file(const char* path, const tessera_gam_call* call,
                                              tessera_gam_table* table);
/// Makes a table of several files and folders, whose rows follow each other in the order of `paths`. Options:
/// those of `tessera_gam_table_of_file`.
TESSERA_GAM_API int tessera_gam_table_of_files(const char* const* paths, size_t count,
                                               const tessera_gam_call* call, tessera_gam_table* table);
TESSERA_GAM_API int tessera_gam_table_close(tessera_gam_table table);

/* Models */

/// Fits a model: `tessera::gam::fit` (<tessera/gam/fit.hpp>). A fit that does not converge returns a model
/// whose value "converged" is 0. Options: those of `FitOptions` and of `JobOptions`, and comm.
///
/// With comm, an MPI communicator as a number from MPI_Comm_c2f, the call is *collective* over its ranks,
/// with the same arguments, on the thread that initialised MPI. A table in memory has on each rank one or
/// more rows, its part of all rows in the order of ranks, and the same columns and levels on all ranks. A
/// table in files is the whole table on each rank. Each rank gets the model, which has the same bits as a fit
/// of all rows by one process. An error on one rank is an error on all ranks. If a rank does not make the
/// call, the job ends; but a rank that ends the program is not detected (`tessera::mpi::watch_exits`).
/// Callbacks are called between passes over the rows, when there is progress to report; SIGINT also stops the
/// fit. Additional memory: a copy of the columns.
///
/// Memory: columns that the model needs, except numbers of a table in memory, and a few p x p matrices for p
/// coefficients. Cost: an iteration is one pass over the rows and some p^3 operations.
TESSERA_GAM_API int tessera_gam_fit(const char* formula, tessera_gam_table table,
                                    const tessera_gam_call* call, tessera_gam_model* model);
TESSERA_GAM_API int tessera_gam_model_close(tessera_gam_model model);
/// The number of rows of a table in which the quantiles of `count` models cross. Each model is the fit of one
/// quantile, with a family such as "elf(qu=0.1)"; `models` are in increasing order of the quantiles. Options:
/// threads.
TESSERA_GAM_API int tessera_gam_crossing_rows(const tessera_gam_model* models, size_t count,
                                              tessera_gam_table table, const tessera_gam_call* call,
                                              int64_t* rows);

/// The complete model as a text of `*length` bytes, from which its numbers are restored exactly. `length` may
/// be null.
TESSERA_GAM_API int tessera_gam_model_to_json(tessera_gam_model model, const char** text, size_t* length);
/// Reads a model from a text of `tessera_gam_model_to_json`, of `length` bytes, or from the text of a model
/// file that includes its covariance. The text may be untrusted.
TESSERA_GAM_API int tessera_gam_model_from_json(const char* text, size_t length, tessera_gam_model* model);
/// Writes or reads a model file of tessera-fit. The covariance may be in a separate file in the same folder.
TESSERA_GAM_API int tessera_gam_model_save(tessera_gam_model model, const char* path);
TESSERA_GAM_API int tessera_gam_model_load(const char* path, tessera_gam_model* model);

/// The shape of a value of the model, a matrix of `rows` x `columns`. Names of values:
///
/// - p x 1 for p coefficients: "coefficients"; "edf", effective degrees of freedom; "edf1" and "edf2", as in
///   mgcv, 0 x 1 if unknown
/// - p x p: "covariance", the posterior (Bayesian) one, mgcv's Vp, NaN for elements of a large random effect
///   that are not stored; "Ve", of the estimator; "Vc", with the uncertainty of the smoothing parameters;
///   "R", the triangular factor, R'R = X'WX. The last three are 0 x 0 if unknown: see `tessera::gam::Model`
///   (<tessera/gam/model.hpp>)
/// - "sp": smoothing parameters, in mgcv's order
/// - "reml_gradient", of fREML with respect to the logarithms of "sp"; "reml_hessian", square, with respect
///   to these logarithms and, if the scale is estimated, to its logarithm: mgcv's outer.info. 0 x 1 and 0 x 0
///   if unknown
/// - "rank" of each penalty; "null_space_dim" of each smooth; "block_terms": for each element of
///   design.blocks in the model's text, the index of its term in design.terms
/// - options of the fit: "select" (0 or 1); "given_sp" and "min_sp", 0 x 1 if not given
/// - "sample", the rows stored by the option sample: a column's numbers, or the indices of its levels, from 0
/// - 1 x 1: "n", rows of the fit; "n_dropped", rows with a missing value; "converged" (0 or 1); "iterations";
///   "edf_total", "edf1_total", "edf2_total"; "scale"; "scale_is_estimated" (0 or 1); "covariance_scale";
///   "deviance"; "null_deviance"; "residual_df"; "deviance_explained"; "r_squared_adjusted"; "reml"; "rho";
///   "log_likelihood"; "log_likelihood_df"; "AIC", from these two, R's AIC(); "aic", with the total edf,
///   mgcv's m$aic. NaN: unknown
TESSERA_GAM_API int tessera_gam_model_shape(tessera_gam_model model, const char* name, size_t* rows,
                                            size_t* columns);
/// The names of a model's values: static texts, followed by a null pointer.
TESSERA_GAM_API const char* const* tessera_gam_model_names(void);
/// Copies a value of the model to `values`, column by column. `count` must be rows times columns.
TESSERA_GAM_API int tessera_gam_model_values(tessera_gam_model model, const char* name, double* values,
                                             size_t count);
/// A text of the model, by name and index: "formula", "family", "link", "verdict" (where it was computed),
/// "no_estimate" (why there is no finite estimate, or ""), "why_not_converged", all of index 0;
/// "coefficients", the names of coefficients, by index from 0; "smooths", the labels of smooths; "response",
/// the name of the response, "" in a model of an earlier version; "response_type", "number", "factor",
/// "counts" or "limits"; "response_levels"; "knots", in the form of the option, "x=0,1"; "sample", the names
/// of the sample's columns. TESSERA_GAM_USAGE for an index beyond the last text.
TESSERA_GAM_API int tessera_gam_model_text(tessera_gam_model model, const char* name, size_t index,
                                           const char** text);
/// The number of texts with this name.
TESSERA_GAM_API int tessera_gam_model_text_count(tessera_gam_model model, const char* name, size_t* count);

/// The form of a report.
enum tessera_gam_form {
  TESSERA_GAM_TEXT = 0,  ///< text for people
  /// JSON in ASCII, with numbers in full precision and null for unknown values; docs/fit.md lists the keys.
  TESSERA_GAM_JSON = 1,
  TESSERA_GAM_BOTH = 2  ///< both, as JSON in ASCII: {"text": "...", "data": {...}}
};
/// The summary of a model, like mgcv's `summary.gam`.
TESSERA_GAM_API int tessera_gam_summary(tessera_gam_model model, int32_t form, const char** text,
                                        size_t* length);
/// Tests of one model's terms, or the analysis of deviance of `count` models of the same rows, like
/// `anova.gam`. `test`: "F", "Chisq", "none", or "auto": F if the first model's scale is estimated, else
/// chi-squared.
TESSERA_GAM_API int tessera_gam_anova(const tessera_gam_model* models, size_t count, const char* test,
                                      int32_t form, const char** text, size_t* length);
/// Describes `count` columns of a table, or all columns if `count` is 0, for inspection before a fit: kind,
/// range or levels, and missing values: `tessera::gam::describe_columns`. Options: threads.
TESSERA_GAM_API int tessera_gam_columns(tessera_gam_table table, const char* const* columns, size_t count,
                                        const tessera_gam_call* call, int32_t form, const char** text,
                                        size_t* length);
/// Checks a model against the table of its fit: bases, residuals, concurvity. Options: those of
/// `CheckOptions`, and threads.
TESSERA_GAM_API int tessera_gam_check(tessera_gam_model model, tessera_gam_table table,
                                      const tessera_gam_call* call, int32_t form, const char** text,
                                      size_t* length);

/* Many models: one formula, fitted to each of many responses */

/// How a matrix of responses is stored.
enum tessera_gam_layout {
  TESSERA_GAM_DENSE = 0,  ///< a dense matrix with a stride for rows and one for columns
  TESSERA_GAM_CSR = 1,    ///< compressed sparse rows
  TESSERA_GAM_CSC = 2     ///< compressed sparse columns
};
/// The type of a matrix's numbers or indices.
enum tessera_gam_number {
  TESSERA_GAM_FLOAT64 = 0,
  TESSERA_GAM_FLOAT32 = 1,
  TESSERA_GAM_INT8 = 2,
  TESSERA_GAM_UINT8 = 3,
  TESSERA_GAM_INT16 = 4,
  TESSERA_GAM_UINT16 = 5,
  TESSERA_GAM_INT32 = 6,
  TESSERA_GAM_UINT32 = 7,
  TESSERA_GAM_INT64 = 8,
  TESSERA_GAM_UINT64 = 9
};

/// Responses: a matrix in memory or in a file, or the columns of a table. Data in memory are read in place,
/// and must not change before the call returns.
///
/// A dense matrix has its element of row i and column j at `values[i * row_stride + j * column_stride]`. In a
/// sparse matrix, `values[k]` for k from `begins[r]` up to, but excluding, `begins[r + 1]` are elements of
/// row r (CSR) or column r (CSC). `indices[k]` are their column (CSR) or row (CSC) indices, from 0, in any
/// order. All other elements are 0; duplicate elements are added. NaN is a missing value. Unused members must
/// be 0.
typedef struct tessera_gam_responses {
  size_t size;              ///< sizeof(tessera_gam_responses)
  tessera_gam_table table;  ///< table whose columns are the responses; 0: the matrix is described by the
                            ///< members below
  int32_t layout;           ///< a `tessera_gam_layout`
  int32_t value_type;       ///< type of `values`, a `tessera_gam_number`
  int32_t index_type;       ///< type of `indices` and `begins`: TESSERA_GAM_INT32 or TESSERA_GAM_INT64
  int64_t rows;
  int64_t columns;
  const void* values;
  size_t value_count;        ///< the number of elements that may be read from `values`, and from `indices`
  int64_t row_stride;        ///< stride from row to row of a dense matrix, in elements; not negative
  int64_t column_stride;     ///< stride from column to column, in elements; not negative
  const void* indices;       ///< column or row indices of a sparse matrix
  const void* begins;        ///< offsets of a sparse matrix: rows + 1 (CSR) or columns + 1 (CSC) elements
  const char* const* names;  ///< names of the responses, which are copied; null: "1", "2", ...
  size_t name_count;         ///< number of names: the number of responses, or 0
  /// Matrices of weights and offsets, with as many rows and columns as this matrix; null: none. Their
  /// responses are matched to these by name if both matrices have names. Weights are multiplied with the
  /// prior weights; a weight of 0 excludes a row from the fit of that response. Offsets are added to the
  /// linear predictor.
  const struct tessera_gam_responses* weights;
  const struct tessera_gam_responses* offsets;
  /// A matrix in a file instead of memory, as in `tessera::gam::Responses::path`: "FILE.npy",
  /// "FILE.h5:/PATH", or a table whose columns are the responses. If the covariates are in a file too, the
  /// option checkpoint may be given. Null: none.
  const char* path;
} tessera_gam_responses;
#define TESSERA_GAM_RESPONSES \
  { sizeof(tessera_gam_responses), 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, NULL, NULL, NULL, 0, NULL, NULL, NULL }

/// Fits a formula without a response, "s(t, by=lineage) + offset(log_size)", to each response:
/// `tessera::gam::fit_many` (<tessera/gam/many.hpp>). Rows of the covariates and of the responses are matched
/// by position. `fits` receives an answer with a row for each response; docs/many.md lists its columns, and
/// texts, such as the name and "status", are copied columns (`tessera_gam_answer_info::kept`). `tests`, which
/// may be null, receives an answer with the p and q values of each term. Options: those of `ManyOptions`, of
/// `Responses` and of `JobOptions`, and comm. After an interrupted or killed call, a call with the same
/// checkpoint resumes the work, and gives the same values.
///
/// The responses are along the dimension of the matrix whose length differs from the number of rows of the
/// covariates; if both dimensions have this length, the option responses-in decides. A value that the family
/// does not allow is an error that names its response and row (TESSERA_GAM_INPUT).
///
/// With comm the call is *collective*, like `tessera_gam_fit`. Each rank must give all rows of the covariates
/// and the whole matrix, for example as a mapped file. It reads a part of the responses, and gets the results
/// of all responses. Results have the same bits on any number of ranks and threads.
///
/// Memory: the model matrix, up to 256 MB of responses at a time, and the results; with covariances also
/// p(p + 1)/2 numbers for each response of p coefficients, and the fits a second time.
TESSERA_GAM_API int tessera_gam_fit_many(const char* formula, tessera_gam_table covariates,
                                         const tessera_gam_responses* responses, const tessera_gam_call* call,
                                         tessera_gam_answer* fits, tessera_gam_answer* tests);
/// The model of a response by its name, from the `fits` of a call with the option covariances: the same model
/// as `tessera_gam_model_load` reads from a file of fits, without residuals. TESSERA_GAM_USAGE for a response
/// that does not exist or has no fit.
TESSERA_GAM_API int tessera_gam_many_model(tessera_gam_answer fits, const char* response,
                                           tessera_gam_model* model);
/// Tests of the curves of each response (smooths of one variable, by level of a factor), from the `fits` of a
/// call with the option covariances: `tessera::gam::test_curves` (<tessera/gam/curves.hpp>). Options: those
/// of `CurveTestOptions`, and threads.
TESSERA_GAM_API int tessera_gam_many_curves(tessera_gam_answer fits, const tessera_gam_call* call,
                                            tessera_gam_answer* answer);
/// The means of each response at points of its curves: `tessera::gam::curve_values`. Options: those of
/// `CurveValueOptions`, and threads.
TESSERA_GAM_API int tessera_gam_many_curve_values(tessera_gam_answer fits, const tessera_gam_call* call,
                                                  tessera_gam_answer* answer);

/* Answers of a model, as tables */

/// Predicts the rows of a table: `tessera::gam::predict` (<tessera/gam/predict.hpp>), with columns "fit",
/// "se", "lower", "s(x)", … (for type lpmatrix one column per coefficient), followed by the columns of the
/// option keep. Options: those of `PredictOptions` and of `JobOptions`.
TESSERA_GAM_API int tessera_gam_predict(tessera_gam_model model, tessera_gam_table table,
                                        const tessera_gam_call* call, tessera_gam_answer* answer);
/// Residuals of the rows of a model's table: `tessera::gam::residuals` (<tessera/gam/residuals.hpp>), a
/// column "residual", NaN in rows excluded from the fit, followed by the variables if requested. With type
/// all: "fitted", "linear_predictor", "working_weight", "deviance", "pearson", "response" and "working"; with
/// type fit the first four.
/// Options: those of `ResidualOptions`, and threads.
TESSERA_GAM_API int tessera_gam_residuals(tessera_gam_model model, tessera_gam_table table,
                                          const tessera_gam_call* call, tessera_gam_answer* answer);
/// Each smooth on a grid: `tessera::gam::smooth_estimates` (<tessera/gam/posterior.hpp>). Options of this
/// function and the next ones: those of the corresponding C++ structure, and threads.
TESSERA_GAM_API int tessera_gam_smooths(tessera_gam_model model, const tessera_gam_call* call,
                                        tessera_gam_answer* answer);
/// Derivatives of smooths on a grid.
TESSERA_GAM_API int tessera_gam_derivatives(tessera_gam_model model, const tessera_gam_call* call,
                                            tessera_gam_answer* answer);
/// Differences of smooths between levels of a factor.
TESSERA_GAM_API int tessera_gam_level_differences(tessera_gam_model model, const tessera_gam_call* call,
                                                  tessera_gam_answer* answer);
/// Linear predictors of the rows of one table minus those of another table with as many rows. Options: terms,
/// exclude, keep, new-levels, interval, unconditional, threads.
TESSERA_GAM_API int tessera_gam_table_differences(tessera_gam_model model, tessera_gam_table minuend,
                                                  tessera_gam_table subtrahend, const tessera_gam_call* call,
                                                  tessera_gam_answer* answer);
/// Draws from the posterior distribution of the coefficients, one row per draw.
TESSERA_GAM_API int tessera_gam_simulate_coefficients(tessera_gam_model model, const tessera_gam_call* call,
                                                      tessera_gam_answer* answer);
/// Smooths on their grids at the draws of `tessera_gam_simulate_coefficients`, one column per draw. Further
/// options: terms, points.
TESSERA_GAM_API int tessera_gam_simulate_smooths(tessera_gam_model model, const tessera_gam_call* call,
                                                 tessera_gam_answer* answer);
/// New responses for the rows of a table, one column per draw.
TESSERA_GAM_API int tessera_gam_simulate_responses(tessera_gam_model model, tessera_gam_table table,
                                                   const tessera_gam_call* call, tessera_gam_answer* answer);
/// Makes a table with every combination of chosen values, "x=1,2,3;g=a", and typical values of the other
/// variables: `tessera::gam::data_slice`. `typical`, which may be null, receives a text with the typical
/// values.
TESSERA_GAM_API int tessera_gam_slice(tessera_gam_model model, const char* at, tessera_gam_table* table,
                                      const char** typical);

/// The size of an answer.
typedef struct tessera_gam_answer_info {
  size_t size;     ///< sizeof(tessera_gam_answer_info)
  size_t rows;     ///< number of rows of each column
  size_t columns;  ///< number of columns: first the computed ones, then the copied ones
  size_t kept;     ///< number of columns copied from the table or the grid
  size_t remarks;
  double constant;  ///< for types terms and iterms: the intercept, which is in no column
} tessera_gam_answer_info;
TESSERA_GAM_API int tessera_gam_answer_extent(tessera_gam_answer answer, tessera_gam_answer_info* info);

/// A column of an answer.
typedef struct tessera_gam_column_info {
  size_t size;       ///< sizeof(tessera_gam_column_info)
  const char* name;  ///< a text of the calling thread
  int32_t is_factor;
  size_t levels;  ///< number of levels of a factor
} tessera_gam_column_info;
/// Fills `info` with the description of the column of this index, from 0.
TESSERA_GAM_API int tessera_gam_answer_column(tessera_gam_answer answer, size_t index,
                                              tessera_gam_column_info* info);
/// Copies the numbers of a column to `values`, NaN for missing values. `count` must be the number of rows.
/// TESSERA_GAM_USAGE for a factor.
TESSERA_GAM_API int tessera_gam_answer_numbers(tessera_gam_answer answer, size_t index, double* values,
                                               size_t count);
/// Copies the numbers of all computed columns, column by column. `count` must be the number of rows times the
/// number of computed columns.
TESSERA_GAM_API int tessera_gam_answer_matrix(tessera_gam_answer answer, double* values, size_t count);
/// Copies the codes of a factor: indices of its levels, from 0, or a negative number for a missing value.
TESSERA_GAM_API int tessera_gam_answer_codes(tessera_gam_answer answer, size_t index, int32_t* codes,
                                             size_t count);
/// The text of a level, by its index from 0, of the factor in column `index`.
TESSERA_GAM_API int tessera_gam_answer_level(tessera_gam_answer answer, size_t index, size_t level,
                                             const char** text);
/// A remark about the answer, in one line, for example about levels that did not occur in the fit.
TESSERA_GAM_API int tessera_gam_answer_remark(tessera_gam_answer answer, size_t index, const char** text);
TESSERA_GAM_API int tessera_gam_answer_close(tessera_gam_answer answer);

/// Closes all handles, ends all threads of the library and frees its texts. Call it before unloading the
/// library by dlclose. While a call is in progress on any thread, returns TESSERA_GAM_USAGE and does nothing.
/// The library can be used again afterwards.
TESSERA_GAM_API int tessera_gam_shutdown(void);

#ifdef __cplusplus
}
#endif

#endif
