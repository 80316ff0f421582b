"""TensorFlow's own gs://: a client in C++ that knows one host, www.googleapis.com.

No variable leads it elsewhere, so its paths are changed before it sees them. In a job of Vertex AI
the buckets are folders, and gs://bucket/object becomes /gcs/bucket/object; elsewhere it is refused.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from local_cloud.client.target import is_local
from local_cloud.errors import LocalCloudError

GS = "gs://"
# The operations that open files, and the functions and classes of TensorFlow's C++. Those that
# write find their folder made: a bucket has none.
READING = {
    "ReadFile",
    "MatchingFiles",
    "Restore",
    "RestoreSlice",
    "RestoreV2",
    "LoadDataset",
    "TFRecordDataset",
    "TFRecordDatasetV2",
    "TextLineDataset",
    "FixedLengthRecordDataset",
    "FixedLengthRecordDatasetV2",
}
WRITING = {
    "WriteFile",
    "Save",
    "SaveSlices",
    "SaveV2",
    "MergeV2Checkpoints",
    "SaveDataset",
    "SaveDatasetV2",
    "CacheDataset",
    "CacheDatasetV2",
    "SnapshotDatasetV2",
    "CreateSummaryFileWriter",
    "WritableFile",
    "RecordWriter",
    "CopyFile",
    "RenameFile",
    "CreateDir",
}
OPERATIONS = READING | WRITING
# A path in a graph cannot be refused before the graph runs: this one does not exist.
NOWHERE = "/TensorFlow's gs:// is not part of the local cloud outside of a job of Vertex AI"


def map_calls(module: ModuleType) -> None:
    """Change the paths in all calls of a module in C++, such as the one behind tf.io.gfile."""
    for name, original in list(vars(module).items()):
        if isinstance(original, ModuleType):
            map_calls(original)
        elif isinstance(original, type):
            original.__init__ = _wrap(name, original.__init__)  # type: ignore[misc]
        elif callable(original):
            setattr(module, name, _wrap(name, original))


def _wrap(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    if hasattr(original, "__wrapped__"):
        return original

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        paths = [_map(each, name) for each in args]
        result = original(*paths, **{key: _map(each, name) for key, each in kwargs.items()})
        if isinstance(result, list) and any(map(_is_in_bucket, args)):
            return [_map_back(each) for each in result]
        return result

    return call


def map_eager(module: ModuleType) -> None:
    """Change the paths of operations that run at once: tensorflow.python.eager.execute.

    The arguments have TensorFlow's names, since 2.15 passes some of them by name. What comes after
    the third is no path, but what is saved.
    """
    original = module.execute
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def execute(op_name: Any, num_outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        operation = op_name.decode() if isinstance(op_name, bytes) else op_name
        if operation in OPERATIONS:
            inputs = _map_some(operation, inputs)
        return original(op_name, num_outputs, inputs, *args, **kwargs)

    module.execute = execute  # type: ignore[attr-defined]


def map_fast(module: ModuleType) -> None:
    """Do the same where all arguments are tensors already: tensorflow.python.pywrap_tfe."""
    original = module.TFE_Py_FastPathExecute
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def execute(context: Any, operation: Any, name: Any, *args: Any) -> Any:
        inputs = _map_some(operation, args) if operation in OPERATIONS else args
        return original(context, operation, name, *inputs)

    module.TFE_Py_FastPathExecute = execute  # type: ignore[attr-defined]


def _map_some(operation: str, inputs: Any) -> list[Any]:
    paths = inputs[: 1 if operation == "WriteFile" else 3]
    return [*(_map(each, operation) for each in paths), *inputs[len(paths) :]]


def map_graph(module: ModuleType) -> None:
    """Change the paths of operations in a graph: tensorflow.python.framework.op_def_library."""
    original = module._apply_op_helper
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def apply(operation: str, name: Any = None, **inputs: Any) -> Any:
        if operation in OPERATIONS:
            kept = {key: inputs[key] for key in ("contents", "tensors", "data") if key in inputs}
            inputs = {key: _map(each, operation) for key, each in inputs.items()} | kept
        return original(operation, name, **inputs)

    module._apply_op_helper = apply  # type: ignore[attr-defined]


def _map(value: Any, operation: str) -> Any:
    """Return a path, several, or a tensor of paths as the operation is to see them."""
    if isinstance(value, str):
        return _local_path(value, operation) if value.startswith(GS) else value
    if isinstance(value, bytes):
        return _map(value.decode(), operation).encode() if _is_in_bucket(value) else value
    if isinstance(value, (list, tuple)) and all(isinstance(each, (str, bytes)) for each in value):
        return type(value)(_map(each, operation) for each in value)
    if getattr(getattr(value, "dtype", None), "name", "") == "string" and is_local():
        return _map_tensor(value, operation)
    return value


def _map_tensor(tensor: Any, operation: str) -> Any:
    replace = sys.modules["tensorflow.python.ops.gen_string_ops"].static_regex_replace
    if not hasattr(tensor, "numpy"):  # its value is known when the graph runs
        return replace(tensor, f"^{GS}", os.environ.get("LOCAL_CLOUD_GCS", NOWHERE) + "/")
    values = tensor.numpy().flat if tensor.shape.rank else [tensor.numpy()]
    inside = [each.decode() for each in values if _is_in_bucket(each)]
    roots = {_local_path(each, operation)[: -len(each) + len(GS)] for each in inside}
    return replace(tensor, f"^{GS}", roots.pop()) if roots else tensor


def _is_in_bucket(value: Any) -> bool:
    return isinstance(value, (str, bytes)) and value[: len(GS)] in (GS, GS.encode())


def _local_path(uri: str, operation: str) -> str:
    """Return the path of a URI in this process. Raise LocalCloudError where it has none."""
    if not is_local():
        return uri
    root = os.environ.get("LOCAL_CLOUD_GCS")
    if root is None:
        raise LocalCloudError(
            f"TensorFlow would read or write {uri} with a client of its own, which asks"
            " www.googleapis.com alone, so this was stopped: copy the file with"
            " google.cloud.storage, or run this in a job of Vertex AI, where its gs:// works"
        )
    path = f"{root}/{uri.removeprefix(GS)}"
    if operation in WRITING and os.path.isdir(os.path.join(root, uri.split("/")[2])):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def _map_back(path: Any) -> Any:
    """Return a path that was found in a bucket's folder as a URI."""
    root = os.environ.get("LOCAL_CLOUD_GCS", "") + "/"
    if isinstance(path, bytes):
        return _map_back(path.decode()).encode()
    is_inside = isinstance(path, str) and path.startswith(root) and root != "/"
    return GS + path.removeprefix(root) if is_inside else path


HOOKS: dict[str, Callable[[ModuleType], None]] = {
    "tensorflow.python.lib.io._pywrap_file_io": map_calls,
    "tensorflow.python.lib.io._pywrap_record_io": map_calls,
    "tensorflow.python.util._pywrap_checkpoint_reader": map_calls,
    "tensorflow.python.saved_model.pywrap_saved_model": map_calls,
    "tensorflow.python.eager.execute": map_eager,
    "tensorflow.python.pywrap_tfe": map_fast,
    "tensorflow.python.framework.op_def_library": map_graph,
}
