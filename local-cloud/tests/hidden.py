"""A job's script that ends well only if it does not find the local cloud, which no service has."""

SCRIPT = """
import importlib.metadata, importlib.util
assert importlib.util.find_spec("torch"), "the packages of the image are there"
assert importlib.util.find_spec("local_cloud") is None, importlib.util.find_spec("local_cloud")
assert importlib.util.find_spec("boto3"), "others are not hidden"
found = [each.name for each in importlib.metadata.distributions()]
assert "boto3" in found and "local-cloud-emulator" not in found, found
"""
