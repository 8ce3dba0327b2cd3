"""Random numbers: philox (streams), rejection (Poisson, binomial, von Mises), gamma (draws and slopes), dropout."""
