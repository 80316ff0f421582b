# Reads its hyperparameters from SM_HPS, from the JSON file of /opt/ml, or else from the arguments.
# exit: 0
# log: epochs is 7
# hyperparameters: {"epochs": 7, "note": "two words"}
import json
import os
import sys

if "SM_HPS" in os.environ:
    hps = json.loads(os.environ["SM_HPS"])
    with open("/opt/ml/input/config/hyperparameters.json") as f:
        assert int(json.load(f)["epochs"]) == 7
    assert hps["note"] == "two words" and os.environ["SM_HP_EPOCHS"] == "7"
else:
    hps = dict(word[2:].split("=", 1) for word in sys.argv[1:] if word.startswith("--"))
print("epochs is", hps["epochs"])
