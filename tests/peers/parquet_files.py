"""Writes engine/data/internal/parquet/testdata: files of pyarrow in every encoding that is read, and their rows as JSON.

    python tests/peers/parquet_files.py          (pyarrow)
"""
import json
import os
import random

import pyarrow as pa
import pyarrow.parquet as pq

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "..", "engine", "data", "internal", "parquet", "testdata")
N = 40

random.seed(3)
WORDS = "größer tensor 🙂 row batch gradient the a of 日本語 \n".split(" ")


def text(most):
    return " ".join(random.choice(WORDS) for _ in range(random.randrange(most)))


def messages(i):
    if i % 7 == 3:
        return None
    if i % 7 == 5:
        return []
    turns = [{"content": text(6), "role": r, "tool_calls": None} for r in ["user", "assistant"] * random.randrange(1, 3)]
    if i % 3 == 0:
        call = lambda: {"function": {"arguments": {"a": random.randrange(9), "b": random.random() if i % 2 else None}, "name": "add"}, "type": "function"}
        turns.append({"content": None, "role": "assistant", "tool_calls": [call() for _ in range(i % 4)]})
    return turns


def rows():
    return {
        "text": [text(12) if i % 5 else None for i in range(N)],
        "same": ["the same in each row"] * N,
        "id": [i * i - 50 for i in range(N)],
        "small": [random.randrange(-100, 100) for _ in range(N)],
        "score": [random.random() if i % 4 else None for i in range(N)],
        "half": [i / 4 for i in range(N)],
        "good": [i % 3 == 0 for i in range(N)],
        "tags": [[text(2) for _ in range(i % 4)] if i % 6 else None for i in range(N)],
        "deep": [[[i, i + 1], [], None, [7]] if i % 2 else [] for i in range(N)],
        "messages": [messages(i) for i in range(N)],
    }


SCHEMA = pa.schema([
    ("text", pa.string()), ("same", pa.large_string()), ("id", pa.int64()), ("small", pa.int32()), ("score", pa.float64()), ("half", pa.float32()), ("good", pa.bool_()),
    ("tags", pa.list_(pa.string())), ("deep", pa.list_(pa.list_(pa.int32()))),
    ("messages", pa.list_(pa.struct([
        ("content", pa.string()), ("role", pa.string()),
        ("tool_calls", pa.list_(pa.struct([("function", pa.struct([("arguments", pa.struct([("a", pa.int64()), ("b", pa.float64())])), ("name", pa.string())])), ("type", pa.string())]))),
    ]))),
])

FILES = {
    "snappy": dict(),
    "plain": dict(compression="none", use_dictionary=False),
    "gzip-v2": dict(compression="gzip", data_page_version="2.0"),
    "zstd-groups": dict(compression="zstd", row_group_size=7),
    "pages": dict(compression="none", data_page_size=64, write_batch_size=4, write_page_checksum=True),
    "v2-plain": dict(compression="snappy", data_page_version="2.0", use_dictionary=False, data_page_size=100, write_batch_size=5),
    "brotli": dict(compression="brotli"),
    "lz4": dict(compression="lz4", use_dictionary=False),
    "items": dict(use_compliant_nested_type=False, compression="zstd"),
    "deltas": dict(compression="none", use_dictionary=False, column_encoding={
        "text": "DELTA_BYTE_ARRAY", "same": "DELTA_LENGTH_BYTE_ARRAY", "id": "DELTA_BINARY_PACKED", "small": "DELTA_BINARY_PACKED", "good": "RLE",
        "messages.list.element.content": "DELTA_LENGTH_BYTE_ARRAY", "messages.list.element.role": "DELTA_BYTE_ARRAY"}, data_page_version="2.0"),
}


def main():
    os.makedirs(OUT, exist_ok=True)
    table = pa.table(rows(), schema=SCHEMA)
    with open(os.path.join(OUT, "rows.json"), "w") as f:
        json.dump(table.to_pylist(), f, ensure_ascii=False, separators=(",", ":"))
    for name, options in FILES.items():
        pq.write_table(table, os.path.join(OUT, name + ".parquet"), **options)
    required = pa.table({"text": ["a", "b"], "map": [[("k", "v"), ("l", None)], []]}, schema=pa.schema([pa.field("text", pa.string(), nullable=False), pa.field("map", pa.map_(pa.string(), pa.string()))]))
    pq.write_table(required, os.path.join(OUT, "map.parquet"))
    pq.write_table(table.select(["half"]), os.path.join(OUT, "split.parquet"), use_dictionary=False, use_byte_stream_split=["half"])
    pq.write_table(pa.table({"json": pa.array(['{"a": [1, null]}', None], pa.json_())}), os.path.join(OUT, "json.parquet"))
    unsigned = {t: pa.array([0, 2**bits - 1, 2**(bits - 1)], getattr(pa, t)()) for t, bits in {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}.items()}
    pq.write_table(pa.table(unsigned), os.path.join(OUT, "unsigned.parquet"))
    pq.write_table(pa.table({"text": [b"\xff\xfe"]}), os.path.join(OUT, "bytes.parquet"))
    pq.write_table(pa.table({"time": pa.array([1], pa.timestamp("ns"))}), os.path.join(OUT, "int96.parquet"), use_deprecated_int96_timestamps=True)
    pq.write_table(pa.table({"text": ["the same text in each of a hundred thousand rows"] * 100000}), os.path.join(OUT, "many.parquet"), compression="zstd")


if __name__ == "__main__":
    main()
