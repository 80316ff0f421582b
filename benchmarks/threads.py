"""One thread against all: where train_nn.choose_threads() gets its number from.

`python -m benchmarks.threads THREADS` prints microseconds per step for each shape in SHAPES.
"""

import json
import statistics
import sys
import time

# (rows per step, hidden widths)
SHAPES = [
    *[(569, (64, 32)), (1024, (64, 32)), (2048, (64, 32)), (4096, (64, 32)), (16384, (64, 32))],
    *[(64, (128, 128)), (256, (128, 128)), (1024, (128, 128))],
    *[(64, (256, 256)), (256, (256, 256)), (1024, (256, 256)), (64, (512, 512))],
]


def main() -> None:
    import torch

    from training import train_nn

    torch.empty(8 * 2**20 - 4096)  # as in the script's run()
    torch.set_num_threads(int(sys.argv[1]))
    micros = []
    for rows, hidden in SHAPES:
        X = torch.randn(rows, 7)
        y = (X[:, :1] > 0).float()
        model = train_nn.build_model(7, hidden, seed=0)
        step = train_nn.adam_step(list(model.parameters()), 0.001)
        seconds: list[float] = []
        while sum(seconds) < 0.5:
            begun = time.perf_counter()
            train_nn.train_epoch(model, [(X, y, rows)], step, train_nn.Place())
            seconds.append(time.perf_counter() - begun)
        micros.append(statistics.median(seconds) * 1e6)
    print(json.dumps(micros))


if __name__ == "__main__":
    main()
