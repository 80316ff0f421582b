"""The prebuilt images that can be pulled, and the packages that their environments get.

Sources, read on READ: for Vertex AI's training images the page "Prebuilt containers for serverless
training", which lists the packages; for its prediction images google-cloud-aiplatform 2.7,
constants/prediction.py; for SageMaker's the image_uri_config files of sagemaker 3.27. Where a
source names no patch version, the environment gets the newest patch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

READ = "2026-11-23"


@dataclass(frozen=True)
class Image:
    """A prebuilt image: the name it is pulled by, its Python, and what is installed in it."""

    name: str
    python: str
    packages: tuple[str, ...]

    @property
    def framework(self) -> str:
        """Return what it is named after, with the version of the name."""
        name, _, version = self.packages[0].replace("~=", "==").partition("==")
        return f"{name} {version.removesuffix('.0') if '~' in self.packages[0] else version}"

    @property
    def folder(self) -> str:
        """Return its name, as a folder can be called."""
        return re.sub(r"[/:]", "-", self.name)


# What the jobs of a cloud read and write its buckets with, and report to its tuner with.
GOOGLE = ("google-cloud-storage==2.19.0", "cloudml-hypertune")
AMAZON = ("boto3",)
TABLES = ("numpy==1.26.4", "pandas==2.2.3", "scipy==1.15.2", "joblib==1.4.2")
BOTH = ("scikit-learn==1.6.1", "xgboost==2.1.3")

IMAGES = (
    Image(
        "training/pytorch-xla.2-4.py310",
        "3.10",
        ("torch~=2.4.0", "numpy==1.26.4", "pandas==2.2.3", "scikit-learn==1.6.1", *GOOGLE),
    ),
    Image(
        "training/tf-cpu.2-17.py310",
        "3.10",
        ("tensorflow~=2.17.0", "pandas==2.2.3", "xgboost==2.1.3", *GOOGLE),
    ),
    Image("training/sklearn-cpu.1-6", "3.10", (*BOTH, *TABLES, *GOOGLE)),
    Image("training/xgboost-cpu.2-1", "3.10", (*BOTH[::-1], *TABLES, *GOOGLE)),
    Image("prediction/pytorch-cpu.2-4", "3.10", ("torch~=2.4.0", "numpy==1.26.4", GOOGLE[0])),
    Image("prediction/tf2-cpu.2-15", "3.10", ("tensorflow~=2.15.0", GOOGLE[0])),
    Image("prediction/sklearn-cpu.1-6", "3.10", ("scikit-learn~=1.6.0", "joblib", GOOGLE[0])),
    Image("prediction/sklearn-cpu.1-5", "3.10", ("scikit-learn~=1.5.0", "joblib", GOOGLE[0])),
    Image("prediction/xgboost-cpu.2-1", "3.10", ("xgboost~=2.1.0", GOOGLE[0])),
    Image("prediction/xgboost-cpu.1-7", "3.10", ("xgboost~=1.7.0", GOOGLE[0])),
    Image("pytorch-training:2.10.0", "3.13", ("torch==2.10.0", "numpy", "pandas", *AMAZON)),
    Image("pytorch-training:2.9.0", "3.12", ("torch==2.9.0", "numpy", "pandas", *AMAZON)),
    Image("pytorch-inference:2.6.0", "3.12", ("torch==2.6.0", "numpy", *AMAZON)),
    Image("tensorflow-training:2.21.0", "3.12", ("tensorflow==2.21.0", "pandas", *AMAZON)),
    Image("tensorflow-training:2.19.0", "3.12", ("tensorflow==2.19.0", "pandas", *AMAZON)),
    Image(
        "sagemaker-scikit-learn:1.4-2",
        "3.10",
        ("scikit-learn==1.4.2", "numpy~=1.26.0", "pandas", *AMAZON),
    ),
    Image("sagemaker-xgboost:3.0-5", "3.10", ("xgboost==3.0.5", "pandas", "scikit-learn", *AMAZON)),
    Image("sagemaker-xgboost:1.7-1", "3.10", ("xgboost~=1.7.0", "pandas", "scikit-learn", *AMAZON)),
)
BY_NAME = {image.name: image for image in IMAGES}

IN_GOOGLES = re.compile(  # also under their older names, gcr.io/cloud-aiplatform/…
    r"(?:[a-z]+(?:-[a-z]+\d+)?-docker\.pkg\.dev/(?:vertex-ai|cloud-aiplatform)"
    r"|(?:\w+\.)?gcr\.io/cloud-aiplatform)/"
    r"((?:training|prediction)/[\w.-]+)(?::[\w.-]+)?(?:@sha256:\w+)?"
)
IN_AMAZONS = re.compile(
    r"\d{12}\.dkr\.ecr\.[\w-]+\.amazonaws\.com(?:\.cn)?/([\w-]+:\d+(?:\.\d+)+(?:-\d)?)(?:-.*)?"
)


def find(text: str) -> Image | None:
    """Return the image of a URI or a name; None if the table has none.

    An image with the libraries of a GPU has the environment of the one without: which build of a
    package is installed depends on this machine.
    """
    match = IN_GOOGLES.fullmatch(text) or IN_AMAZONS.fullmatch(text)
    name = match[1] if match else text
    name = name.replace("training/pytorch-gpu.", "training/pytorch-xla.")
    return BY_NAME.get(name.replace("-gpu.", "-cpu."))
