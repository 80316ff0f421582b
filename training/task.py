"""Run train_nn.py: of a folder that it is sent, Vertex AI starts the module `task`."""

import runpy
from pathlib import Path

runpy.run_path(str(Path(__file__).with_name("train_nn.py")), run_name="__main__")
