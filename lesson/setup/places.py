"""Where does this run: on a hub, in a browser's notebook, or on a machine of your own?

Each place is known by what marks it. `python -m lesson.setup.places` says how to reach the local
cloud's console from here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# sagemaker 3.27 has the same path in user_agent.py; it names the role of the domain, too.
STUDIO = Path("/opt/ml/metadata/resource-metadata.json")
CONSOLE = """\
The console of the local cloud: run this line with the start of your browser's URL in place of HUB,
and open the link that it prints. It needs jupyter-server-proxy in the hub's own environment.
    .venv/bin/python -m local_cloud console https://HUB{prefix}proxy/PORT"""


@dataclass(frozen=True)
class Place:
    """A place and what follows from it."""

    name: str
    hub: bool = False  # somebody else has started its JupyterLab
    notebook: bool = False  # it shows one notebook, without a folder or a JupyterLab
    prefix: str = "/"  # of the paths of a hub's JupyterLab


OWN = Place("a machine of your own")
COLAB = Place("Google Colab", notebook=True)
KAGGLE = Place("Kaggle", notebook=True)
WORKBENCH = Place("Vertex AI Workbench", hub=True)
SAGEMAKER = Place("SageMaker's notebooks", hub=True, prefix="/jupyterlab/default/")
CODESPACES = Place("GitHub Codespaces")
CONTAINER = Place("a development container")


def find(variables: Mapping[str, str] = os.environ) -> Place:
    """Return the place that these variables and files mark.

    Sources, looked up 2026-11-27. Colab: the variable for which public projects test. Kaggle:
    patches/kaggle_module_resolver.py of Kaggle/docker-python (2026-08-12). Workbench:
    initializer.py of google-cloud-aiplatform 2.7. Codespaces: docs.github.com, default environment
    variables. JupyterHub: its documentation of single-user servers. Binder:
    binderhub/binderspawner_mixin.py of jupyterhub/binderhub (2026-04-20). Development containers:
    the variable that VS Code sets. A path in Studio begins as in the URLs that Amazon's examples
    give for TensorBoard.
    """
    if "COLAB_RELEASE_TAG" in variables:
        return COLAB
    if "KAGGLE_KERNEL_RUN_TYPE" in variables:
        return KAGGLE
    if variables.get("VERTEX_PRODUCT", "").startswith("WORKBENCH"):
        return WORKBENCH
    if STUDIO.is_file():
        return SAGEMAKER
    if "JUPYTERHUB_SERVICE_PREFIX" in variables:
        name = "Binder" if "BINDER_REPO_URL" in variables else "a JupyterHub"
        return Place(name, hub=True, prefix=variables["JUPYTERHUB_SERVICE_PREFIX"])
    if variables.get("CODESPACES") == "true":
        return CODESPACES
    if variables.get("REMOTE_CONTAINERS") == "true":
        return CONTAINER
    return OWN


if __name__ == "__main__":
    here = find()
    print(f"This is {here.name}.")
    if here.hub:
        print(CONSOLE.format(prefix=here.prefix))
