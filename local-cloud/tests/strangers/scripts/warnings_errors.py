# Turns warnings into errors, and one of them ends it.
# exit: 1
# log: DeprecationWarning: old ways
import warnings

import numpy as np
import torch

warnings.simplefilter("error")
torch.nn.functional.relu(torch.zeros(3))
np.array([1.0]).mean()
warnings.warn("old ways", DeprecationWarning)
