# Seeds everything everybody seeds, asks for determinism, and gets the same numbers twice.
# exit: 0
# log: the same twice: True
import os
import random

import numpy as np
import torch


def seed_everything(seed):
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.use_deterministic_algorithms(True)


def draw():
    seed_everything(42)
    return random.random(), np.random.rand(), torch.rand(1).item()


print("the same twice:", draw() == draw())
