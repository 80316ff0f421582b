"""Build and push the lesson's images: `python -m tools.image --cloud gcp` prints how.

Nothing is run without --run. The image that trains is built from the Dockerfile beside this file,
the one that serves (--serving) from Dockerfile.serving; what may go into each of them is in the
file of its name with .dockerignore, which Docker's BuildKit reads.
Building takes a Docker engine; Google builds the first without one (--remote).
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME, SERVING = "rented-machines", "rented-machines-serving"
CPU = "https://download.pytorch.org/whl/cpu"
REGIONS = {"gcp": "us-central1", "aws": "us-east-1"}
# Both services run on x86, whatever this machine is.
BUILD = "docker build --platform linux/amd64"


def uri(cloud: str, account: str, region: str, *, tag: str, name: str = NAME) -> str:
    """Return an image's URI; `account` is the project or the number of the account."""
    if cloud == "gcp":
        return f"{region}-docker.pkg.dev/{account}/lesson/{name}:{tag}"
    return f"{account}.dkr.ecr.{region}.amazonaws.com/{name}:{tag}"


def commands(
    cloud: str, account: str, region: str, *, image: str, choices: Sequence[str], remote: bool
) -> list[str]:
    """Return the shell's commands, in order: make the repository, log in, build, push.

    choices: words for `docker build`; remote: whether Google builds.
    """
    build = [" ".join([BUILD, *choices, f"--tag {image} ."]), f"docker push {image}"]
    if cloud == "gcp":
        make = (
            "gcloud artifacts repositories describe lesson "
            f"--location={region} --project={account} || "
            "gcloud artifacts repositories create lesson --repository-format=docker "
            f"--location={region} --project={account}"
        )
        if remote:
            submit = (
                f"gcloud builds submit --project={account} --config tools/image/cloudbuild.yaml"
            )
            return [make, f"{submit} --substitutions=_IMAGE={image} ."]
        return [make, f"gcloud auth configure-docker {region}-docker.pkg.dev --quiet", *build]
    registry = image.partition("/")[0]
    name = image.partition("/")[2].partition(":")[0]
    make = (
        f"aws ecr describe-repositories --repository-names {name} --region {region} || "
        f"aws ecr create-repository --repository-name {name} --region {region}"
    )
    login = (
        f"aws ecr get-login-password --region {region} | "
        f"docker login --username AWS --password-stdin {registry}"
    )
    return [make, login, *build]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the commands, or run them; return the exit code of the first that fails."""
    parser = argparse.ArgumentParser(prog="python -m tools.image", description=__doc__)
    parser.add_argument("--cloud", choices=("gcp", "aws"), required=True)
    parser.add_argument("--account", help="project of Google Cloud, or number of the AWS account")
    parser.add_argument("--region", help="where the jobs run")
    parser.add_argument("--tag", default="1")
    parser.add_argument("--cpu", action="store_true", help="PyTorch without CUDA, much smaller")
    parser.add_argument("--root", action="store_true", help="run as root, not as a user of its own")
    parser.add_argument("--remote", action="store_true", help="let Google build (gcp only)")
    parser.add_argument("--run", action="store_true", help="run the commands, do not only print")
    parser.add_argument("--serving", action="store_true", help="the image that serves a model")
    chosen = parser.parse_args(arguments)
    if chosen.serving and (chosen.cpu or chosen.root):
        parser.error("--serving: that image is without CUDA, and never runs as root")
    if chosen.remote and (chosen.cloud == "aws" or chosen.cpu or chosen.root or chosen.serving):
        parser.error(
            "--remote goes with --cloud gcp alone, and builds the training image unchanged"
        )
    named = {"gcp": os.environ.get("GOOGLE_CLOUD_PROJECT"), "aws": None}[chosen.cloud]
    account = chosen.account or named
    if not account:
        if chosen.run:
            parser.error("name the project or account: --account")
        account = {"gcp": "YOUR-PROJECT", "aws": "YOUR-ACCOUNT"}[chosen.cloud]
    region = chosen.region or REGIONS[chosen.cloud]
    image = uri(
        chosen.cloud, account, region, tag=chosen.tag, name=SERVING if chosen.serving else NAME
    )
    choices = [f"--build-arg INDEX={CPU}"] * chosen.cpu
    choices += ["--build-arg RUN_AS=root"] * chosen.root
    choices.append(f"--file tools/image/Dockerfile{'.serving' * chosen.serving}")
    made = commands(
        chosen.cloud, account, region, image=image, choices=choices, remote=chosen.remote
    )
    for line in made:
        print(line, flush=True)
        if chosen.run and (code := subprocess.run(line, shell=True, cwd=ROOT).returncode):
            return code
    if chosen.serving:
        print(f"# In a notebook: deploy(run, container_uri={image!r})")
    else:
        print(f"export LESSON_IMAGE={shlex.quote(image)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
