# parse_known_args, dashes and underscores for one flag, a file of defaults, and no abbreviation.
# exit: 0
# log: epochs=4 dropout=0.25
# hyperparameters: {"epochs": 4, "drop-out": 0.25, "never-heard-of": "x"}
import argparse

parser = argparse.ArgumentParser(fromfile_prefix_chars="@", allow_abbrev=False)
parser.add_argument("--epochs", "-e", type=lambda s: int(float(s)), default=1)
parser.add_argument("--drop-out", "--drop_out", dest="dropout", type=float)
flags, unknown = parser.parse_known_args()
print(f"epochs={flags.epochs} dropout={flags.dropout}; unknown: {unknown}")
assert any("never-heard-of" in word for word in unknown)
