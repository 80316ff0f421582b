"""From a Dockerfile to a container on the service, and to a process on the local cloud."""

from __future__ import annotations

from tools.figures.drawing import DARK, GROUND, STORE, WIDTH, Drawing

MIDDLE = WIDTH / 2


def draw() -> Drawing:
    """Downwards: the Dockerfile and its two ways to a process."""
    drawing = Drawing(
        "From a Dockerfile to a job",
        "Downwards. A Dockerfile goes two ways. On the left docker build makes an image of it, "
        "docker push brings that to a registry, and the service's machine pulls it and starts a "
        "container. On the right images build tells the local cloud its files and its command, "
        "and a process starts with the packages of this machine. Both start the same command.",
        height=542,
    )
    drawing.label(60, 12, 520, 56, "Dockerfile", fill=STORE)
    drawing.arrow((160, 68), (160, 126))
    drawing.text(176, 102, "docker build", anchor="start")
    drawing.arrow((480, 68), (480, 126))
    drawing.text(464, 102, "images build", anchor="end")
    drawing.label(60, 130, 200, 76, "image: packages,", "files, command", fill=STORE)
    drawing.arrow((160, 206), (160, 256))
    drawing.text(176, 236, "docker push", anchor="start")
    drawing.label(60, 260, 200, 76, "registry: Artifact", "Registry or ECR", fill=STORE)
    drawing.arrow((160, 336), (160, 386))
    drawing.text(176, 366, "the job pulls it", anchor="start")
    drawing.label(380, 130, 200, 76, "files, command,", "no packages", fill=STORE)
    drawing.arrow((480, 206), (480, 386))
    drawing.text(496, 300, "the job", anchor="start")
    drawing.label(40, 390, 240, 76, "container", "on the service", fill=DARK)
    drawing.label(360, 390, 240, 76, "process", "on this machine", fill=DARK)
    drawing.box(32, 486, 576, 44, GROUND)
    drawing.text(MIDDLE, 514, "the same command, with the job's arguments", bold=True)
    return drawing
