# Text of many alphabets, an emoji, an accent of two characters, and colours.
# exit: 0
# log: Größe größer 数据 данные 🚢
# log: after the colours
import sys

print("Größe größer 数据 данные 🚢 e\u0301", flush=True)
print("\033[1;32mgreen\033[0m")
print("after the colours", file=sys.stderr)
print("lone \udc80".encode("utf-8", "surrogateescape"))
