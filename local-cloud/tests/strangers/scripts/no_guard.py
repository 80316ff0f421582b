# Everything on the module's level: global state, exec, a loop, functions used before they are nice.
# exit: 0
# log: __main__ has 3 results
import sys
import __main__

results = []
for lr in [0.1, 0.01, 0.001]:
    exec("results.append(lr * 2)")
def helper(): return len(results)
assert __main__.helper is helper and __name__ == "__main__"
assert sys.modules["__main__"].results is results
print(__name__, "has", helper(), "results")
