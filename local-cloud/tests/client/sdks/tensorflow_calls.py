"""What programs do with TensorFlow's gs://, one line of output each; argument: a bucket."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from local_cloud.client.sdks import HOOKS
from local_cloud.client.sdks.after_import import after_import

for module, hook in HOOKS.items():  # as activate() does, and every Python of a job
    after_import(module, hook)
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402

HERE = f"gs://{sys.argv[1]}/deep/folder"


def write() -> object:
    with tf.io.gfile.GFile(f"{HERE}/a.txt", "w") as file:
        file.write("text")
    tf.io.write_file(f"{HERE}/b.txt", "gs://contents")
    return tf.io.read_file(tf.constant(f"{HERE}/b.txt")).numpy().decode()


def find() -> object:
    return tf.io.gfile.exists(f"{HERE}/a.txt"), sorted(tf.io.gfile.glob(f"{HERE}/*.txt"))


def records() -> object:
    with tf.io.TFRecordWriter(f"{HERE}/one.tfrecord") as writer:
        writer.write(b"record")
    return [each.numpy() for each in tf.data.TFRecordDataset([f"{HERE}/one.tfrecord"])]


def in_a_graph() -> object:
    names = tf.data.Dataset.from_tensor_slices([f"{HERE}/a.txt"])
    return [each.numpy() for each in names.map(tf.io.read_file)]


def checkpoint() -> object:
    value = tf.Variable(3.0)
    saved = tf.train.Checkpoint(value=value)
    path = saved.save(f"{HERE}/checkpoints/c")
    value.assign(0.0)
    saved.restore(path)
    return path, float(value.numpy())


def keras() -> object:
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    model.save(f"{HERE}/model.keras")
    loaded = tf.keras.models.load_model(f"{HERE}/model.keras")
    model.export(f"{HERE}/saved", verbose=False)
    return loaded.count_params(), sorted(tf.saved_model.load(f"{HERE}/saved").signatures)


CALLS: list[Callable[[], object]] = [write, find, records, in_a_graph, checkpoint, keras]
for call in CALLS:
    try:
        print(call.__name__, call())
    except Exception as problem:  # noqa: BLE001 - TensorFlow's and ours
        print(call.__name__, type(problem).__name__, str(problem).replace("\n", " "))
