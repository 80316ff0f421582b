# Subcommands, store_true, repeated flags and nargs, as command-line programs have them.
# only: vertex, vertex-trial: SageMaker gives nothing but pairs of a name and a value
# arguments: train --verbose --tag a --tag b --sizes 3 5 8 --no-cuda
# exit: 0
# log: train sizes=[3, 5, 8] tags=['a', 'b'] verbose=True
import argparse
import sys


def train(args):
    print("train sizes=%s tags=%s verbose=%s" % (args.sizes, args.tag, args.verbose))
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="prog")
    sub = parser.add_subparsers(dest="command", required=True)
    p = sub.add_parser("train")
    p.add_argument("--verbose", "-v", action="store_true")
    p.add_argument("--no-cuda", dest="cuda", action="store_false")
    p.add_argument("--tag", action="append")
    p.add_argument("--sizes", nargs="+", type=int)
    p.add_argument("--lr", "--learning-rate", type=float)
    p.set_defaults(func=train)
    sub.add_parser("eval").set_defaults(func=print)
    args = parser.parse_args()
    sys.exit(args.func(args))
