"""Writers of the twin, one format a file. Each returns the TwinFile with the check it passed."""
