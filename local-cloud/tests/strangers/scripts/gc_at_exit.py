# Objects with __del__, finalizers and a generator left half-way, at the very end of the script.
# exit: 0
# log: finalizer ran
# log: __del__ ran
import gc
import weakref

import torch


class Resource:
    def __del__(self):
        print("__del__ ran")


def generate():
    try:
        yield 1
    finally:
        print("generator closed")


keep = Resource()
weakref.finalize(torch.nn.Linear(2, 2), print, "finalizer ran")
other = torch.nn.Linear(3, 3)
weakref.finalize(other, print, "finalizer ran at exit")
g = generate()
next(g)
gc.disable()
keep.me = keep
del keep
gc.collect()
