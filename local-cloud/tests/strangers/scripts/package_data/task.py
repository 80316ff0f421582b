# A script with a configuration file and a vocabulary beside it.
# only: sagemaker, sagemaker-trial: Vertex AI's SDK packs Python files only
# exit: 0
# log: vocabulary of 3 words, depth 2
import json
import os
from importlib import resources
from pathlib import Path

config = json.load(open(os.path.join(os.path.dirname(__file__), "config.json")))
words = (Path(__file__).parent / "assets" / "vocab.txt").read_text().split()
print("vocabulary of", len(words), "words, depth", config["depth"])
import assets

assert resources.files(assets).joinpath("vocab.txt").is_file()
