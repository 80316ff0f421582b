# boto3 inside the job: S3 by client and by resource, STS, a paginator, an upload.
# only: sagemaker, sagemaker-trial: Vertex AI's machines have no account of Amazon's
# exit: 0
# log: objects: ['table/data.csv']
# log: account 000000000000
import io

import boto3

s3 = boto3.client("s3")
pages = s3.get_paginator("list_objects_v2").paginate(Bucket="strangers-data", Prefix="table/")
print("objects:", [o["Key"] for p in pages for o in p.get("Contents", [])])
bucket = boto3.resource("s3").Bucket("strangers-data")
bucket.upload_fileobj(io.BytesIO(b"hello"), "from-a-job.txt")
assert bucket.Object("from-a-job.txt").get()["Body"].read() == b"hello"
print("account", boto3.session.Session().client("sts").get_caller_identity()["Account"])
