"""What the tests of the local cloud share with those of the lesson."""
