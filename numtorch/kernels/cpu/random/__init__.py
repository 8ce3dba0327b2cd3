"""Random numbers: philox (streams), rejection (Poisson, binomial), dropout."""
