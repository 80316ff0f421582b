# Works out its role from CLUSTER_SPEC, TF_CONFIG or SM_HOSTS, as scripts for several frameworks do.
# exit: 0
# log: I am chief 0 of 1
import json
import os

if "CLUSTER_SPEC" in os.environ:
    spec = json.loads(os.environ["CLUSTER_SPEC"])
    task = spec["task"]
    size = sum(len(v) for v in spec["cluster"].values())
    index = task["index"] if task["type"] == "workerpool0" else task["index"] + 1
elif "SM_HOSTS" in os.environ:
    hosts = json.loads(os.environ["SM_HOSTS"])
    index, size = hosts.index(os.environ["SM_CURRENT_HOST"]), len(hosts)
tf = json.loads(os.environ.get("TF_CONFIG") or "{}")
role = tf.get("task", {}).get("type", "chief" if index == 0 else "worker")
print("I am", role, index, "of", size)
