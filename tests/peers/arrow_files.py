"""Writes engine/data/internal/arrow/testdata: files of pyarrow in every layout that is read, and their rows as JSON.

    python tests/peers/arrow_files.py          (pyarrow)

The columns are those of parquet_files.py, and others that Parquet does not have.
"""
import datetime
import json
import os

import pyarrow as pa
import pyarrow.ipc as ipc

import parquet_files

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "..", "engine", "data", "internal", "arrow", "testdata")
N = parquet_files.N

def table():
    t = pa.table(parquet_files.rows(), schema=parquet_files.SCHEMA)
    words = [["red", "green", None, "größer"][i % 4] for i in range(N)]
    more = {
        "word": pa.array(words).dictionary_encode(),
        "words": pa.array([[w] * (i % 3) for i, w in enumerate(words)], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
        "view": pa.array([w and w * i for i, w in enumerate(words)], pa.string_view()),
        "many": pa.array([[i] * (i % 3) if i % 5 else None for i in range(N)], pa.large_list(pa.uint16())),
        "pair": pa.array([[i, -i] if i % 5 else None for i in range(N)], pa.list_(pa.int8(), 2)),
        "map": pa.array([[("k", i), ("l", None)] if i % 2 else [] for i in range(N)], pa.map_(pa.string(), pa.int64())),
        "json": pa.array(['{"a": [%d, null]}' % i if i % 3 else None for i in range(N)], pa.json_()),
        "byte": pa.array([i * 6 for i in range(N)], pa.uint8()),
        "tiny": pa.array([i / 8 - 2 for i in range(N)], pa.float16()),
        "none": pa.nulls(N),
        "day": pa.array(range(N), pa.date32()),
        "time": pa.array(range(N), pa.timestamp("us")),
        "bytes": pa.array([b"plain"] * N, pa.large_binary()),
        # columns that nobody asks for, and that have to be gone past
        "money": pa.array([None] * N, pa.decimal128(10, 2)),
        "key": pa.array([b"0123"] * N, pa.binary(4)),
        "union": pa.UnionArray.from_dense(pa.array([0] * N, pa.int8()), pa.array(range(N), pa.int32()), [pa.array(range(N)), pa.array(["x"])]),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([N], pa.int32()), pa.array(["run"])),
        "lists": pa.array([[i] for i in range(N)], pa.list_view(pa.int32())),
    }
    for name, column in more.items():
        t = t.append_column(name, column)
    return t.append_column("last", pa.array(["the last column"] * N))


UNREAD = ["money", "key", "union", "runs", "lists"]


def plainly(name, value):
    if name == "map":
        return dict(value)
    if name == "json":
        return value and json.loads(value)
    if isinstance(value, datetime.date):  # as RFC 3339 has it, without zeros at the end
        whole, _, part = value.isoformat().partition(".")
        return whole + ("" if "T" in whole else "T00:00:00") + ("." + part.rstrip("0") if part else "") + "Z"
    return value.decode() if isinstance(value, bytes) else value


def write(name, t, file=False, batch=None, **options):
    maker = ipc.new_file if file else ipc.new_stream
    with maker(os.path.join(OUT, name + ".arrow"), t.schema, options=ipc.IpcWriteOptions(**options)) as w:
        w.write_table(t, max_chunksize=batch)


def main():
    os.makedirs(OUT, exist_ok=True)
    t = table()
    read = t.drop_columns(UNREAD)
    rows = [{n: plainly(n, v) for n, v in r.items()} for r in read.to_pylist()]
    with open(os.path.join(OUT, "rows.json"), "w") as f:
        json.dump(rows, f, ensure_ascii=False, separators=(",", ":"))
    write("stream", t)
    write("batches", t, batch=7)
    write("file", t, file=True, batch=13)
    write("lz4", t, batch=20, compression="lz4")
    write("zstd", t, compression="zstd")
    # a dictionary that grows: the second batch adds to what the first one has
    words = [pa.array(["a", "b", "a"]).dictionary_encode(), pa.DictionaryArray.from_arrays(pa.array([2, 0, 1], pa.int32()), pa.array(["a", "b", "c"]))]
    for name, deltas in {"deltas": True, "replaced": False}.items():
        with ipc.new_stream(os.path.join(OUT, name + ".arrow"), pa.schema([("word", words[0].type)]), options=ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)) as w:
            for a in words:
                w.write_batch(pa.record_batch([a], names=["word"]))
    with ipc.new_stream(os.path.join(OUT, "bytes.arrow"), pa.schema([("text", pa.binary())])) as w:
        w.write_batch(pa.record_batch([pa.array([b"\xff\xfe"])], names=["text"]))
    inner = pa.array(["a", "b"]).dictionary_encode()
    outer = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.StructArray.from_arrays([inner], ["x"]))
    with ipc.new_stream(os.path.join(OUT, "nested.arrow"), pa.schema([("word", outer.type)])) as w:
        w.write_batch(pa.record_batch([outer], names=["word"]))


if __name__ == "__main__":
    main()
