"""Google's Resource Manager, as far as SDKs ask it for a project's id or number."""
