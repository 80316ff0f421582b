"""AWS IAM and STS: one account, one role, which SageMaker may assume and everybody here has."""
