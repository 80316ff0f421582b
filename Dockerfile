# The image of the lesson's own, for jobs on Vertex AI and on SageMaker.
# `python -m tools.image --cloud gcp` (or aws) prints how to build and push it.
# 3.11 is the oldest Python that the lock serves, and has builds of all that is installed here.
FROM python:3.11.14-slim-bookworm

# PyTorch's own index has a build without CUDA, a tenth of the size: --build-arg INDEX=https://download.pytorch.org/whl/cpu
ARG INDEX=https://pypi.org/simple
# SageMaker makes /opt/ml as root. If a job there may not write to it: --build-arg RUN_AS=root
ARG RUN_AS=lesson

# Versions are those of the lock, by the constraint: none stands here a second time.
COPY requirements.txt /opt/lesson/constraints.txt
RUN pip install --no-cache-dir --constraint /opt/lesson/constraints.txt --extra-index-url ${INDEX} \
    torch numpy boto3 google-cloud-storage cloudml-hypertune tensorboard setuptools \
    starlette uvicorn httptools

COPY training/ /opt/lesson/training/
COPY image/entrypoint.py /opt/lesson/entrypoint.py

# A user with a home, into which Vertex AI's command installs the package that was sent.
RUN useradd --create-home --uid 1000 lesson \
    && mkdir -p /opt/ml/model /opt/ml/checkpoints /opt/ml/output /opt/ml/code \
    && chown -R lesson:lesson /opt/ml

ENV PYTHONUNBUFFERED=1 \
    PATH=/home/lesson/.local/bin:${PATH} \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility

USER ${RUN_AS}
WORKDIR /home/lesson
ENTRYPOINT ["python", "/opt/lesson/entrypoint.py"]
