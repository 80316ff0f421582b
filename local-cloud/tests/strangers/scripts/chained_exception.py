# An exception with its cause.
# exit: 1
# log: KeyError: 'lr'
# log: The above exception was the direct cause of the following exception:
# log: RuntimeError: bad configuration
def read(config):
    return config["lr"]


try:
    read({})
except KeyError as e:
    raise RuntimeError("bad configuration") from e
