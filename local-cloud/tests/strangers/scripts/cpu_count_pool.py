# As many workers as there are processors, each with as many threads as torch likes.
# exit: 0
# log: workers are done
import multiprocessing
import os

os.environ["OMP_NUM_THREADS"] = "1"
os.environ.setdefault("MKL_NUM_THREADS", "1")
import numpy as np


def work(seed):
    rng = np.random.default_rng(seed)
    return float(np.linalg.norm(rng.random((100, 100)) @ rng.random((100, 100))))


if __name__ == "__main__":
    with multiprocessing.Pool(min(8, os.cpu_count() or 1)) as pool:
        results = pool.map(work, range(16))
    print("workers are done", len(results))
