"""Writes and reads files with the safetensors library of Python, to hold engine/safetensors against.

    pip install numpy safetensors
    python safetensors_files.py write FILE     # the fixture engine/safetensors/testdata/python.safetensors
    python safetensors_files.py check FILE     # a file written by the Go test TestPythonReads
"""

import sys

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file


def tensors():
    return {
        "f64": np.array([[0.1, -2.5], [np.inf, 1e300]], dtype=np.float64),
        "f32": np.arange(6, dtype=np.float32).reshape(2, 3) / 4,
        "f16": np.array([0.5, -65504.0, np.nan], dtype=np.float16),
        "i64": np.array([[-(2**62), 7]], dtype=np.int64),
        "i32": np.array([-5, 2**31 - 1], dtype=np.int32),
        "i16": np.array([-5, 2**15 - 1], dtype=np.int16),
        "i8": np.array([-5, 2**7 - 1], dtype=np.int8),
        "u64": np.array([5, 2**64 - 1], dtype=np.uint64),
        "u32": np.array([5, 2**32 - 1], dtype=np.uint32),
        "u16": np.array([5, 2**16 - 1], dtype=np.uint16),
        "u8": np.arange(5, dtype=np.uint8),
        "bool": np.array([True, False, True]),
        "scalar": np.array(3.25, dtype=np.float32),
        "empty": np.zeros((0, 4), dtype=np.float32),
        "naïve \"名\"": np.ones((1, 2), dtype=np.float32),
    }


METADATA = {"format": "np", "note": 'a "quoted" line\nand another – ß'}


def check(path):
    with safe_open(path, "np") as f:
        assert f.metadata() == METADATA, f.metadata()
    got, want = load_file(path), tensors()
    assert got.keys() == want.keys(), got.keys()
    for name, w in want.items():
        g = got[name]
        assert g.dtype == w.dtype and g.shape == w.shape, (name, g.dtype, g.shape)
        assert g.tobytes() == w.tobytes(), (name, g, w)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        save_file(tensors(), sys.argv[2], METADATA)
    check(sys.argv[2])
