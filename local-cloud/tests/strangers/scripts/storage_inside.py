# google-cloud-storage inside the job: list, download, upload, a blob from a URI.
# only: vertex, vertex-trial: SageMaker's machines have no account of Google's
# exit: 0
# log: downloaded 60 rows
# model: uploaded.txt
import os

from google.cloud import storage

client = storage.Client()
names = [b.name for b in client.list_blobs("strangers-data", prefix="table/")]
client.bucket("strangers-data").blob(names[0]).download_to_filename("/tmp/table.csv")
print("downloaded", sum(1 for _ in open("/tmp/table.csv")) - 1, "rows")
blob = storage.Blob.from_string(os.environ["AIP_MODEL_DIR"] + "uploaded.txt", client=client)
blob.upload_from_string("hello")
assert blob.exists()
