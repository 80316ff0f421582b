# Options declared by decorators, each also read from the environment, as click has them.
# exit: 0
# log: greeting 3 times: hello world
# hyperparameters: {"count": 3, "name": "world"}
import functools
import os
import sys


def option(flag, default=None, type=str, envvar=None):
    def decorate(f):
        f.__dict__.setdefault("options", {})[flag.lstrip("-")] = (type, os.environ.get(envvar or "", default))
        return f
    return decorate


def command(f):
    @functools.wraps(f)
    def run(argv=None):
        words, found = list(argv if argv is not None else sys.argv[1:]), {}
        while words:
            word = words.pop(0)
            if not word.startswith("--"):
                sys.exit(f"Error: Got unexpected extra argument ({word})")
            name, _, value = word[2:].partition("=")
            found[name] = value or words.pop(0)
        return f(**{n: t(found[n] if n in found else d) for n, (t, d) in f.options.items()})
    return run


@command
@option("--count", default=1, type=int)
@option("--name", envvar="USER", default="nobody")
@option("--lr", default=0.1, type=float)
def hello(count, name, lr):
    print(f"greeting {count} times: hello {name}")


if __name__ == "__main__":
    hello()
