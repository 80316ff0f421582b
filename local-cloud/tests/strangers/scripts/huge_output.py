# Prints eight megabytes without a flush, and one line of a megabyte; the last line arrives.
# exit: 0
# log: the very last line
for i in range(80_000):
    print(i, "x" * 95, flush=False)
print("y" * 1_000_000)
print("the very last line")
