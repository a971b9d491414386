# SPDX-License-Identifier: Apache-2.0
"""Makes the files of this folder, as others write them: `pip install pyarrow pandas polars duckdb`."""

import base64
import datetime
import decimal
import pathlib

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

folder = pathlib.Path(__file__).parent


def types() -> pa.Table:
    """Five rows of each type that a table can have, the third missing."""
    day = datetime.date
    at = datetime.datetime
    columns = {
        "double": pa.array([0.1, -1.5, None, 1e300, 2.0]),
        "float": pa.array([0.5, -1.5, None, 3.25, 2.0], pa.float32()),
        "half": pa.array([0.5, -1.5, None, 65504.0, 2.0], pa.float16()),
        "int64": pa.array([1, -2, None, 2**53, 5], pa.int64()),
        "int8": pa.array([1, -2, None, 127, 5], pa.int8()),
        "uint16": pa.array([1, 2, None, 65535, 5], pa.uint16()),
        "bool": pa.array([True, False, None, True, False]),
        "date": pa.array([day(1970, 1, 2), day(1969, 12, 31), None, day(2026, 11, 28), day(9999, 12, 31)]),
        "date64": pa.array([86_400_000, -86_400_000, None, 20_785 * 86_400_000, 0], pa.date64()),
        "time": pa.array([at(1970, 1, 1, 0, 0, 1, 500_000), at(1969, 12, 31, 23, 59, 59), None, at(2026, 1, 1), at(1970, 1, 2)]),
        "zoned": pa.array([1, -1, None, 1_000, 0], pa.timestamp("ms", "Europe/Vienna")),
        "decimal": pa.array([decimal.Decimal(t) if t else None for t in ("0.10", "-1.25", None, "12345678901234567.89", "2.00")], pa.decimal128(19, 2)),
        "long": pa.array([decimal.Decimal(t) if t else None for t in ("0.1", "-1.25", None, "1e30", "123456789012345678901234567890.5")], pa.decimal256(60, 5)),
        "none": pa.nulls(5),
        "text": pa.array(["b", "a", None, "c ä", "a"]),
        "large": pa.array(["b", "a", None, "c", ""], pa.large_string()),
        "factor": pa.array(["b", "a", None, "c", "a"]).dictionary_encode(),
        "ordered": pa.DictionaryArray.from_arrays(pa.array([1, 2, None, 0, 1], pa.int8()), ["low", "mid", "high"], ordered=True),
    }
    return pa.table(columns)


def write_parquet(table: pa.Table, name: str, **options) -> None:
    pq.write_table(table, folder / name, **options)


all_types = types()
write_parquet(all_types, "types.parquet", row_group_size=2, version="2.6")
pa.feather.write_feather(all_types, folder / "types.feather", chunksize=2, compression="lz4")
pa.feather.write_feather(all_types.slice(0, 3), folder / "zstd.feather", compression="zstd")
views = pa.table({"view": pa.array(["a text of more than twelve bytes", None, "short"], pa.string_view())})
pa.feather.write_feather(views, folder / "views.feather", compression="uncompressed")
write_parquet(all_types.select(["time"]), "int96.parquet", use_deprecated_int96_timestamps=True)
write_parquet(all_types.slice(0, 0), "empty.parquet")
pa.feather.write_feather(all_types.slice(0, 0), folder / "empty.feather")
nested = pa.table({"x": [1.0, 2.0], "list": [[1], [2, 3]], "struct": [{"a": 1, "b": "t"}] * 2, "y": ["u", "v"]})
write_parquet(nested, "nested.parquet")
pa.feather.write_feather(nested, folder / "nested.feather")
for codec in ("none", "snappy", "gzip", "brotli", "lz4", "zstd"):
    write_parquet(pa.table({"x": [1.0, 2.0, 3.0], "g": ["a", "b", "a"]}), f"{codec}.parquet", compression=codec)


class Keys(pe.KmsClient):
    """Keys that are not secret."""

    def __init__(self, _):
        super().__init__()

    def wrap_key(self, key_bytes, _):
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key, _):
        return base64.b64decode(wrapped_key)


keys = pe.CryptoFactory(Keys)
for name, plain in (("encrypted", False), ("encrypted_columns", True)):
    encryption = pe.EncryptionConfiguration(footer_key="f", column_keys={"k": ["y"]}, plaintext_footer=plain)
    properties = keys.file_encryption_properties(pe.KmsConnectionConfig(), encryption)
    write_parquet(pa.table({"x": [1.0, 2.0], "y": [3.0, 4.0]}), f"{name}.parquet", encryption_properties=properties)

frame = pd.DataFrame({"y": [1.5, None, 3.5], "g": pd.Categorical(["b", None, "a"], ["b", "a", "unused"]), "n": [1, 2, 3],
                      "when": pd.to_datetime(["2026-01-01", None, "2026-01-03"])}, index=[7, 8, 9])
frame.to_parquet(folder / "pandas.parquet")
frame.reset_index(drop=True).to_feather(folder / "pandas.feather")
polars = pl.DataFrame({"y": [1.5, None, 3.5], "g": pl.Series(["b", None, "a"], dtype=pl.Categorical), "t": ["u", "v", None], "n": [1, 2, 3]})
polars.write_parquet(folder / "polars.parquet", row_group_size=2)
polars.write_ipc(folder / "polars.arrow")
duckdb.sql(f"""COPY (SELECT * FROM (VALUES (1.5::DOUBLE, 'b'::VARCHAR, 1::INTEGER, 12.25::DECIMAL(10, 2), DATE '2026-01-01'),
  (NULL, NULL, 2, NULL, NULL), (3.5, 'a', 3, -0.5, DATE '1960-01-01')) AS t(y, g, n, price, day))
  TO '{folder / "duckdb.parquet"}' (FORMAT PARQUET)""")

# Texts without the mark of UTF-8, as Impala and old versions of Spark and Hive wrote them, and bytes that are no text.
unmarked = pa.table({"text": pa.array([b"b", "c \u00e4".encode(), None, b"b"]), "bytes": pa.array([b"a", b"\xff\x00", None, b"b"])})
write_parquet(unmarked, "unmarked.parquet", store_schema=False, row_group_size=2)
pa.feather.write_feather(unmarked, folder / "unmarked.feather", compression="uncompressed")
frame.set_index(pd.Index(["u", "v", "w"], name="site")).to_parquet(folder / "pandas_index.parquet")

# The layout of Spark: files of tasks beside their checksums, columns in the names of folders, and a mark of the end.
number = 0
for region, values in {"north%2Fwest": [1.5, None], "south": [3.0], "__HIVE_DEFAULT_PARTITION__": [4.5, 5.0]}.items():
    within = folder / "spark" / f"region={region}"
    within.mkdir(parents=True, exist_ok=True)
    name = f"part-{number:05}-0b5c3f5e-9d0b-4d1e-8a53-4a6f0c1e2d3f.c000.snappy.parquet"
    rows = pa.table({"x": values, "when": pa.array([datetime.datetime(2026, 1, 1)] * len(values))})
    pq.write_table(rows, within / name, compression="snappy", use_deprecated_int96_timestamps=True)
    (within / f".{name}.crc").write_bytes(b"crc\0\0\0\2\0")
    number += 1
(folder / "spark" / "_SUCCESS").write_bytes(b"")
(folder / "spark" / "._SUCCESS.crc").write_bytes(b"crc\0\0\0\2\0")
