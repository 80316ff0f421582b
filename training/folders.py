"""Folders, and objects below a URI, with the same methods: for checkpoints and several archives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

story: Any  # train_nn.py, which loads this file


class Folder:
    """The files of a folder on this machine."""

    def __init__(self, path: str) -> None:
        """path: which need not exist yet."""
        self.path = Path(path)

    def names(self) -> list[str]:
        """Return the names of its files, in order."""
        return sorted(path.name for path in self.path.iterdir() if path.is_file())

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        return (self.path / name).read_bytes()

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""
        (self.path / name).unlink(missing_ok=True)


class GoogleFolder:
    """The objects below a gs:// URI."""

    def __init__(self, uri: str) -> None:
        """uri: gs://bucket/prefix, to which a / and the object's name are added."""
        from google.cloud.storage import Client

        name, _, prefix = f"{uri.removeprefix('gs://').rstrip('/')}/".partition("/")
        self.bucket, self.prefix = Client().bucket(name), prefix

    def names(self) -> list[str]:
        """Return the names of the objects, in order."""
        found = self.bucket.list_blobs(prefix=self.prefix)
        return sorted(blob.name.removeprefix(self.prefix) for blob in found)

    def read(self, name: str) -> bytes:
        """Return the content of an object."""
        return bytes(self.bucket.blob(self.prefix + name).download_as_bytes())

    def delete(self, name: str) -> None:
        """Delete an object, if it is there."""
        if blob := self.bucket.get_blob(self.prefix + name):
            blob.delete()


class AmazonFolder:
    """The objects below an s3:// URI."""

    def __init__(self, uri: str) -> None:
        """uri: s3://bucket/prefix, to which a / and the object's name are added."""
        import boto3

        name, _, prefix = f"{uri.removeprefix('s3://').rstrip('/')}/".partition("/")
        self.bucket, self.prefix = boto3.resource("s3").Bucket(name), prefix

    def names(self) -> list[str]:
        """Return the names of the objects, in order."""
        found = self.bucket.objects.filter(Prefix=self.prefix)
        return sorted(item.key.removeprefix(self.prefix) for item in found)

    def read(self, name: str) -> bytes:
        """Return the content of an object."""
        return bytes(self.bucket.Object(self.prefix + name).get()["Body"].read())

    def delete(self, name: str) -> None:
        """Delete an object, if it is there."""
        self.bucket.Object(self.prefix + name).delete()


def open_folder(path: str) -> Any:
    """Return the folder of this path or URI."""
    path = story.mounted(path)
    kinds = {"gs": GoogleFolder, "s3": AmazonFolder}
    return kinds[path.partition("://")[0]](path) if "://" in path else Folder(path)
