"""Writes and reads NumPy's files, to hold engine/npy against.

    pip install numpy
    python npy_files.py write FOLDER    # the fixtures engine/npy/testdata
    python npy_files.py check FILE      # a .npz file that the Go test TestNumPyReads wrote
"""

import pathlib
import sys

import numpy as np


def arrays():
    table = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 4
    return {
        "bool": np.array([[True, False, True]]),
        **{f"i{n}": np.array([-5, 2 ** (n - 1) - 1], dtype=f"i{n // 8}") for n in (8, 16, 32, 64)},
        **{f"u{n}": np.array([5, 2**n - 1], dtype=f"u{n // 8}") for n in (8, 16, 32, 64)},
        "f16": np.array([0.5, -65504.0, np.nan], dtype=np.float16),
        "f32": table,
        "f64": np.array([[0.1, -2.5], [np.inf, 1e300]]),
        "c64": np.array([[1 + 2j, 4 - 3.5j, np.inf]], dtype=np.complex64),
        "c128": np.array([0.1 - 2.5j, 1e300], dtype=np.complex128),
        "scalar": np.array(3.25, dtype=np.float32),
        "empty": np.zeros((0, 4), dtype=np.float32),
        "naïve 名/a": np.ones((1, 2), dtype=np.float32),
    }


def write(folder):
    np.savez(folder / "numpy.npz", **arrays())
    np.savez_compressed(folder / "compressed.npz", zeros=np.zeros((300, 100), np.float32), **arrays())
    table = arrays()["f32"]
    np.save(folder / "fortran.npy", np.asfortranarray(table))
    np.save(folder / "big.npy", table.astype(">f4"))
    np.save(folder / "complex.npy", np.asfortranarray(table * (1 + 2j)).astype(">c8"))
    np.save(folder / "objects.npy", np.array([None, {}], dtype=object))
    np.save(folder / "records.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]))
    with open(folder / "version2.npy", "wb") as f:
        np.lib.format.write_array(f, table, version=(2, 0))


def check(path):
    with np.load(path) as got:
        want = arrays()
        assert set(got.keys()) == set(want.keys()), got.keys()
        for name, w in want.items():
            g = got[name]
            assert g.dtype == w.dtype and g.shape == w.shape, (name, g.dtype, g.shape)
            assert g.tobytes() == w.tobytes(), (name, g, w)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(pathlib.Path(sys.argv[2]))
    else:
        check(sys.argv[2])
