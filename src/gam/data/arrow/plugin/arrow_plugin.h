/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESSERA_GAM_ARROW_PLUGIN_H
#define TESSERA_GAM_ARROW_PLUGIN_H

/// The C interface of libtessera_arrow.so, which reads and writes Parquet and Feather (Arrow IPC) files by
/// Apache Arrow. The engine opens it at run time, so that neither depends on the other's build: a plugin of
/// the same TESSERA_ARROW_PLUGIN_VERSION fits.
///
///     const struct tessera_arrow_plugin* plugin = tessera_arrow_functions(TESSERA_ARROW_PLUGIN_VERSION);
///     struct tessera_arrow_text why;
///     tessera_arrow_file* file;
///     if (plugin->open(&bytes, &file, &why) != 0) return fail(why.text);
///     const struct tessera_arrow_contents* in = plugin->contents(file);
///     const int64_t columns[] = {2, 0};                         // of in->schema->children
///     struct ArrowArrayStream stream;
///     if (plugin->stream(file, 0, in->pieces, columns, 2, &stream, &why) != 0) return fail(why.text);
///     …                                                         // get_next until an array is released
///     stream.release(&stream);
///     plugin->close(file);
///
/// Functions that return `int` return 0, or another number and one line of text. No exception leaves the
/// plugin. It starts no threads of its own for a file, and calls back on the calling thread only. Any thread
/// may call any function at any time, but a stream and a writer belong to one thread at a time.

#include <tessera/gam/arrow_abi.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERA_ARROW_PLUGIN_VERSION 1

/// The reason of a failure, UTF-8, which ends in a zero byte.
struct tessera_arrow_text {
  char text[1024];
};

/// The bytes of a file, for reading. Both are the caller's, and must live as long as the file and its
/// streams.
struct tessera_arrow_input {
  int64_t size;
  /// Reads `count` bytes from byte `offset` on into `to`; several threads may call it at once. Returns their
  /// number, which is less than `count` only at the end of the file, or -1: then the caller knows why.
  int64_t (*read_at)(void* context, int64_t offset, int64_t count, void* to);
  void* context;
};

/// Where a file is written to, in order. `write` returns 0, or another number: then the caller knows why.
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
  const int64_t* piece_rows;  ///< of each piece
  /// The columns, as streams have them: a struct whose children they are. Decimals are float64 here, as are
  /// columns without values (Arrow's null); float16 is float32, date64 is date32, and an extension type is
  /// its storage. Other types are unchanged, and nested ones (formats that begin with '+') are listed, but
  /// refused by `stream`.
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
  /// Streams may be read and released later. Null does nothing.
  void (*close)(tessera_arrow_file* file);
  const struct tessera_arrow_contents* (*contents)(const tessera_arrow_file* file);

  /// The rows of pieces [first, end) in order, as record batches of at most 65,536 rows, each with rows of
  /// one piece, with these columns of the schema in this order. Values are validated: offsets, indices of
  /// dictionaries and UTF-8. At most one piece's columns are in memory. Streams of one file are independent.
  /// A failure names the piece and the column.
  int (*stream)(tessera_arrow_file* file, int64_t first, int64_t end, const int64_t* columns, int64_t count,
                struct ArrowArrayStream* out, struct tessera_arrow_text* why);
  /// The number of decimals, read so far from this column by any stream, that have more digits than a
  /// float64.
  int64_t (*inexact_decimals)(const tessera_arrow_file* file, int64_t column);

  /// Begins a file with this schema, which stays the caller's. Parquet is compressed by zstd, Feather by
  /// LZ4, where Arrow was built with them.
  int (*begin)(const struct tessera_arrow_output* output, enum tessera_arrow_format format,
               const struct ArrowSchema* schema, tessera_arrow_writer** writer,
               struct tessera_arrow_text* why);
  /// Writes a record batch, and takes it over in every case. A dictionary must be the same as in the batches
  /// before it.
  int (*append)(tessera_arrow_writer* writer, struct ArrowArray* batch, struct tessera_arrow_text* why);
  /// Ends the file, whose bytes are all written by then.
  int (*finish)(tessera_arrow_writer* writer, struct tessera_arrow_text* why);
  /// Frees the writer, finished or not; writes nothing. Null does nothing.
  void (*discard)(tessera_arrow_writer* writer);
};

/// The functions of this version; null if the plugin has another version, or if this process has another
/// Arrow library than the plugin was compiled with. The only symbol that the plugin exports.
__attribute__((visibility("default"))) const struct tessera_arrow_plugin* tessera_arrow_functions(
    int32_t version);

/// The plugin's file has this text, followed by the name of the libarrow that it needs, a line feed, the
/// folder in which it was linked with it, and a zero byte.
#define TESSERA_ARROW_PLUGIN_NEEDS "tessera_arrow_plugin 1 needs "

#ifdef __cplusplus
}
#endif

#endif
