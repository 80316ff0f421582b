"""The one account of the local cloud, and the role that its user has assumed."""

ACCOUNT = "000000000000"  # no real account has this number
ROLE = "SageMakerExecutionRole"
ROLE_ARN = f"arn:aws:iam::{ACCOUNT}:role/{ROLE}"
ROLE_ID = "AROALOCALCLOUD0000000"
# What STS says of whoever works with the role in Studio or in a notebook instance.
CALLER_ARN = f"arn:aws:sts::{ACCOUNT}:assumed-role/{ROLE}/SageMaker"
# UserContext in SageMaker's API reference: who has made or changed a resource.
CALLER = {"IamIdentity": {"Arn": CALLER_ARN, "PrincipalId": f"{ROLE_ID}:SageMaker"}}
