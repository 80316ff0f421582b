# Does not even compile.
# exit: 1
# log: SyntaxError
print("never seen"
