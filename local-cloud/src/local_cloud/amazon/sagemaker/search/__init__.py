"""Search: which of SageMaker's resources satisfy an expression."""
