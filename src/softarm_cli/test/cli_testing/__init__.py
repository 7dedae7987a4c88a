"""What the tests of the command line share."""
