# Memory-mapped arrays on disk, written by one name and read by another, and a sparse 1 GB file.
# exit: 0
# log: last value 9999.0
import os

import numpy as np

a = np.memmap("big.dat", dtype="float32", mode="w+", shape=(100, 100))
a[:] = np.arange(10_000).reshape(100, 100)
a.flush()
b = np.memmap("big.dat", dtype="float32", mode="r", shape=(100, 100))
np.save("sparse.npy", np.zeros(3))
with open("sparse.bin", "wb") as f:
    f.truncate(1 << 30)
os.remove("sparse.bin")
print("last value", float(b[-1, -1]))
