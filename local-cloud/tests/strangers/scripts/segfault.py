# Crashes in C.
# exit: failed
# log: about to crash
import ctypes

print("about to crash", flush=True)
ctypes.string_at(0)
