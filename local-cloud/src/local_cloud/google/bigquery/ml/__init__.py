"""BigQuery ML: models that SQL trains, by scikit-learn.

Statements and functions: cloud.google.com/bigquery/docs/reference/standard-sql/bigqueryml-syntax.
"""
