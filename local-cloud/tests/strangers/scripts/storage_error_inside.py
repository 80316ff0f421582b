# Looks for a bucket that is not there; the error's text is fit to be shown to others.
# only: vertex, vertex-trial: SageMaker's machines have no account of Google's
# exit: 1
# log: NotFound: 404
from google.cloud import storage

storage.Client().bucket("no-such-bucket-of-strangers").blob("x").download_as_bytes()
