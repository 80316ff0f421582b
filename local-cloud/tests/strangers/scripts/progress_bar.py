# A progress bar that rewrites its line by carriage returns, by tqdm where that is installed.
# exit: 0
# log: 100%
# log: bar is done
import sys
import time

try:
    from tqdm.auto import tqdm
except ImportError:
    def tqdm(seq, desc="", total=None):
        seq = list(seq)
        for i, x in enumerate(seq):
            yield x
            print(f"\r{desc}: {100 * (i + 1) // len(seq)}%|", end="", file=sys.stderr)

for _ in tqdm(range(50), desc="train"):
    time.sleep(0.005)
print("\nbar is done")
