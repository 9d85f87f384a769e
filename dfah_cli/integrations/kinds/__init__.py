"""One module for each kind of declared adapter; each imports its SDK when it is used."""
