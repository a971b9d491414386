/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESSERA_GAM_ARROW_PLUGIN_H
#define TESSERA_GAM_ARROW_PLUGIN_H

/// The C interface of libtessera_arrow.so, which reads and writes Parquet and Feather (Arrow IPC) files by
/// Apache Arrow. The engine opens the plugin at run time; each is built without the other, and both must have
/// the same TESSERA_ARROW_PLUGIN_VERSION.
///
///     const struct tessera_arrow_plugin* plugin = tessera_arrow_functions(TESSERA_ARROW_PLUGIN_VERSION);
///     struct tessera_arrow_text why;
///     tessera_arrow_file* file;
///     if (plugin->open(&bytes, &file, &why) != 0) return fail(why.text);
///     const struct tessera_arrow_contents* in = plugin->contents(file);
///     const int64_t columns[] = {2, 0};                         // of in->schema->children
///     struct ArrowArrayStream stream;
///     if (plugin->stream(file, 0, in->pieces, columns, 2, NULL, &stream, &why) != 0) return fail(why.text);
///     …                                                         // get_next until an array is released
///     stream.release(&stream);
///     plugin->close(file);
///
/// Functions that return `int` return 0; after a failure another number, with the reason in `why`. No
/// exception leaves the plugin. It starts no threads of its own, and calls back on the calling thread only.
/// Any thread may call any function at any time, but a stream and a writer belong to one thread at a time.

#include <tessera/gam/arrow_abi.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERA_ARROW_PLUGIN_VERSION 1

/// The reason of a failure in one line: UTF-8, zero-terminated.
struct tessera_arrow_text {
  char text[1024];
};

/// Random access to the bytes of a file. The caller owns this structure and `context`; both must outlive the
/// file and its streams.
struct tessera_arrow_input {
  int64_t size;
  /// Reads `count` bytes from `offset` on into `to`. Thread-safe. Returns the number of bytes read, less than
  /// `count` only at the end of the file; -1 after a failure, whose reason the caller keeps.
  int64_t (*read_at)(void* context, int64_t offset, int64_t count, void* to);
  void* context;
};

/// Sequential output to a file. `write` returns 0; nonzero after a failure, whose reason the caller keeps.
struct tessera_arrow_output {
  int (*write)(void* context, const void* bytes, int64_t count);
  void* context;
};

enum tessera_arrow_format { TESSERA_ARROW_PARQUET = 1, TESSERA_ARROW_FEATHER = 2 };

/// A file that is open for reading.
typedef struct tessera_arrow_file tessera_arrow_file;

/// The contents of a file, from its metadata. The file owns the memory.
struct tessera_arrow_contents {
  enum tessera_arrow_format format;
  int64_t rows;
  int64_t pieces;             ///< row groups or record batches
  const int64_t* piece_rows;  ///< number of rows of each piece
  /// The schema of the streams: a struct with a child for each column. Converted types: decimals and Arrow's
  /// null type to float64, float16 to float32, date64 to date32, binary to utf8, an extension type to its
  /// storage type. Nested types (formats that begin with '+') are listed, but refused by `stream`.
  const struct ArrowSchema* schema;
};

/// A file that is being written.
typedef struct tessera_arrow_writer tessera_arrow_writer;

struct tessera_arrow_plugin {
  int32_t version;            ///< TESSERA_ARROW_PLUGIN_VERSION
  const char* arrow_version;  ///< "26.0.1"

  /// Opens a file of either format, recognised by its first bytes. Only metadata is read. A file that is
  /// truncated, damaged, encrypted, or of neither format is refused.
  int (*open)(const struct tessera_arrow_input* input, tessera_arrow_file** file,
              struct tessera_arrow_text* why);
  /// Closes a file, whose streams may still be read and released. Null does nothing.
  void (*close)(tessera_arrow_file* file);
  const struct tessera_arrow_contents* (*contents)(const tessera_arrow_file* file);

  /// Streams the rows of pieces [first, end) in order, with `columns` (indices in the schema) in this order.
  /// Each record batch has at most 65,536 rows of one piece. Validates text offsets and UTF-8, but not
  /// dictionary indices. At most one piece's columns are in memory. Streams of one file are independent. A
  /// failure names the piece and the column. `to` may be null; else it has, for each column, null or memory
  /// of 8 bytes per row. A Parquet column of float64 or int64 is read into that memory, to which the arrays
  /// of the batches then refer; a missing float64 is NaN there.
  int (*stream)(tessera_arrow_file* file, int64_t first, int64_t end, const int64_t* columns, int64_t count,
                void* const* to, struct ArrowArrayStream* out, struct tessera_arrow_text* why);
  /// Of the decimals that streams have read from this column, the number with more digits than a float64.
  int64_t (*inexact_decimals)(const tessera_arrow_file* file, int64_t column);

  /// Begins a file with this schema, which the caller still owns. Parquet is compressed by zstd, Feather by
  /// LZ4, if Arrow was built with them.
  int (*begin)(const struct tessera_arrow_output* output, enum tessera_arrow_format format,
               const struct ArrowSchema* schema, tessera_arrow_writer** writer,
               struct tessera_arrow_text* why);
  /// Writes a record batch, and takes ownership of it even if the call fails. A dictionary must be the same
  /// in all batches.
  int (*append)(tessera_arrow_writer* writer, struct ArrowArray* batch, struct tessera_arrow_text* why);
  /// Writes the end of the file; afterwards all bytes have been passed to `write`.
  int (*finish)(tessera_arrow_writer* writer, struct tessera_arrow_text* why);
  /// Frees the writer, finished or not; writes nothing. Null does nothing.
  void (*discard)(tessera_arrow_writer* writer);
};

/// The functions of this version; null if the plugin has another version, or if this process has another
/// Arrow library than the plugin was compiled with. The only symbol that the plugin exports.
__attribute__((visibility("default"))) const struct tessera_arrow_plugin* tessera_arrow_functions(
    int32_t version);

/// The plugin's file contains this text, followed by the name of the libarrow that the plugin needs, a line
/// feed, the folder of that library when the plugin was linked, and a zero byte.
#define TESSERA_ARROW_PLUGIN_NEEDS "tessera_arrow_plugin 1 needs "

#ifdef __cplusplus
}
#endif

#endif
