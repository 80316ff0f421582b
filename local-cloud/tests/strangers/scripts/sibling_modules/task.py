# A script with modules beside it, imported as a package or else as neighbours.
# exit: 0
# log: built a model with 21 parameters
# log: utils says hello
try:
    from . import utils
    from .models.net import build
except ImportError:
    import utils
    from models.net import build

if __name__ == "__main__":
    model = build()
    print("built a model with", sum(p.numel() for p in model.parameters()), "parameters")
    utils.hello()
