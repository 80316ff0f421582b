# Asks on standard input, where nobody answers.
# exit: 0
# log: nobody answers
# log: nothing on stdin
import sys

try:
    input("Continue? [y/N] ")
except EOFError:
    print("nobody answers")
if not sys.stdin.read():
    print("nothing on stdin")
print("a terminal:", sys.stdin.isatty(), sys.stdout.isatty())
